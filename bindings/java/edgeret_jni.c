/* The native methods of Core.java over edgeret.h. Java gives handles that stay alive, arrays that are not null but where
   Core.java says so, and reads what is filled; a failure becomes an EdgeretException here. Texts go over as bytes: JNI's own
   strings are of another UTF-8. */

#include "edgeret_jni.h"

#include <stdbool.h>
#include <stdlib.h>

#define BINDING 5 /* moves together with Core.BINDING */

/* ---- Java's arrays ---- */

/* An array whose numbers C reads; empty, with NULL, where there is none. */
typedef struct {
    jarray array;
    void *at;
    size_t length;
} taken;

static taken take_bytes(JNIEnv *env, jbyteArray array)
{
    if (!array) return (taken){NULL, NULL, 0};
    return (taken){array, (*env)->GetByteArrayElements(env, array, NULL), (size_t)(*env)->GetArrayLength(env, array)};
}

static taken take_ints(JNIEnv *env, jintArray array)
{
    if (!array) return (taken){NULL, NULL, 0};
    return (taken){array, (*env)->GetIntArrayElements(env, array, NULL), (size_t)(*env)->GetArrayLength(env, array)};
}

static taken take_floats(JNIEnv *env, jfloatArray array)
{
    if (!array) return (taken){NULL, NULL, 0};
    return (taken){array, (*env)->GetFloatArrayElements(env, array, NULL), (size_t)(*env)->GetArrayLength(env, array)};
}

static void give_bytes(JNIEnv *env, taken one)
{
    if (one.at) (*env)->ReleaseByteArrayElements(env, one.array, one.at, JNI_ABORT);
}

static void give_ints(JNIEnv *env, taken one)
{
    if (one.at) (*env)->ReleaseIntArrayElements(env, one.array, one.at, JNI_ABORT);
}

static void give_floats(JNIEnv *env, taken one)
{
    if (one.at) (*env)->ReleaseFloatArrayElements(env, one.array, one.at, JNI_ABORT);
}

static er_text text_of(taken bytes) { return (er_text){bytes.at, bytes.length}; }

jbyteArray bytes_of(JNIEnv *env, er_text text)
{
    jbyteArray made = (*env)->NewByteArray(env, (jsize)text.length);
    if (made && text.length) (*env)->SetByteArrayRegion(env, made, 0, (jsize)text.length, (const jbyte *)text.at);
    return made;
}

/* ---- Failures ---- */

void refuse(JNIEnv *env, er_status status, const char *line)
{
    if ((*env)->ExceptionCheck(env)) return; /* what Java itself had to say comes first */
    size_t length = 0;
    while (line[length]) length++;
    jbyteArray words = bytes_of(env, (er_text){line, length});
    jclass class = words ? (*env)->FindClass(env, "edgeret/EdgeretException") : NULL;
    jmethodID make = class ? (*env)->GetMethodID(env, class, "<init>", "(I[B)V") : NULL;
    jobject made = make ? (*env)->NewObject(env, class, make, (jint)status, words) : NULL;
    if (made) (*env)->Throw(env, made);
}

void check(JNIEnv *env, er_status status, const er_error *why)
{
    if (status) refuse(env, status, why->text);
}

static void *room_for(JNIEnv *env, size_t count, size_t size)
{
    void *made = calloc(count ? count : 1, size);
    if (!made) refuse(env, ER_NO_MEMORY, "no memory for what is asked; ask for less, or give the process more");
    return made;
}

/* ---- Memory, and a bundle ---- */

METHOD(jint, binding)(JNIEnv *env, jclass class) { return BINDING; }

METHOD(jobject, allocate)(JNIEnv *env, jclass class, jlong size)
{
    void *at = room_for(env, (size_t)size, 1);
    jobject made = at ? (*env)->NewDirectByteBuffer(env, at, size) : NULL;
    if (!made) free(at);
    return made;
}

METHOD(void, release)(JNIEnv *env, jclass class, jobject buffer) { free((*env)->GetDirectBufferAddress(env, buffer)); }

