/* What edgeret.js calls: edgeret.h with numbers alone, so that no struct is laid out twice. One page, one thread: what is
   filled here is read before the next call. */

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "edgeret.h"

#define EXPORT(name) __attribute__((export_name(name)))

static er_error failure;
static double numbers[12];

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

/* ---- Lists of numbers and texts, one after the other, for JavaScript's Reader ---- */

static struct {
    uint8_t *at;
    size_t length, room;
    int failed;
} told;

EXPORT("told") const uint8_t *js_told(void) { return told.at; }

static void put(const void *bytes, size_t length)
{
    if (told.failed || !length) return;
    if (told.length + length > told.room) {
        const size_t room = 2 * (told.length + length) + 1024;
        uint8_t *larger = realloc(told.at, room);
        if (!larger) {
            told.failed = 1;
            return;
        }
        told.at = larger;
        told.room = room;
    }
    memcpy(told.at + told.length, bytes, length);
    told.length += length;
}

static void put_number(double value) { put(&value, sizeof value); }

static void put_text(er_text text)
{
    put_number((double)text.length);
    put(text.at, text.length);
}

static void put_texts(const er_text *texts, size_t count)
{
    put_number((double)count);
    for (size_t i = 0; i < count; i++) put_text(texts[i]);
}

static void put_begin(void)
{
    told.length = 0;
    told.failed = 0;
}

/* How many bytes; below 0: a failure. */
static double put_end(er_status status)
{
    if (!status && told.failed) {
        static const char words[] = "no memory for what is told; ask for less";
        memcpy(failure.text, words, sizeof words);
        status = failure.status = ER_NO_MEMORY;
    }
    return status ? -1 : (double)told.length;
}

EXPORT("allocate") void *js_allocate(size_t size) { return malloc(size); }
EXPORT("release") void js_release(void *at) { free(at); }
EXPORT("error") const char *js_error(void) { return failure.text; }
EXPORT("status") int js_status(void) { return (int)failure.status; }
EXPORT("numbers") const double *js_numbers(void) { return numbers; }

EXPORT("load") er_model *js_load(const er_file *files, size_t count, double most_loss, int alone)
{
    const er_load_options options = {.size = sizeof options, .most_loss = most_loss, .first_stage_alone = alone};
    er_model *model = NULL;
    er_load_files(files, count, &options, &model, &failure);
    return model;
}

/* Names' places and lengths, in pairs; how many there are, at most 256. */
EXPORT("list") int js_list(const void *manifest, size_t length, int alone, uint32_t *pairs)
{
    static er_listed room[256];
    size_t count = 256;
    if (er_list(manifest, length, alone, room, &count, &failure)) return -1;
    for (size_t i = 0; i < count; i++) {
        pairs[2 * i] = (uint32_t)(uintptr_t)room[i].name.at;
        pairs[2 * i + 1] = (uint32_t)room[i].name.length;
    }
    return (int)count;
}

/* Texts to add, to remove and to replace stand behind each other. */
EXPORT("with_tools") er_model *js_with_tools(const er_model *model, const er_text *texts, size_t add, size_t remove, size_t replace)
{
    const er_change change = {sizeof change, texts, add, texts + add, remove, texts + add + remove, replace, NULL, NULL, 0};
    er_model *made = NULL;
    er_with_tools(model, &change, &made, &failure);
    return made;
}

EXPORT("free_model") void js_free(er_model *model) { er_free(model); }

/* tools, labels, dimension, stages, encodes; the hash's place and length. */
EXPORT("describe") int js_describe(const er_model *model)
{
    er_summary s = {.size = sizeof s};
    if (er_describe(model, &s, &failure)) return (int)failure.status;
    const double told[] = {s.tools, s.labels, s.dimension, s.stages, s.encodes, (double)(uintptr_t)s.content_hash.at,
        (double)s.content_hash.length, (double)s.bytes};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) numbers[i] = told[i];
    return 0;
}

/* Place and length of a text. */
static void tell(er_text text)
{
    numbers[0] = (double)(uintptr_t)text.at;
    numbers[1] = (double)text.length;
}

