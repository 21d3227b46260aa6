/* What edgeret.js calls beyond deciding, which edgeret-decide.wasm does without: search, tools that come and go, why, arguments,
   and learning. */

#include "shim.h"

#include <stdlib.h>
#include <string.h>

/* ---- What a page gives: the library asks for time and chance as it does anywhere, and the module imports nothing ---- */

static double seconds;    /* since 1970 */
static uint8_t drawn[32]; /* at random, anew for each use */

EXPORT("drawn") uint8_t *js_drawn(double now) { return seconds = now, drawn; }

double er_page_seconds(void);
double er_page_seconds(void) { return seconds; }

bool er_random(void *bytes, size_t length);
bool er_random(void *bytes, size_t length)
{
    if (length <= sizeof drawn) memcpy(bytes, drawn, length);
    return length <= sizeof drawn;
}

/* Texts to add, to remove and to replace stand behind each other. */
EXPORT("with_tools") er_model *js_with_tools(const er_model *model, const er_text *texts, size_t add, size_t remove, size_t replace)
{
    const er_change change = {sizeof change, texts, add, texts + add, remove, texts + add + remove, replace, NULL, NULL, 0};
    er_model *made = NULL;
    er_with_tools(model, &change, &made, &failure);
    return made;
}

/* Of each a tool's number, its score, its share and its cosine, best first; how many there are. */
EXPORT("search") int js_search(const er_model *model, const char *at, size_t length, int strategy, er_learner *learner, double *hits,
    size_t most)
{
    er_hit *room = malloc((most ? most : 1) * sizeof *room);
    size_t count = most;
    if (!room) return failure.status = ER_NO_MEMORY, -1;
    const er_search_options options = {.size = sizeof options, .strategy = (er_search_strategy)strategy, .learner = learner};
    const er_status status = er_search(model, (er_text){at, length}, &options, room, &count, &failure);
    for (size_t i = 0; !status && i < count && i < most; i++) {
        hits[4 * i] = room[i].tool_number;
        hits[4 * i + 1] = room[i].score;
        hits[4 * i + 2] = room[i].share;
        hits[4 * i + 3] = room[i].cosine;
    }
    free(room);
    return status ? -1 : (int)count;
}

/* ---- Why ---- */

/* Of so many candidates the parts' words, demonstrations near, words, and what requests like this one mostly call. */
EXPORT("explain") double js_explain(er_task *task, const int32_t *candidates, size_t count)
{
    er_explanation e = {.size = sizeof e};
    const er_status status = er_explain(task, candidates, count, &e, &failure);
    put_begin();
    put_number(status ? 0 : e.vote_count);
    for (uint32_t i = 0; i < e.vote_count; i++) {
        const er_vote *v = &e.votes[i];
        put_number(v->part);
        put_number(v->within);
        put_number(v->weight);
        put_number(v->pull);
        for (size_t k = 0; k < count; k++) put_number(v->log_p[k]);
    }
    put_number(e.near_count);
    for (uint32_t i = 0; i < e.near_count; i++) {
        put_text(e.near[i].query);
        put_texts(e.near[i].calls, e.near[i].call_count);
        put_number(e.near[i].learned);
        put_number(e.near[i].cosine);
    }
    put_number(e.word_count);
    for (uint32_t i = 0; i < e.word_count; i++) {
        put_text(e.words[i].word);
        put_number(e.words[i].unknown);
        put_number(e.words[i].has);
    }
    put_number(e.cluster_count);
    for (uint32_t i = 0; i < e.cluster_count; i++) {
        put_number(e.cluster[i].tool_number);
        put_number(e.cluster[i].probability);
    }
    put_number(e.similarity);
    return put_end(status);
}

/* ---- Arguments ---- */

static void put_value(const er_value *value)
{
    put_number(value->type == ER_STRING);
    put_text(value->text);
}

/* Name, value, source, begin, end, confidence and alternatives of each argument; then name and question of each that is missing.
   `clock`: year, month, day, hour, minute, second, and minutes ahead of UTC; NULL: none. */