static er_load_options options_of(taken hash, jdouble most_loss, jboolean tiny, jint threads)
{
    return (er_load_options){.size = sizeof(er_load_options), .content_hash = text_of(hash), .most_loss = most_loss,
        .first_stage_alone = tiny, .threads = threads};
}

/* With a zero byte behind it, to be freed; NULL where Java or C has no memory. */
static char *path_of(JNIEnv *env, jbyteArray bytes)
{
    const jsize length = (*env)->GetArrayLength(env, bytes);
    char *path = room_for(env, (size_t)length + 1, 1);
    if (path) (*env)->GetByteArrayRegion(env, bytes, 0, length, (jbyte *)path);
    return path;
}

METHOD(jlong, load)(JNIEnv *env, jclass class, jbyteArray folder, jbyteArray hash, jdouble most_loss, jboolean tiny, jint threads)
{
    er_error why = {0};
    er_model *model = NULL;
    const taken pinned = take_bytes(env, hash);
    char *path = path_of(env, folder);
    if (!(*env)->ExceptionCheck(env)) {
        const er_load_options options = options_of(pinned, most_loss, tiny, threads);
        check(env, er_load(path, &options, &model, &why), &why);
    }
    free(path);
    give_bytes(env, pinned);
    return (jlong)(intptr_t)model;
}

METHOD(jlong, loadFiles)(JNIEnv *env, jclass class, jobjectArray names, jobjectArray contents, jbyteArray hash, jdouble most_loss,
    jboolean tiny, jint threads)
{
    er_error why = {0};
    er_model *model = NULL;
    const size_t count = (size_t)(*env)->GetArrayLength(env, names);
    const taken pinned = take_bytes(env, hash);
    er_file *files = room_for(env, count, sizeof *files);
    taken *texts = room_for(env, count, sizeof *texts);
    const bool room = files && texts && !(*env)->EnsureLocalCapacity(env, (jint)(2 * count));
    for (size_t i = 0; room && i < count; i++) {
        jobject buffer = (*env)->GetObjectArrayElement(env, contents, (jsize)i);
        texts[i] = take_bytes(env, (*env)->GetObjectArrayElement(env, names, (jsize)i));
        files[i] = (er_file){text_of(texts[i]), (*env)->GetDirectBufferAddress(env, buffer),
            (size_t)(*env)->GetDirectBufferCapacity(env, buffer)};
    }
    if (!(*env)->ExceptionCheck(env)) {
        const er_load_options options = options_of(pinned, most_loss, tiny, threads);
        check(env, er_load_files(files, count, &options, &model, &why), &why);
    }
    for (size_t i = 0; room && i < count; i++) give_bytes(env, texts[i]);
    free(texts);
    free(files);
    give_bytes(env, pinned);
    return (jlong)(intptr_t)model;
}

/* Texts as an array of arrays of bytes; each stands at the begin of an element of `size` bytes. */
static jobjectArray texts_of(JNIEnv *env, const void *texts, size_t size, size_t count)
{
    jclass bytes = (*env)->FindClass(env, "[B");
    jobjectArray made = bytes ? (*env)->NewObjectArray(env, (jsize)count, bytes, NULL) : NULL;
    for (size_t i = 0; made && i < count; i++) {
        jbyteArray one = bytes_of(env, *(const er_text *)((const char *)texts + i * size));
        if (!one) return NULL;
        (*env)->SetObjectArrayElement(env, made, (jsize)i, one);
        (*env)->DeleteLocalRef(env, one);
    }
    return made;
}

METHOD(jobjectArray, list)(JNIEnv *env, jclass class, jobject manifest, jboolean tiny)
{
    er_error why = {0};
    er_listed room[256];
    size_t count = sizeof room / sizeof *room;
    const size_t length = (size_t)(*env)->GetDirectBufferCapacity(env, manifest);
    const er_status status = er_list((*env)->GetDirectBufferAddress(env, manifest), length, tiny, room, &count, &why);
    check(env, status, &why);
    return status ? NULL : texts_of(env, room, sizeof *room, count);
}

