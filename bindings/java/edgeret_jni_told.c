/* The native methods of Core.java that tell of much at once, as numbers and texts one after the other, which Told.java reads; and
   what a learner hands over and keeps. */

#include "edgeret_jni.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    uint8_t *at;
    size_t length, room;
    bool failed;
} telling;

static void put(void *to, const void *bytes, size_t length)
{
    telling *t = to;
    if (t->failed || !length) return;
    if (t->length + length > t->room) {
        const size_t room = 2 * (t->length + length) + 1024;
        uint8_t *larger = realloc(t->at, room);
        if (!larger) {
            t->failed = true;
            return;
        }
        t->at = larger;
        t->room = room;
    }
    memcpy(t->at + t->length, bytes, length);
    t->length += length;
}

static void put_number(telling *t, double value) { put(t, &value, sizeof value); }

static void put_text(telling *t, er_text text)
{
    put_number(t, (double)text.length);
    put(t, text.at, text.length);
}

static void put_texts(telling *t, const er_text *texts, size_t count)
{
    put_number(t, (double)count);
    for (size_t i = 0; i < count; i++) put_text(t, texts[i]);
}

static jbyteArray told(JNIEnv *env, telling *t, er_status status, const er_error *why)
{
    jbyteArray made = NULL;
    if (status) check(env, status, why);
    else if (t->failed) refuse(env, ER_NO_MEMORY, "no memory for what is told; ask for less, or give the process more");
    else made = bytes_of(env, (er_text){(const char *)t->at, t->length});
    free(t->at);
    return made;
}

static void put_explanation(telling *t, const er_explanation *e, size_t count)
{
    put_number(t, e->vote_count);
    for (uint32_t i = 0; i < e->vote_count; i++) {
        const er_vote *v = &e->votes[i];
        put_number(t, v->part);
        put_number(t, v->within);
        put_number(t, v->weight);
        put_number(t, v->pull);
        for (size_t k = 0; k < count; k++) put_number(t, v->log_p[k]);
    }
    put_number(t, e->near_count);
    for (uint32_t i = 0; i < e->near_count; i++) {
        put_text(t, e->near[i].query);
        put_texts(t, e->near[i].calls, e->near[i].call_count);
        put_number(t, e->near[i].learned);
        put_number(t, e->near[i].cosine);
    }
    put_number(t, e->word_count);
    for (uint32_t i = 0; i < e->word_count; i++) {
        put_text(t, e->words[i].word);
        put_number(t, e->words[i].unknown);
        put_number(t, e->words[i].has);
    }
    put_number(t, e->cluster_count);
    for (uint32_t i = 0; i < e->cluster_count; i++) {
        put_number(t, e->cluster[i].tool_number);
        put_number(t, e->cluster[i].probability);
    }
    put_number(t, e->similarity);
}

METHOD(jbyteArray, explain)(JNIEnv *env, jclass class, jlong task, jintArray candidates)
{
    er_error why = {0};
    er_explanation e = {.size = sizeof e};
    int32_t numbers[ER_MOST_COMPARED] = {0};
    telling t = {0};
    const jsize count = (*env)->GetArrayLength(env, candidates);
    (*env)->GetIntArrayRegion(env, candidates, 0, count < ER_MOST_COMPARED ? count : ER_MOST_COMPARED, (jint *)numbers);
    const er_status status = er_explain(TASK(task), numbers, (size_t)count, &e, &why);
    if (!status) put_explanation(&t, &e, (size_t)count);
    return told(env, &t, status, &why);
}

static void put_value(telling *t, const er_value *value)
{
    put_number(t, value->type);
    put_text(t, value->text);
}

static void put_arguments(telling *t, const er_argument *values, size_t count, const er_missing *missing, size_t missing_count)
{
    put_number(t, (double)count);
    for (size_t i = 0; i < count; i++) {
        const er_argument *one = &values[i];
        put_text(t, one->name);
        put_value(t, &one->value);
        put_number(t, one->source);
        put_number(t, one->begin);
        put_number(t, one->end);
        put_number(t, one->confidence);
        put_number(t, one->alternative_count);
        for (uint32_t k = 0; k < one->alternative_count; k++) put_value(t, &one->alternatives[k]);
    }
    put_number(t, (double)missing_count);
    for (size_t i = 0; i < missing_count; i++) {
        put_text(t, missing[i].name);
        put_text(t, missing[i].question);
    }
}

