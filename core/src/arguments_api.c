/* The header's er_arguments: checks what is given, and hands out what fill.c found. */

#include "arguments.h"
#include "encode.h"
#include "task.h"
#include "words.h"

#include <stdlib.h>

enum { MOST_NESTED = 64, MOST_CONTAINERS = 100000, MOST_MADE = ER_MOST_CALLS };

/* ---- Tools, once each ---- */

void er_taking_free(er_taking *taking)
{
    if (!taking) return;
    er_arena arena = taking->arena; /* which holds the taking itself */
    er_give_back(&arena);
}

static const er_taking *taking_at(const er_model *model, uint32_t tool, er_error *error)
{
    er_slot *slot = &er_takings(model)[tool];
    er_taking *found = atomic_load(slot);
    if (found) return found;
    er_arena arena = {.error = error}, scratch = {.error = error};
    er_taking *made = ER_TAKE(&arena, er_taking, 1);
    if (!made) return er_give_back(&arena), NULL;
    made->arena = arena;
    /* A block to go back to, so that what is encoded meanwhile goes again. */
    const bool fine = er_take(&scratch, 1, 1) && er_taking_of(&scratch, model, &model->tools[tool], made) && !error->status;
    er_give_back(&scratch);
    made->arena.error = NULL;
    if (!fine) return er_taking_free(made), NULL;
    if (atomic_compare_exchange_strong(slot, &found, made)) return made;
    er_taking_free(made); /* another thread was first */
    return found;
}

/* ---- The request, once ---- */

/* What units say to the head, by the mean of the vectors of the tokens that each shares characters with; zeros where there are none,
   and behind it up to a whole number of steps. */
static bool unit_words(er_task *task, er_error *error, const float **found)
{
    er_encoding own = {.size = sizeof own};
    const er_reading *of = task->pieces;
    if (er_task_encoding(task, &own, error)) return false;
    const uint32_t d = own.dimension, across = (d + ER_ARG_STEP - 1) / ER_ARG_STEP * ER_ARG_STEP, prefix = er_length_of(task->model->full.spec.query_prefix);
    er_arena scratch = {.error = error};
    float *vectors = ER_TAKE(&scratch, float, (size_t)of->unit_count * across);
    for (uint32_t i = 0; vectors && i < of->unit_count; i++)
        er_mean_of_tokens(&own, of->units[i].begin + prefix, of->units[i].end + prefix, vectors + (size_t)i * across);
    const bool fine = vectors && er_point_units(&task->arena, task->model->arguments->head, vectors, of->unit_count, found);
    er_give_back(&scratch);
    return fine;
}

static bool read_query(er_task *task, bool head, er_error *error)
{
    if (!task->pieces) {
        er_reading *made = ER_TAKE(&task->arena, er_reading, 1);
        if (!made || !er_read_request(&task->arena, &task->query, made)) return false;
        task->pieces = made;
    }
    const uint32_t units = task->pieces->unit_count;
    return !head || task->unit_words || !units || units > ER_MOST_UNITS_READ || unit_words(task, error, &task->unit_words);
}

/* ---- What is given ---- */

static bool read_json(er_arena *arena, er_text text, const char *where, const er_json **found)
{
    if (er_json_read(arena, text, MOST_NESTED, MOST_CONTAINERS, where, found)) return true;
    er_error *error = arena->error;
    if (!error || error->status != ER_BAD_BUNDLE) return false; /* no memory */
    static const char theirs[] = "build the bundle again", own[] = "give it as JSON";
    char *remedy = strstr(error->text, theirs);
    error->status = ER_BAD_INPUT;
    if (remedy) memcpy(remedy, own, sizeof own);
    return false;
}

static bool take_calls(er_arena *arena, const er_task *task, const er_arguments_options *options, const er_made **calls, er_error *error)
{
    static const er_json nothing = {.kind = ER_JSON_OBJECT};
    er_made *made = ER_TAKE(arena, er_made, options->call_count + 1);
    if (!made) return false;
    for (size_t i = 0; i < options->call_count; i++) {
        const er_made_call *call = &options->calls[i];
        made[i] = (er_made){.tool = call->tool, .arguments = &nothing};
        if (call->arguments.length && !read_json(arena, call->arguments, "a call's arguments", &made[i].arguments)) return false;
        if (made[i].arguments->kind != ER_JSON_OBJECT) return er_refuse(error, ER_BAD_INPUT, "a call's arguments must be an object; give values by name");
        if (call->result.length && !read_json(arena, call->result, "a call's result", &made[i].result)) return false;
        const int64_t giver = er_tool_find(task->model, call->tool);
        if (giver >= 0 && !(made[i].giver = taking_at(task->model, (uint32_t)giver, error))) return false;
    }
    *calls = made;
    return true;
}