METHOD(void, free)(JNIEnv *env, jclass class, jlong model) { er_free(MODEL(model)); }

METHOD(jbyteArray, describe)(JNIEnv *env, jclass class, jlong model, jlongArray numbers)
{
    er_error why = {0};
    er_summary s = {.size = sizeof s};
    const er_status status = er_describe(MODEL(model), &s, &why);
    check(env, status, &why);
    if (status) return NULL;
    const jlong told[] = {s.tools, s.labels, s.dimension, s.stages, s.encodes, (jlong)s.bytes};
    (*env)->SetLongArrayRegion(env, numbers, 0, sizeof told / sizeof *told, told);
    return bytes_of(env, s.content_hash);
}

METHOD(jbyteArray, toolName)(JNIEnv *env, jclass class, jlong model, jint tool)
{
    return bytes_of(env, er_tool_name(MODEL(model), (uint32_t)tool));
}

METHOD(jbyteArray, toolDefinition)(JNIEnv *env, jclass class, jlong model, jint tool)
{
    return bytes_of(env, er_tool_definition(MODEL(model), (uint32_t)tool));
}

METHOD(jlong, toolFind)(JNIEnv *env, jclass class, jlong model, jbyteArray name)
{
    const taken bytes = take_bytes(env, name);
    const int64_t found = bytes.at ? er_tool_find(MODEL(model), text_of(bytes)) : -1;
    give_bytes(env, bytes);
    return found;
}

/* Texts that are copied one by one: Android holds few local references at a time, and there may be thousands of tools. */
void copy_all(JNIEnv *env, jobjectArray from, copies *to)
{
    const size_t count = (size_t)(*env)->GetArrayLength(env, from);
    er_text *more = (*env)->ExceptionCheck(env) ? NULL : realloc(to->at, (to->count + count + 1) * sizeof *more);
    if (!more) {
        refuse(env, ER_NO_MEMORY, "no memory for so many texts; give fewer, or give the process more");
        return;
    }
    to->at = more;
    for (size_t k = 0; k < count && !(*env)->ExceptionCheck(env); k++) {
        jbyteArray one = (*env)->GetObjectArrayElement(env, from, (jsize)k);
        const size_t length = (size_t)(*env)->GetArrayLength(env, one);
        jbyte *copy = room_for(env, length, 1);
        if (copy) (*env)->GetByteArrayRegion(env, one, 0, (jsize)length, copy);
        to->at[to->count++] = (er_text){(char *)copy, length};
        (*env)->DeleteLocalRef(env, one);
    }
}

void give_copies(const copies *held)
{
    for (size_t i = 0; i < held->count; i++) free((void *)held->at[i].at);
    free(held->at);
}

er_change change_of(JNIEnv *env, copies *held, jobjectArray add, jobjectArray remove, jobjectArray replace)
{
    copy_all(env, add, held);
    const size_t added = held->count;
    copy_all(env, remove, held);
    const size_t removed = held->count - added;
    copy_all(env, replace, held);
    return (er_change){.size = sizeof(er_change), .add = held->at, .add_count = added, .remove = held->at + added, .remove_count = removed,
        .replace = held->at + added + removed, .replace_count = held->count - added - removed};
}

METHOD(jlong, withTools)(JNIEnv *env, jclass class, jlong model, jobjectArray add, jobjectArray remove, jobjectArray replace)
{
    er_error why = {0};
    er_model *made = NULL;
    copies held = {0};
    const er_change change = change_of(env, &held, add, remove, replace);
    if (!(*env)->ExceptionCheck(env)) check(env, er_with_tools(MODEL(model), &change, &made, &why), &why);
    give_copies(&held);
    return (jlong)(intptr_t)made;
}

/* ---- A task ---- */

