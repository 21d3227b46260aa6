/* What edgeret.js calls to decide: edgeret.h with numbers alone, so that no struct is laid out twice. One page, one thread: what is
   filled here is read before the next call. */

#include "shim.h"

#include <stdlib.h>
#include <string.h>

er_error failure;
double numbers[12];

static void swap(unsigned char *a, unsigned char *b, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const unsigned char kept = a[i];
        a[i] = b[i];
        b[i] = kept;
    }
}

/* The C library's own chooses among three ways of sorting, which are 3 KB; here lists are short. */
void qsort(void *at, size_t count, size_t size, int (*compare)(const void *, const void *))
{
    unsigned char *all = at;
    for (size_t end = count, root = count / 2; end > 1;) { /* a heap is built, then taken apart */
        if (root) root--;
        else swap(all, all + --end * size, size);
        for (size_t parent = root, child; (child = 2 * parent + 1) < end; parent = child) {
            child += child + 1 < end && compare(all + child * size, all + (child + 1) * size) < 0;
            if (compare(all + parent * size, all + child * size) >= 0) break;
            swap(all + parent * size, all + child * size, size);
        }
    }
}

/* ---- Lists of numbers and texts, one after the other, for JavaScript's Reader ---- */

static struct {
    uint8_t *at;
    size_t length, room;
    int failed;
} told;

EXPORT("told") const uint8_t *js_told(void) { return told.at; }

void put(const void *bytes, size_t length)
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

void put_number(double value) { put(&value, sizeof value); }

void put_text(er_text text)
{
    put_number((double)text.length);
    put(text.at, text.length);
}

void put_texts(const er_text *texts, size_t count)
{
    put_number((double)count);
    for (size_t i = 0; i < count; i++) put_text(texts[i]);
}

void put_begin(void)
{
    told.length = 0;
    told.failed = 0;
}

bool put_fails(bool now) { return told.failed |= now; }

double put_end(er_status status)
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

EXPORT("left_aside") double js_left_aside(const er_task *task)
{
    er_text room[3];
    size_t count = 3;
    const er_status status = er_left_aside(task, room, &count, &failure);
    put_begin();
    put_texts(room, status ? 0 : count < 3 ? count : 3);
    return put_end(status);
}