EXPORT("arguments") double js_arguments(er_task *task, const char *at, size_t length, const er_made_call *calls, size_t call_count,
    const int32_t *clock, int rules_alone)
{
    er_arguments_options options = {.size = sizeof options, .calls = calls, .call_count = call_count, .rules_alone = rules_alone};
    if (clock) {
        options.year = clock[0], options.month = clock[1], options.day = clock[2];
        options.hour = clock[3], options.minute = clock[4], options.second = clock[5];
        options.zoned = 1, options.zone = clock[6];
    }
    size_t count = 0, missing_count = 0;
    er_argument *room = NULL;
    er_missing *missing = NULL;
    er_status status;
    bool failed;
    put_begin();
    for (size_t most = 32, most_missing = 32;; most = count, most_missing = missing_count) {
        free(room);
        free(missing);
        room = malloc((most + 1) * sizeof *room);
        missing = malloc((most_missing + 1) * sizeof *missing);
        failed = put_fails(!room || !missing);
        count = most;
        missing_count = most_missing;
        status = failed ? ER_OK : er_arguments(task, (er_text){at, length}, &options, room, &count, missing, &missing_count, &failure);
        if (status || failed || (count <= most && missing_count <= most_missing)) break;
    }
    const int read = !status && !failed;
    put_number(read ? (double)count : 0);
    for (size_t i = 0; read && i < count; i++) {
        const er_argument *one = &room[i];
        put_text(one->name);
        put_value(&one->value);
        put_number(one->source);
        put_number(one->begin);
        put_number(one->end);
        put_number(one->confidence);
        put_number(one->alternative_count);
        for (uint32_t k = 0; k < one->alternative_count; k++) put_value(&one->alternatives[k]);
    }
    put_number(read ? (double)missing_count : 0);
    for (size_t i = 0; read && i < missing_count; i++) {
        put_text(missing[i].name);
        put_text(missing[i].question);
    }
    free(room);
    free(missing);
    return put_end(status);
}

/* ---- Learning ---- */

EXPORT("learner") er_learner *js_learner(const er_model *model, const void *bytes, size_t length)
{
    const er_learner_options options = {.size = sizeof options, .bytes = bytes, .byte_count = length};
    er_learner *learner = NULL;
    er_learner_open(model, NULL, &options, &learner, &failure);
    return learner;
}

EXPORT("close_learner") void js_close(er_learner *learner) { er_learner_close(learner); }

EXPORT("copy_learner") er_learner *js_copy(er_learner *learner)
{
    er_learner *copy = NULL;
    er_learner_copy(learner, &copy, &failure);
    return copy;
}

/* stored, used, gain, bytes, id. */
static int report(er_status status, const er_report *r)
{
    const double all[] = {r->stored, r->used, r->gain, (double)r->bytes, (double)r->id};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) numbers[i] = all[i];
    return (int)status;
}

EXPORT("learned") int js_learned(er_learner *learner)
{
    er_report r = {.size = sizeof r};
    const er_status status = er_learned(learner, &r, &failure);
    return report(status, &r);
}

EXPORT("learn") int js_learn(er_task *task, int source, int without_words)
{
    er_report r = {.size = sizeof r};
    const er_learn_options options = {.size = sizeof options, .source = (er_source)source, .without_words = without_words};
    const er_status status = er_learn(task, &options, &r, &failure);
    return report(status, &r);
}

static void put_plan(void *context, const er_plan_told *plan)
{
    put_number(1);
    put_number((double)plan->id);
    put_text(plan->query);
    put_texts(plan->calls, plan->call_count);
    put_number(plan->source);
    put_number(plan->learned_at);
}

/* Each behind a 1, and behind the last one a 0. */
EXPORT("plans") double js_plans(er_learner *learner)
{
    put_begin();
    const er_status status = er_learned_plans(learner, put_plan, NULL, &failure);
    put_number(0);
    return put_end(status);
}

/* `what`: 0 a query, 1 a tool, 2 an id, 3 everything; how many plans there were. */
EXPORT("forget") double js_forget(er_learner *learner, int what, const char *at, size_t length, double id)
{
    const int64_t one = (int64_t)id;
    const er_text text = {at, length};
    uint32_t count = 0;
    er_forget_options options = {.size = sizeof options, .ids = &one, .id_count = what == 2, .everything = what == 3};
    if (what == 0) options.query = text;
    if (what == 1) options.tool = text;
    return er_forget(learner, &options, &count, &failure) ? -1 : (double)count;
}

static void put_bytes(void *context, const void *bytes, size_t length) { put(bytes, length); }

EXPORT("learner_bytes") double js_bytes(er_learner *learner)
{
    put_begin();
    return put_end(er_learner_bytes(learner, put_bytes, NULL, &failure));
}