METHOD(jlong, begin)(JNIEnv *env, jclass class, jlong model, jbyteArray query, jfloatArray vector, jfloatArray tokens,
    jintArray begins, jintArray ends, jintArray allowed, jobjectArray earlier, jint last, jlong learner)
{
    er_error why = {0};
    er_task *task = NULL;
    copies calls = {0};
    if (earlier) copy_all(env, earlier, &calls);
    const taken words = take_bytes(env, query), tools = take_ints(env, allowed), whole = take_floats(env, vector);
    const taken rows = take_floats(env, tokens), firsts = take_ints(env, begins), lasts = take_ints(env, ends);
    const er_begin_options options = {.size = sizeof options, .allowed = tools.at, .allowed_count = tools.length, .earlier = calls.at,
        .earlier_count = calls.count, .last_count = (size_t)last, .learner = LEARNER(learner)};
    const er_encoding encoding = {.size = sizeof encoding, .vector = whole.at, .tokens = rows.at, .begins = firsts.at, .ends = lasts.at,
        .count = (uint32_t)firsts.length, .dimension = (uint32_t)whole.length};
    /* Where tools are given, and none among them, `allowed` is not NULL, and the library says so. */
    if ((*env)->ExceptionCheck(env)) task = NULL; /* Java has no memory for these */
    else if (vector) check(env, er_begin_with(MODEL(model), text_of(words), &encoding, &options, &task, &why), &why);
    else check(env, er_begin(MODEL(model), text_of(words), &options, &task, &why), &why);
    give_ints(env, lasts);
    give_ints(env, firsts);
    give_floats(env, rows);
    give_floats(env, whole);
    give_ints(env, tools);
    give_bytes(env, words);
    give_copies(&calls);
    return (jlong)(intptr_t)task;
}

METHOD(jbyteArray, next)(JNIEnv *env, jclass class, jlong task, jboolean heads, jdouble least, jdouble risk, jdoubleArray numbers)
{
    er_error why = {0};
    er_decision d = {.size = sizeof d};
    const er_next_options options = {.size = sizeof options, .policy = heads ? ER_HEADS : ER_AUTO, .min_probability = least, .risk = risk};
    const er_status status = er_next(TASK(task), &options, &d, &why);
    check(env, status, &why);
    if (status) return NULL;
    const jdouble told[] = {d.tool_number, d.probability, d.reason, d.abstained, d.confirm, d.named, d.stage, d.demonstrated, d.floor};
    (*env)->SetDoubleArrayRegion(env, numbers, 0, sizeof told / sizeof *told, told);
    return bytes_of(env, d.best);
}

METHOD(jint, candidates)(JNIEnv *env, jclass class, jlong task, jintArray tools, jdoubleArray probabilities)
{
    er_error why = {0};
    const size_t most = (size_t)(*env)->GetArrayLength(env, tools);
    size_t count = most;
    er_candidate *room = room_for(env, most, sizeof *room);
    if (!room) return 0;
    const er_status status = er_candidates(TASK(task), room, &count, &why);
    check(env, status, &why);
    for (size_t i = 0; !status && i < count && i < most; i++) {
        (*env)->SetIntArrayRegion(env, tools, (jsize)i, 1, &(jint){room[i].tool_number});
        (*env)->SetDoubleArrayRegion(env, probabilities, (jsize)i, 1, &room[i].probability);
    }
    free(room);
    return status ? 0 : (jint)count;
}

/* er_call, er_fail or er_retry. */
static jint tell(JNIEnv *env, er_status (*what)(er_task *, er_text, er_error *), jlong task, jbyteArray tool)
{
    er_error why = {0};
    const taken bytes = take_bytes(env, tool);
    if (bytes.at) check(env, what(TASK(task), text_of(bytes), &why), &why);
    give_bytes(env, bytes);
    return 0;
}

METHOD(jint, call)(JNIEnv *env, jclass class, jlong task, jbyteArray tool) { return tell(env, er_call, task, tool); }
METHOD(jint, fail)(JNIEnv *env, jclass class, jlong task, jbyteArray tool) { return tell(env, er_fail, task, tool); }
METHOD(jint, retry)(JNIEnv *env, jclass class, jlong task, jbyteArray tool) { return tell(env, er_retry, task, tool); }