/* Reads them, asked once more where there are more than there was room for. */
static er_status read_arguments(telling *t, er_task *task, er_text tool, const er_arguments_options *options, er_error *why)
{
    for (size_t most = 32, most_missing = 32;;) {
        size_t count = most, missing_count = most_missing;
        er_argument *values = malloc((most + 1) * sizeof *values);
        er_missing *missing = malloc((most_missing + 1) * sizeof *missing);
        t->failed |= !values || !missing;
        const er_status status = t->failed ? ER_OK : er_arguments(task, tool, options, values, &count, missing, &missing_count, why);
        const bool all = !status && !t->failed && count <= most && missing_count <= most_missing;
        if (all) put_arguments(t, values, count, missing, missing_count);
        free(values);
        free(missing);
        if (all || status || t->failed) return status;
        most = count;
        most_missing = missing_count;
    }
}

METHOD(jbyteArray, arguments)(JNIEnv *env, jclass class, jlong task, jobjectArray texts, jintArray clock, jboolean rules_alone)
{
    er_error why = {0};
    telling t = {0};
    copies held = {0};
    jint now[8] = {0};
    copy_all(env, texts, &held);
    if (clock && !(*env)->ExceptionCheck(env)) (*env)->GetIntArrayRegion(env, clock, 0, 8, now);
    if ((*env)->ExceptionCheck(env)) return give_copies(&held), NULL;
    const size_t count = (held.count - 1) / 3; /* behind the tool */
    er_made_call *calls = calloc(count + 1, sizeof *calls);
    for (size_t i = 0; calls && i < count; i++) calls[i] = (er_made_call){held.at[1 + 3 * i], held.at[2 + 3 * i], held.at[3 + 3 * i]};
    const er_arguments_options options = {.size = sizeof options, .calls = calls, .call_count = count, .year = now[0], .month = now[1],
        .day = now[2], .hour = now[3], .minute = now[4], .second = now[5], .zoned = now[6], .zone = now[7], .rules_alone = rules_alone};
    t.failed = !calls;
    const er_status status = t.failed ? ER_OK : read_arguments(&t, TASK(task), held.at[0], &options, &why);
    free(calls);
    give_copies(&held);
    return told(env, &t, status, &why);
}

METHOD(jbyteArray, leftAside)(JNIEnv *env, jclass class, jlong task)
{
    er_error why = {0};
    er_text room[3];
    size_t count = 3;
    telling t = {0};
    const er_status status = er_left_aside(TASK(task), room, &count, &why);
    if (!status) put_texts(&t, room, count < 3 ? count : 3);
    return told(env, &t, status, &why);
}

METHOD(jint, conformal)(JNIEnv *env, jclass class, jlong task, jdouble coverage)
{
    er_error why = {0};
    size_t count = 0;
    check(env, er_conformal(TASK(task), coverage, NULL, &count, &why), &why);
    return (jint)count;
}

METHOD(jbyteArray, learnerBytes)(JNIEnv *env, jclass class, jlong learner)
{
    er_error why = {0};
    telling t = {0};
    return told(env, &t, er_learner_bytes(LEARNER(learner), put, &t, &why), &why);
}

METHOD(jlong, learnerCopy)(JNIEnv *env, jclass class, jlong learner)
{
    er_error why = {0};
    er_learner *copy = NULL;
    check(env, er_learner_copy(LEARNER(learner), &copy, &why), &why);
    return (jlong)(intptr_t)copy;
}

METHOD(void, learnerKeep)(JNIEnv *env, jclass class, jlong learner, jlong before, jobjectArray add, jobjectArray remove, jobjectArray replace,
    jlong after)
{
    er_error why = {0};
    copies held = {0};
    const er_change change = change_of(env, &held, add, remove, replace);
    if (!(*env)->ExceptionCheck(env)) check(env, er_learner_keep(LEARNER(learner), MODEL(before), &change, MODEL(after), &why), &why);
    give_copies(&held);
}
