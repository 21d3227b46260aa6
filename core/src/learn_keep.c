/* A change of tools becomes a record of the overlay (docs/FORMAT.md 15.6, "tools"). */

#include "json.h"
#include "learn_handle.h"
#include "parts.h"
#include "tools.h"

#include <errno.h>
#include <stdlib.h>

enum { MOST_NESTED = 64, MOST_CONTAINERS = 100000 };

/* ---- Definitions ---- */

/* Whole numbers beyond what msgpack has are floats, as decoders of JSON without such numbers read them. */
static void put_number(er_bytes *b, const er_json *value)
{
    char text[32], *end;
    if (!value->whole || value->raw.length >= sizeof text) {
        er_put_number(b, value->number);
        return;
    }
    memcpy(text, value->raw.at, value->raw.length);
    text[value->raw.length] = 0;
    errno = 0;
    const long long found = strtoll(text, &end, 10);
    if (errno || *end) er_put_number(b, value->number);
    else er_put_whole(b, found);
}

/* How deep a value nests was bounded when it was read. */
static void put_json(er_bytes *b, const er_json *value)
{
    switch (value->kind) {
    case ER_JSON_NULL: er_put_nothing(b); break;
    case ER_JSON_BOOLEAN: er_put_value(b, &(er_pack){.kind = ER_PACK_BOOLEAN, .truth = value->truth}); break;
    case ER_JSON_NUMBER: put_number(b, value); break;
    case ER_JSON_TEXT: er_put_text(b, value->text); break;
    case ER_JSON_ARRAY:
        er_put_list(b, value->count);
        for (uint32_t i = 0; i < value->count; i++) put_json(b, &value->items[i]);
        break;
    case ER_JSON_OBJECT:
        er_put_map(b, value->count);
        for (uint32_t i = 0; i < value->count; i++) {
            er_put_text(b, value->keys[i]);
            put_json(b, &value->items[i]);
        }
        break;
    }
}

static bool put_definitions(er_bytes *b, er_arena *scratch, const er_given *given, uint32_t count)
{
    er_put_list(b, count);
    for (uint32_t i = 0; i < count; i++) {
        const er_json *value;
        if (!er_json_read(scratch, given[i].tool.definition, MOST_NESTED, MOST_CONTAINERS, "a tool", &value)) return false;
        put_json(b, value);
    }
    return true;
}

/* ---- Their vectors, as `after` has them ---- */

static bool put_vectors(er_bytes *b, const er_changing *c, const er_model *after)
{
    const er_stage *stage = er_deciding(after);
    const er_index *index = &stage->index;
    const uint32_t d = stage->spec.dimension;
    uint32_t shown = 0, row = 0;
    for (uint32_t i = 0; i < c->count; i++) shown += c->given[i].tool.example_count;
    float *vectors = ER_TAKE(c->arena, float, (size_t)c->count * d), *examples = ER_TAKE(c->arena, float, (size_t)shown * d);
    if (!vectors || !examples) return false;
    for (uint32_t i = 0; i < c->count; i++) {
        const er_tool *tool = &c->given[i].tool;
        const int64_t at = er_tool_find(after, tool->name);
        const bool fine = at >= 0 && er_same(after->tools[at].definition, tool->definition) && (!tool->example_count || index->wide_examples);
        if (!fine) return er_refuse(c->arena->error, ER_BAD_INPUT, "after: not what er_with_tools made of `before` by this change");
        memcpy(vectors + (size_t)i * d, index->vectors + (size_t)at * d, d * sizeof(float));
        if (!tool->example_count) continue;
        memcpy(examples + (size_t)row * d, index->wide_examples + (size_t)index->example_starts[at] * d, (size_t)tool->example_count * d * sizeof(float));
        row += tool->example_count;
    }
    ER_PUT(b, "vectors"), er_put_array(b, "<f4", c->count, d, vectors);
    ER_PUT(b, "examples"), er_put_array(b, "<f4", shown, d, examples);
    return true;
}