METHOD(jint, undo)(JNIEnv *env, jclass class, jlong task)
{
    er_error why = {0};
    check(env, er_undo(TASK(task), &why), &why);
    return 0;
}

METHOD(jlong, fork)(JNIEnv *env, jclass class, jlong task)
{
    er_error why = {0};
    er_task *other = NULL;
    check(env, er_fork(TASK(task), &other, &why), &why);
    return (jlong)(intptr_t)other;
}

METHOD(void, end)(JNIEnv *env, jclass class, jlong task) { er_end(TASK(task)); }

/* ---- Search and text ---- */

METHOD(jint, search)(
    JNIEnv *env, jclass class, jlong model, jbyteArray query, jint strategy, jlong learner, jintArray tools, jdoubleArray numbers)
{
    const er_search_options options = {.size = sizeof options, .strategy = (er_search_strategy)strategy, .learner = LEARNER(learner)};
    er_error why = {0};
    const size_t most = (size_t)(*env)->GetArrayLength(env, tools);
    size_t count = most;
    er_hit *room = room_for(env, most, sizeof *room);
    const taken words = take_bytes(env, query);
    er_status status = ER_NO_MEMORY;
    if (!(*env)->ExceptionCheck(env)) check(env, status = er_search(MODEL(model), text_of(words), &options, room, &count, &why), &why);
    for (size_t i = 0; !status && i < count && i < most; i++) {
        (*env)->SetIntArrayRegion(env, tools, (jsize)i, 1, &(jint){(jint)room[i].tool_number});
        (*env)->SetDoubleArrayRegion(env, numbers, (jsize)i * 3, 3, (const jdouble[]){room[i].score, room[i].share, room[i].cosine});
    }
    give_bytes(env, words);
    free(room);
    return status ? 0 : (jint)count;
}

METHOD(jintArray, tokens)(JNIEnv *env, jclass class, jlong model, jbyteArray query)
{
    er_error why = {0};
    size_t count = 0;
    jintArray made = NULL;
    const taken words = take_bytes(env, query);
    er_status status = ER_NO_MEMORY;
    if (words.at) check(env, status = er_tokens(MODEL(model), text_of(words), NULL, NULL, NULL, &count, &why), &why);
    const size_t most = count;
    uint32_t *room = status ? NULL : room_for(env, 3 * most, sizeof *room);
    if (room) check(env, status = er_tokens(MODEL(model), text_of(words), room, room + most, room + 2 * most, &count, &why), &why);
    if (room && !status) made = (*env)->NewIntArray(env, (jsize)(3 * most));
    if (made) (*env)->SetIntArrayRegion(env, made, 0, (jsize)(3 * most), (const jint *)room);
    free(room);
    give_bytes(env, words);
    return made;
}

METHOD(void, encode)(JNIEnv *env, jclass class, jlong model, jbyteArray query, jfloatArray vector)
{
    er_error why = {0};
    const size_t dimension = (size_t)(*env)->GetArrayLength(env, vector);
    float *room = room_for(env, dimension, sizeof *room);
    const taken words = take_bytes(env, query);
    er_status status = ER_NO_MEMORY;
    if (!(*env)->ExceptionCheck(env)) check(env, status = er_encode(MODEL(model), text_of(words), room, dimension, &why), &why);
    if (!status) (*env)->SetFloatArrayRegion(env, vector, 0, (jsize)dimension, room);
    give_bytes(env, words);
    free(room);
}

/* ---- Learning ---- */