EXPORT("tool_name") void js_tool_name(const er_model *model, uint32_t tool) { tell(er_tool_name(model, tool)); }
EXPORT("tool_definition") void js_tool_definition(const er_model *model, uint32_t tool) { tell(er_tool_definition(model, tool)); }
EXPORT("tool_find") double js_tool_find(const er_model *model, const char *at, size_t length)
{
    return (double)er_tool_find(model, (er_text){at, length});
}

EXPORT("begin") er_task *js_begin(const er_model *model, const char *at, size_t length, const uint32_t *allowed, size_t count,
    const er_text *earlier, size_t earlier_count, size_t last, er_learner *learner)
{
    const er_begin_options options = {.size = sizeof options, .allowed = allowed, .allowed_count = count, .earlier = earlier,
        .earlier_count = earlier_count, .last_count = last, .learner = learner};
    er_task *task = NULL;
    er_begin(model, (er_text){at, length}, &options, &task, &failure);
    return task;
}

/* tool, probability, reason, abstained, confirm, named, stage, demonstrated, floor, best, parts. */
EXPORT("next") int js_next(er_task *task, int policy, double min_probability, double risk, int own)
{
    const er_next_options options = {
        .size = sizeof options, .policy = (er_policy)policy, .min_probability = min_probability, .risk = risk, .own = own};
    er_decision d = {.size = sizeof d};
    if (er_next(task, &options, &d, &failure)) return (int)failure.status;
    const double told[] = {d.tool_number, d.probability, d.reason, d.abstained, d.confirm, d.named, d.stage, d.demonstrated, d.floor,
        d.best_number, d.parts};
    for (size_t i = 0; i < sizeof told / sizeof *told; i++) numbers[i] = told[i];
    return 0;
}

/* Pairs of a tool's number and its probability, best first; how many there are. With a coverage, those of er_conformal. */
EXPORT("candidates") int js_candidates(er_task *task, double *pairs, size_t most, double coverage)
{
    er_candidate *room = malloc((most ? most : 1) * sizeof *room);
    size_t count = most;
    if (!room) return failure.status = ER_NO_MEMORY, -1;
    const er_status status = coverage ? er_conformal(task, coverage, room, &count, &failure) : er_candidates(task, room, &count, &failure);
    for (size_t i = 0; !status && i < count && i < most; i++) {
        pairs[2 * i] = room[i].tool_number;
        pairs[2 * i + 1] = room[i].probability;
    }
    free(room);
    return status ? -1 : (int)count;
}

EXPORT("call") int js_call(er_task *task, const char *at, size_t length) { return (int)er_call(task, (er_text){at, length}, &failure); }
EXPORT("fail") int js_fail(er_task *task, const char *at, size_t length) { return (int)er_fail(task, (er_text){at, length}, &failure); }
EXPORT("retry") int js_retry(er_task *task, const char *at, size_t length) { return (int)er_retry(task, (er_text){at, length}, &failure); }
EXPORT("undo") int js_undo(er_task *task) { return (int)er_undo(task, &failure); }
EXPORT("fork") er_task *js_fork(const er_task *task)
{
    er_task *other = NULL;
    er_fork(task, &other, &failure);
    return other;
}
EXPORT("end_task") void js_end(er_task *task) { er_end(task); }

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

EXPORT("left_aside") double js_left_aside(const er_task *task)
{
    er_text room[3];
    size_t count = 3;
    const er_status status = er_left_aside(task, room, &count, &failure);
    put_begin();
    put_texts(room, status ? 0 : count < 3 ? count : 3);
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
    put_begin();
    for (size_t most = 32, most_missing = 32;; most = count, most_missing = missing_count) {
        free(room);
        free(missing);
        room = malloc((most + 1) * sizeof *room);
        missing = malloc((most_missing + 1) * sizeof *missing);
        told.failed |= !room || !missing;
        count = most;
        missing_count = most_missing;
        status = told.failed ? ER_OK : er_arguments(task, (er_text){at, length}, &options, room, &count, missing, &missing_count, &failure);
        if (status || told.failed || (count <= most && missing_count <= most_missing)) break;
    }
    const int read = !status && !told.failed;
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