static bool take_now(const er_arguments_options *options, er_now *now, er_error *error)
{
    const bool fine = options->year >= 1 && options->year <= 9999 && options->month >= 1 && options->month <= 12 && options->day >= 1 && options->day <= 31 &&
                      options->hour >= 0 && options->hour <= 23 && options->minute >= 0 && options->minute <= 59 && options->second >= 0 &&
                      options->second <= 60 && abs(options->zone) < 1440;
    if (!fine) return er_refuse(error, ER_BAD_INPUT, "year, month, day, hour, minute and second are no day's time; leave the year at 0 for none");
    *now = (er_now){(int16_t)options->year, (uint8_t)options->month, (uint8_t)options->day, (uint8_t)options->hour, (uint8_t)options->minute,
                    (uint8_t)options->second, options->zoned != 0, (int16_t)options->zone};
    return true;
}

/* ---- What is told ---- */

static bool tell_value(er_arena *arena, const er_json *value, er_value *to)
{
    static const er_type types[] = {[ER_JSON_NULL] = ER_NULL, [ER_JSON_BOOLEAN] = ER_BOOLEAN, [ER_JSON_NUMBER] = ER_NUMBER,
                                    [ER_JSON_TEXT] = ER_STRING, [ER_JSON_ARRAY] = ER_ARRAY, [ER_JSON_OBJECT] = ER_OBJECT};
    to->type = value->kind == ER_JSON_NUMBER && value->whole ? ER_INTEGER : types[value->kind];
    to->text = value->text;
    return value->kind == ER_JSON_TEXT || er_json_write(arena, value, &to->text);
}

static bool tell_argument(er_arena *arena, const er_parameter *one, const er_found *found, double confidence, er_argument *to)
{
    *to = (er_argument){.name = one->name, .source = (er_argument_source)found->source, .confidence = confidence, .alternative_count = found->other_count};
    if (found->spanned) to->begin = found->span.begin, to->end = found->span.end;
    for (uint32_t i = 0; i < found->other_count; i++)
        if (!tell_value(arena, found->others[i], &to->alternatives[i])) return false;
    return tell_value(arena, found->value, &to->value);
}

/* A schema may ask for so many arguments, whichever they are. */
static bool is_counted(const er_json *schema, uint32_t given)
{
    const er_json *least = er_json_get(schema, "minProperties"), *most = er_json_get(schema, "maxProperties");
    return !(least && least->kind == ER_JSON_NUMBER && given < least->number) && !(most && most->kind == ER_JSON_NUMBER && given > most->number);
}

/* A value of the request that stands for an output would be taken for one. */
static bool stands_for_output(const er_json *value)
{
    if (value->kind == ER_JSON_TEXT) return er_is_reference(value->text, NULL);
    for (uint32_t i = 0; (value->kind == ER_JSON_ARRAY || value->kind == ER_JSON_OBJECT) && i < value->count; i++)
        if (stands_for_output(&value->items[i])) return true;
    return false;
}

/* What a call must have and is less sure than this is asked for too. A tuned head's confidence is fitted where more is left unsaid. */
static const double ASKED = 0.5, ASKED_TUNED = 0.4;

typedef struct {
    er_argument *room;
    er_missing *missing;
    size_t room_count, missing_room, told, asked;
} teller;