METHOD(jlong, learnerOpen)(JNIEnv *env, jclass class, jlong model, jbyteArray overlay, jdouble wait_s, jbyteArray kept)
{
    er_error why = {0};
    er_learner *learner = NULL;
    const taken bytes = take_bytes(env, kept);
    const er_learner_options options = {.size = sizeof options, .wait_s = wait_s, .bytes = bytes.at, .byte_count = bytes.length};
    char *path = overlay ? path_of(env, overlay) : NULL;
    if (!(*env)->ExceptionCheck(env)) check(env, er_learner_open(MODEL(model), path, &options, &learner, &why), &why);
    free(path);
    give_bytes(env, bytes);
    return (jlong)(intptr_t)learner;
}

METHOD(void, learnerClose)(JNIEnv *env, jclass class, jlong learner) { er_learner_close(LEARNER(learner)); }

METHOD(jlong, learnerModel)(JNIEnv *env, jclass class, jlong learner) { return (jlong)(intptr_t)er_learner_model(LEARNER(learner)); }

static jdouble report(JNIEnv *env, const er_report *r, jlongArray numbers)
{
    const jlong told[] = {r->stored, r->used, (jlong)r->bytes, r->id};
    (*env)->SetLongArrayRegion(env, numbers, 0, sizeof told / sizeof *told, told);
    return r->gain;
}

METHOD(jdouble, learned)(JNIEnv *env, jclass class, jlong learner, jlongArray numbers)
{
    er_error why = {0};
    er_report r = {.size = sizeof r};
    check(env, er_learned(LEARNER(learner), &r, &why), &why);
    return (*env)->ExceptionCheck(env) ? 0 : report(env, &r, numbers);
}

METHOD(jdouble, learn)(JNIEnv *env, jclass class, jlong task, jint source, jboolean without_words, jlongArray numbers)
{
    er_error why = {0};
    er_report r = {.size = sizeof r};
    const er_learn_options options = {.size = sizeof options, .source = (er_source)source, .without_words = without_words};
    check(env, er_learn(TASK(task), &options, &r, &why), &why);
    return (*env)->ExceptionCheck(env) ? 0 : report(env, &r, numbers);
}

typedef struct {
    JNIEnv *env;
    jclass class;
    jmethodID add;
    jobject to;
    jint count;
} telling;

static void tell_plan(void *context, const er_plan_told *plan)
{
    telling *t = context;
    JNIEnv *env = t->env;
    if ((*env)->ExceptionCheck(env) || (*env)->PushLocalFrame(env, 16)) return;
    jobjectArray calls = texts_of(env, plan->calls, sizeof *plan->calls, plan->call_count);
    jbyteArray query = calls && plan->query.length ? bytes_of(env, plan->query) : NULL;
    if (!(*env)->ExceptionCheck(env))
        (*env)->CallStaticVoidMethod(env, t->class, t->add, t->to, (jlong)plan->id, query, calls, (jint)plan->source, plan->learned_at);
    (*env)->PopLocalFrame(env, NULL);
    t->count++;
}

METHOD(jint, plans)(JNIEnv *env, jclass class, jlong learner, jobject to)
{
    er_error why = {0};
    telling t = {.env = env, .to = to, .class = (*env)->FindClass(env, "edgeret/Learner")};
    t.add = t.class ? (*env)->GetStaticMethodID(env, t.class, "add", "(Ljava/util/List;J[B[[BID)V") : NULL;
    if (t.add) check(env, er_learned_plans(LEARNER(learner), tell_plan, &t, &why), &why);
    return t.count;
}

METHOD(jint, forget)(JNIEnv *env, jclass class, jlong learner, jbyteArray query, jbyteArray tool, jlong id, jboolean everything)
{
    er_error why = {0};
    uint32_t count = 0;
    const int64_t one = id;
    const taken words = take_bytes(env, query), name = take_bytes(env, tool);
    const er_forget_options options = {.size = sizeof options, .query = text_of(words), .tool = text_of(name),
        .ids = &one, .id_count = !query && !tool && !everything, .everything = everything};
    if (!(*env)->ExceptionCheck(env)) check(env, er_forget(LEARNER(learner), &options, &count, &why), &why);
    give_bytes(env, name);
    give_bytes(env, words);
    return (jint)count;
}