bool er_put_tools(er_bytes *b, const er_model *before, const er_change *change, const er_model *after, er_error *error)
{
    er_arena arena = {.error = error};
    er_changing c = {.arena = &arena, .scratch = {.error = error}, .work = {.error = error}, .base = before, .change = change};
    bool fine = er_read_change(&c);
    if (fine) {
        er_put_map(b, 5);
        ER_PUT(b, "added"), fine = put_definitions(b, &c.scratch, c.given, c.added);
        ER_PUT(b, "removed"), er_put_list(b, (uint32_t)change->remove_count);
        for (size_t i = 0; i < change->remove_count; i++) er_put_text(b, change->remove[i]);
        ER_PUT(b, "replaced"), fine = fine && put_definitions(b, &c.scratch, c.given + c.added, c.count - c.added);
        fine = fine && put_vectors(b, &c, after);
    }
    er_give_back(&c.scratch);
    er_give_back(&c.work);
    er_give_back(&arena);
    return fine;
}

/* ---- The door ---- */

/* With the turn, and the file locked. */
static bool keep(er_learner *learner, const er_locked *file, const er_model *before, const er_change *change, const er_model *after, er_error *error)
{
    if (before != learner->model || learner->others_changed)
        return er_refuse(error, ER_BAD_INPUT, "%s: the tools kept there were changed since, by another process or from another runtime; load the bundle again, "
                         "and change the tools of that", file->shown.at);
    if (before == after) return true;
    learner->arena.error = error;
    er_kept_model *kept = ER_TAKE(&learner->arena, er_kept_model, 1);
    learner->arena.error = NULL;
    if (!kept) return false;
    er_bytes bytes;
    er_arena arena = {.error = error};
    const er_pack *body = NULL;
    er_census census = learner->contents.census;
    er_record_begin(learner, &bytes);
    ER_PUT(&bytes, "tools");
    bool fine = er_put_tools(&bytes, before, change, after, error);
    const size_t length = bytes.length - bytes.body;
    fine = fine && er_record_add(learner, file, &bytes, error);
    /* As whoever reads it finds it. Where that fails, the file is there as it is, and this learner changes its tools no more. */
    if (fine) {
        er_error own = {0};
        arena.error = &own;
        learner->others_changed = !er_pack_counted(&arena, (er_text){(const char *)bytes.at + bytes.body, length}, file->shown.at, &census, &body) ||
                                  !er_others_add(learner->others, ER_TEXT("tools"), &body->items[1].items[0].items[1]);
        *kept = (er_kept_model){learner->model, learner->before};
        learner->before = kept;
        er_mutex_lock(&learner->lock);
        learner->model = er_held(after);
        er_mutex_unlock(&learner->lock);
    }
    er_give_back(&arena);
    er_bytes_free(&bytes);
    return fine;
}

er_status er_learner_keep(er_learner *learner, const er_model *before, const er_change *given_change, const er_model *after, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!learner || !before || !given_change || !after) return er_refuse(error, ER_BAD_INPUT, "er_learner_keep needs a learner, the model before, a change, and the model after it"), ER_BAD_INPUT;
    er_change change;
    if (!er_options(&change, sizeof change, given_change, sizeof change, "er_change", error)) return error->status;
    if (!learner->path) return er_refuse(error, ER_BAD_INPUT, "nothing is kept: the learner was opened without an overlay"), ER_BAD_INPUT;
    if (!er_learner_serves(learner, after)) return er_refuse(error, ER_BAD_INPUT, "after: a model of another encoder than the learner's"), ER_BAD_INPUT;
    er_locked file;
    er_mutex_lock(&learner->turn);
    bool fine = er_learner_lock(learner, &file, error);
    if (fine) {
        fine = keep(learner, &file, before, &change, after, error);
        er_locked_close(&file);
    }
    er_mutex_unlock(&learner->turn);
    return fine ? ER_OK : er_status_of(error);
}