static bool tell(er_task *task, const er_taking *tool, const er_filling *f, const er_found *found, teller *to)
{
    er_arena *arena = &task->filled;
    const bool read = found != NULL;
    uint32_t given = 0;
    double sure[ER_MOST_WANTED];
    bool there[ER_MOST_WANTED] = {false};
    for (uint32_t p = 0; read && p < tool->wanted; p++) {
        const bool referring = found[p].source == ER_FROM_OUTPUT || found[p].source == ER_FROM_EARLIER;
        there[p] = found[p].value && (referring || !stands_for_output(found[p].value));
        sure[p] = there[p] ? er_confidence(&found[p], &tool->parameters[p], f) : 0.0;
        given += there[p];
    }
    const bool counted = !read || is_counted(tool->schema, given);
    const double least = f && f->tuned && f->headed ? ASKED_TUNED : ASKED;
    bool any = false;
    for (uint32_t p = 0; p < tool->count; p++) any |= tool->parameters[p].required;
    for (uint32_t p = 0; p < tool->count; p++) {
        const er_parameter *one = &tool->parameters[p];
        const bool has = read && p < tool->wanted && there[p];
        if (has && counted && to->told++ < to->room_count && !tell_argument(arena, one, &found[p], sure[p], &to->room[to->told - 1])) return false;
        /* Where a schema asks for one at least, whichever it is, the first that is not there is asked for. */
        const bool wanted = counted ? one->required && (!has || sure[p] < least) : any ? one->required : !has && !to->asked;
        if (!wanted || to->asked++ >= to->missing_room) continue;
        er_missing *missing = &to->missing[to->asked - 1];
        missing->name = one->name;
        if (!er_question(arena, read ? task->pieces : NULL, f ? f->suitor->now : NULL, one, &missing->question)) return false;
    }
    return true;
}

/* ---- The door ---- */

static bool fill(er_task *task, const er_taking *tool, const er_arguments_options *options, er_error *error, teller *to)
{
    er_arena *arena = &task->filled;
    const er_stored_arguments *stored = options->rules_alone || !task->model->has_full ? NULL : task->model->arguments;
    const er_made *calls = NULL;
    er_earlier earlier;
    er_suitor suitor;
    er_now now;
    if (!tool->count || !tool->apart) return tell(task, tool, NULL, NULL, to);
    if ((options->year && !take_now(options, &now, error)) || !read_query(task, stored != NULL, error) || !take_calls(arena, task, options, &calls, error) ||
        !er_earlier_of(arena, calls, (uint32_t)options->call_count, tool->tool->name, &earlier) ||
        !er_suitor_of(arena, task->pieces, tool, &earlier, options->year ? &now : NULL, &suitor))
        return false;
    er_filling filling = {.suitor = &suitor, .stored = stored, .words = stored ? task->unit_words : NULL, .tuned = er_is_tuned(stored)};
    er_found *found = ER_TAKE(arena, er_found, tool->wanted + 1);
    return found && er_fill_call(&filling, found) && tell(task, tool, &filling, found, to);
}

er_status er_arguments(er_task *task, er_text name, const er_arguments_options *given, er_argument *room, size_t *count, er_missing *missing,
                       size_t *missing_count, er_error *told)
{
    er_error own, *error = er_clear(told, &own);
    er_arguments_options options;
    if (!task || !count || !missing_count || (!room && *count) || (!missing && *missing_count))
        return er_refuse(error, ER_BAD_INPUT, "er_arguments needs a task, counts, and room for so many"), ER_BAD_INPUT;
    if (!er_options(&options, sizeof options, given, offsetof(er_arguments_options, year), "er_arguments_options", error)) return error->status;
    if ((options.call_count && !options.calls) || options.call_count > MOST_MADE)
        return er_refuse(error, ER_BAD_INPUT, "%zu calls before this one; give at most %d of them", options.call_count, MOST_MADE), ER_BAD_INPUT;
    const int64_t tool = er_tool_find(task->model, name);
    if (tool < 0) return er_refuse(error, ER_BAD_INPUT, "unknown tool \"%s\"; er_tool_name lists those that are there", er_show(name).at), ER_BAD_INPUT;
    er_give_back(&task->filled);
    task->filled = (er_arena){.error = error};
    task->arena.error = error;
    const er_taking *taking = taking_at(task->model, (uint32_t)tool, error);
    teller to = {room, missing, *count, *missing_count, 0, 0};
    const bool fine = taking && er_take(&task->filled, 1, 1) && fill(task, taking, &options, error, &to) && !error->status;
    task->arena.error = task->filled.error = NULL;
    if (!fine) return er_status_of(error);
    *count = to.told;
    *missing_count = to.asked;
    return ER_OK;
}
