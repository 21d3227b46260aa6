/* The header's functions of tasks: arguments are checked here, and failures become a status and a line. */

#include "turns.h"
#include "unicode.h"
#include "utf8.h"
#include "vectors.h"

#include <stdlib.h>

/* What a package's library was made of: in a checkout, whose sources change, one made of others must not be used. */
#ifdef EDGERET_SOURCES
ER_API const char edgeret_sources[] = EDGERET_SOURCES;
#endif

const char *er_version(void) { return ER_VERSION; }

const char *er_status_text(er_status status)
{
    switch (status) {
    case ER_OK: return "fine";
    case ER_BAD_INPUT: return "an argument or option that does not fit";
    case ER_BAD_BUNDLE: return "a bundle that is damaged, forged or of another version";
    case ER_NO_FILE: return "a folder or file that is not there or cannot be read";
    case ER_NO_MEMORY: return "no memory";
    case ER_NO_ENCODER: return "the bundle's encoder does not run here";
    case ER_FULL: return "a task with as many calls as it can hold";
    case ER_BAD_OVERLAY: return "an overlay that is damaged, forged, or another encoder's";
    case ER_NOT_KEPT: return "what was to be learned or forgotten could not be written";
    }
    return "no status of edgeret";
}

static er_status missing(er_error *error, const char *what)
{
    er_refuse(error, ER_BAD_INPUT, "%s is NULL", what);
    return ER_BAD_INPUT;
}

/* ---- Reading ---- */

void er_unread(er_read *read)
{
    if (!read || atomic_fetch_sub(&read->holders, 1) != 1) return;
    er_arena arena = read->request.arena; /* which holds `read` itself */
    er_give_back(&arena);
}

/* A caller's vectors, checked and copied. */
static bool take_encoding(er_arena *arena, const er_stage *stage, const er_encoding *given, uint32_t prefix, er_encoded *found)
{
    const uint32_t d = stage->spec.dimension, count = given->count;
    if (given->size < sizeof *given || !given->vector || (count && (!given->tokens || !given->begins || !given->ends)))
        return er_refuse(arena->error, ER_BAD_INPUT, "an encoding needs its size, a vector, and of each token a vector, a begin and an end");
    if (given->dimension != d)
        return er_refuse(arena->error, ER_BAD_INPUT, "an encoding of %u numbers, but the bundle's encoder has %u", given->dimension, d);
    float *vector = ER_TAKE(arena, float, d), *tokens = ER_TAKE(arena, float, (size_t)count * d + 1);
    er_span *spans = ER_TAKE(arena, er_span, (size_t)count + 1);
    if (!vector || !tokens || !spans) return false;
    memcpy(vector, given->vector, d * sizeof(float));
    if (count) memcpy(tokens, given->tokens, (size_t)count * d * sizeof(float));
    for (uint32_t i = 0; i < count; i++) spans[i] = (er_span){given->begins[i], given->ends[i]};
    const double length = er_length(vector, d);
    if (!(length * length > 0.99 && length * length < 1.01))
        return er_refuse(arena->error, ER_BAD_INPUT, "an encoding's vector has length %g and not 1", length);
    for (size_t i = 0; i < (size_t)count * d; i++)
        if (!(fabsf(tokens[i]) < 1e9f)) return er_refuse(arena->error, ER_BAD_INPUT, "an encoding's token vectors are not finite");
    *found = (er_encoded){vector, tokens, spans, count, prefix};
    return true;
}

er_read *er_read_query(const er_model *model, const er_stage *stage, const er_points *query, const er_encoding *given,
    const bool *allowed, er_task *task, er_error *error)
{
    er_arena arena = {.error = error};
    er_read *read = ER_TAKE(&arena, er_read, 1);
    if (!read) return NULL;
    atomic_init(&read->holders, 1);
    read->request.arena = arena;
    bool *mine = NULL;
    bool fine = true;
    if (allowed) {
        mine = ER_TAKE(&read->request.arena, bool, stage->names->n);
        fine = mine != NULL;
        if (fine) memcpy(mine, allowed, stage->names->n);
    }
    const bool *may = allowed ? mine : stage->names->allowed;
    if (fine && given) fine = take_encoding(&read->request.arena, stage, given, (uint32_t)er_count_points(stage->spec.query_prefix), &read->encoded);
    else if (fine) fine = er_encode_text(&read->request.arena, model, stage, query, &task->watch, &read->encoded);
    if (given) er_lap(&task->watch, ER_AT_ENCODE);
    read->request.watch = &task->watch;
    const er_earlier *also = task->turn ? &task->turn->all : NULL;
    /* What was learned may call any tool, so all are compared. */
    if (fine && task->learner && (task->wide || er_by(task->learner)->counts(task->learner))) fine = er_request_read(&read->request, model, stage, query, &read->encoded, may, false);
    else if (fine) fine = er_request_near(&read->request, model, stage, query, &read->encoded, may, also ? also->at : NULL, also ? also->count : 0);
    er_lap(&task->watch, ER_AT_SEARCH);
    read->request.watch = NULL; /* the task's, which may go before forks do */
    read->request.arena.error = NULL; /* the caller's, who goes */
    if (fine) return read;
    arena = read->request.arena;
    er_give_back(&arena);
    return NULL;
}

/* ---- Tasks ---- */

bool er_check_query(er_arena *arena, er_text query, er_points *points)
{
    if (!query.at && query.length) return er_refuse(arena->error, ER_BAD_INPUT, "query: no text at all");
    if (query.length > (size_t)ER_MOST_QUERY * 4)
        return er_refuse(arena->error, ER_BAD_INPUT, "query: %zu bytes, at most %d characters are allowed; shorten the text", query.length, ER_MOST_QUERY);
    char *copy = ER_TAKE(arena, char, query.length + 1);
    if (!copy) return false;
    if (query.length) memcpy(copy, query.at, query.length);
    if (!er_points_of(arena, (er_text){copy, query.length}, points)) return false;
    if (points->count > ER_MOST_QUERY)
        return er_refuse(arena->error, ER_BAD_INPUT, "query: %u characters, at most %d are allowed; shorten the text", points->count, ER_MOST_QUERY);
    for (uint32_t i = 0; i < points->count; i++)
        if (!er_is_space(points->points[i])) return true;
    return er_refuse(arena->error, ER_BAD_INPUT, "query: empty; give the user's words");
}

static bool take_allowed(er_task *task, const er_begin_options *options)
{
    const er_names *names = (task->model->has_full ? &task->model->full : &task->model->small)->names;
    er_error *error = task->arena.error;
    if (!options->allowed) return er_refuse(error, ER_BAD_INPUT, "allowed is NULL, but allowed_count is %zu", options->allowed_count);
    if (!options->allowed_count) return er_refuse(error, ER_BAD_INPUT, "allowed is empty; name at least one tool, or leave it out for all");
    bool *allowed = ER_TAKE(&task->arena, bool, names->n);
    if (!allowed) return false;
    allowed[names->end] = true;
    for (size_t i = 0; i < options->allowed_count; i++) {
        if (options->allowed[i] >= task->model->tool_count)
            return er_refuse(error, ER_BAD_INPUT, "no tool has the number %u; there are %u", options->allowed[i], task->model->tool_count);
        allowed[names->places[options->allowed[i]]] = true;
    }
    for (uint32_t p = 0; p < names->n; p++)
        if (!allowed[p]) task->allowed = allowed;
    return true;
}

/* What a task keeps beside its request. */
static bool furnish(er_task *task)
{
    const er_names *names = task->read->request.names;
    task->places = ER_TAKE(&task->arena, int32_t, ER_MOST_CALLS);
    task->made = ER_TAKE(&task->arena, uint32_t, ER_MOST_CALLS);
    task->failures = ER_TAKE(&task->arena, er_failure, ER_MOST_CALLS);
    task->blocked = ER_TAKE(&task->arena, bool, names->n);
    task->order = ER_TAKE(&task->arena, uint32_t, names->n);
    task->history = (er_history){task->places, task->made, 0, 0};
    if (!task->places || !task->made || !task->failures || !task->blocked || !task->order ||
        !er_workspace_of(&task->arena, task->model, names, &task->work) ||
        (task->learner && !er_by(task->learner)->of(&task->arena, task->learner, task->model, names->n, &task->recall)))
        return false;
    task->work.recall = task->first ? NULL : task->recall;
    task->work.watch = &task->watch;
    return true;
}

static er_status drop(er_task *task, er_error *error)
{
    er_end(task);
    return er_status_of(error);
}

static er_status start(const er_model *model, er_text query, const er_encoding *encoding, const er_begin_options *given_options,
    er_task **made, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    er_begin_options options;
    if (!made) return missing(error, "the place for the task");
    *made = NULL;
    if (!model) return missing(error, "model");
    if (!er_options(&options, sizeof options, given_options, offsetof(er_begin_options, earlier), "er_begin_options", error)) return error->status;
    er_arena arena = {.error = error};
    er_task *task = ER_TAKE(&arena, er_task, 1);
    if (!task) return er_give_back(&arena), ER_NO_MEMORY;
    task->arena = arena;
    task->model = er_held(model);
    task->watch = (er_watch){.clock = options.clock, .context = options.clock_context};
    er_watch_on(&task->watch);
    if (!er_check_query(&task->arena, query, &task->query)) return drop(task, error);
    if ((options.allowed || options.allowed_count) && !take_allowed(task, &options)) return drop(task, error);
    if (!options.earlier && options.earlier_count)
        return er_refuse(error, ER_BAD_INPUT, "earlier is NULL, but earlier_count is %zu", options.earlier_count), drop(task, error);
    task->first = model->has_small && model->has_full && !task->allowed && !encoding && !options.earlier && model->cascade_least <= 1.0;
    if (options.learner) {
        task->learner = er_by(options.learner)->held(options.learner);
        task->first = task->first && !er_by(options.learner)->counts(options.learner);
    }
    const er_stage *stage = task->first || !model->has_full ? &model->small : &model->full;
    if (options.earlier && !er_turn_of(&task->arena, options.earlier, options.earlier_count, options.last_count, model, stage->names, &task->turn))
        return drop(task, error);
    task->read = er_read_query(model, stage, &task->query, encoding, task->allowed, task, error);
    if (!task->read || !furnish(task)) return drop(task, error);
    er_lap(&task->watch, ER_AT_SEARCH);
    task->arena.error = NULL;
    *made = task;
    return ER_OK;
}

er_status er_begin(const er_model *model, er_text query, const er_begin_options *options, er_task **made, er_error *error)
{
    return start(model, query, NULL, options, made, error);
}

er_status er_begin_with(const er_model *model, er_text query, const er_encoding *encoding, const er_begin_options *options,
    er_task **made, er_error *given)
{
    er_error own;
    if (!encoding) return missing(er_clear(given, &own), "encoding");
    return start(model, query, encoding, options, made, given);
}

void er_end(er_task *task)
{
    if (!task) return;
    er_arena arena = task->arena; /* which holds the task itself */
    er_model *model = (er_model *)task->model;
    er_learner *learner = task->learner;
    er_unread(task->read);
    er_unread(task->narrow);
    er_give_back(&task->told);
    er_give_back(&task->filled);
    er_give_back(&arena);
    if (learner) er_by(learner)->left(learner);
    er_free(model);
}

er_status er_fork(const er_task *task, er_task **made, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!made) return missing(error, "task");
    *made = NULL;
    if (!task) return missing(error, "task");
    er_arena arena = {.error = error};
    er_task *other = ER_TAKE(&arena, er_task, 1);
    if (!other) return er_give_back(&arena), ER_NO_MEMORY;
    other->arena = arena;
    other->model = er_held(task->model);
    other->first = task->first;
    other->watch = (er_watch){.clock = task->watch.clock, .context = task->watch.context};
    if (task->learner) other->learner = er_by(task->learner)->held(task->learner);
    other->read = task->read;
    atomic_fetch_add(&other->read->holders, 1);
    if (!er_check_query(&other->arena, task->query.text, &other->query) || !furnish(other)) return drop(other, error);
    const uint32_t n = task->read->request.names->n;
    if (task->turn && !er_turn_fork(&other->arena, task->turn, task->read->request.names, &other->turn)) return drop(other, error);
    if (task->allowed) {
        if (!(other->allowed = ER_TAKE(&other->arena, bool, n))) return drop(other, error);
        memcpy(other->allowed, task->allowed, n);
    }
    memcpy(other->places, task->places, ER_MOST_CALLS * sizeof *task->places);
    memcpy(other->made, task->made, ER_MOST_CALLS * sizeof *task->made);
    memcpy(other->failures, task->failures, ER_MOST_CALLS * sizeof *task->failures);
    other->history.count = task->history.count;
    other->history.made_count = task->history.made_count;
    other->failed = task->failed;
    other->arena.error = NULL;
    *made = other;
    return ER_OK;
}

/* ---- What happened ---- */

static bool open_failure(const er_task *task, const er_failure *failure)
{
    return failure->after == task->history.count && !failure->retried;
}

const bool *er_blocked(er_task *task)
{
    bool any = false;
    memset(task->blocked, 0, task->read->request.names->n);
    for (uint32_t i = 0; i < task->failed; i++)
        if (open_failure(task, &task->failures[i])) any = task->blocked[task->failures[i].place] = true;
    return any ? task->blocked : NULL;
}

static int64_t find(const er_task *task, er_text tool, er_error *error)
{
    const int64_t found = er_tool_find(task->model, tool);
    if (found < 0) er_refuse(error, ER_BAD_INPUT, "unknown tool \"%s\"; er_tool_name lists those that are there", er_show(tool).at);
    return found;
}

/* Anew: they are few. */
static void count_made(er_task *task)
{
    task->history.made_count = er_different(task->places, task->history.count, task->made);
}

er_status er_call(er_task *task, er_text tool, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!task) return missing(error, "task");
    if (!tool.at || !tool.length) return er_refuse(error, ER_BAD_INPUT, "a call of a tool without a name; where the tool is ER_END, nothing is to be called"), ER_BAD_INPUT;
    if (er_utf8_ends(tool) < tool.length || er_is(tool, "<end>"))
        return er_refuse(error, ER_BAD_INPUT, "\"%s\" is no name of a tool", er_show(tool).at), ER_BAD_INPUT;
    if (task->history.count == ER_MOST_CALLS)
        return er_refuse(error, ER_FULL, "%d calls were made already, more than any plan has; begin a new task", ER_MOST_CALLS), ER_FULL;
    const int64_t number = er_held_find(task->model, tool);
    task->places[task->history.count++] = number < 0 ? -1 : (int32_t)task->read->request.names->places[number];
    count_made(task);
    task->listed = 0;
    return ER_OK;
}

er_status er_fail(er_task *task, er_text tool, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!task) return missing(error, "task");
    const int64_t number = find(task, tool, error);
    if (number < 0) return error->status;
    if (task->failed == ER_MOST_CALLS)
        return er_refuse(error, ER_FULL, "%d tools failed already, more than any plan has calls; begin a new task", ER_MOST_CALLS), ER_FULL;
    task->failures[task->failed++] = (er_failure){task->read->request.names->places[number], task->history.count, false};
    task->listed = 0;
    return ER_OK;
}

er_status er_retry(er_task *task, er_text tool, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!task) return missing(error, "task");
    const int64_t number = find(task, tool, error);
    if (number < 0) return error->status;
    for (uint32_t i = 0; i < task->failed; i++)
        if (task->failures[i].place == task->read->request.names->places[number] && task->failures[i].after == task->history.count)
            task->failures[i].retried = true;
    task->listed = 0;
    return ER_OK;
}

er_status er_undo(er_task *task, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!task) return missing(error, "task");
    if (task->failed && task->failures[task->failed - 1].after == task->history.count) task->failed--;
    else if (!task->history.count) return er_refuse(error, ER_BAD_INPUT, "nothing to undo: no call was made, and no tool failed"), ER_BAD_INPUT;
    else task->history.count--;
    count_made(task);
    task->listed = 0;
    return ER_OK;
}

/* ---- Decisions ---- */

bool er_take_next(const er_next_options *given, er_next_options *own, er_error *error)
{
    if (!er_options(own, sizeof *own, given, offsetof(er_next_options, own), "er_next_options", error)) return false;
    if (own->policy != ER_AUTO && own->policy != ER_HEADS)
        return er_refuse(error, ER_BAD_INPUT, "policy is %d; ER_AUTO and ER_HEADS are there", (int)own->policy);
    return (own->min_probability <= 1.0 && (own->risk == 0.0 || (own->risk >= 0.005 && own->risk <= 0.5))) ||
           er_refuse(error, ER_BAD_INPUT, "min_probability is at most 1, and risk 0.005 to 0.5 or 0");
}

er_status er_next(er_task *task, const er_next_options *given_options, er_decision *decision, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!task) return missing(error, "task");
    if (!decision) return missing(error, "decision");
    er_next_options options;
    er_decision found;
    if (!er_sized(decision, sizeof *decision, "er_decision", error)) return error->status;
    if (!er_take_next(given_options, &options, error)) return error->status;
    er_watch_on(&task->watch);
    if (!er_decide(task, &options, &found, error)) return error->status;
    er_fill(decision, &found, sizeof found);
    er_lap(&task->watch, ER_AT_DECIDE);
    task->listed = task->read->request.n;
    size_t count = options.probability_count;
    if (options.probabilities && er_probabilities(task, options.probabilities, &count, error)) return error->status;
    return options.seconds ? er_times(task, options.seconds, error) : ER_OK;
}

/* ---- Text ---- */

er_status er_encode(const er_model *model, er_text query, float *vector, size_t dimension, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!model) return missing(error, "model");
    if (!vector) return missing(error, "vector");
    const er_stage *stage = model->has_full ? &model->full : &model->small;
    if (dimension != stage->spec.dimension)
        return er_refuse(error, ER_BAD_INPUT, "room for %zu numbers, but the encoder has %u", dimension, stage->spec.dimension), ER_BAD_INPUT;
    er_arena arena = {.error = error};
    er_points points;
    er_encoded encoded;
    if (er_check_query(&arena, query, &points) && er_encode_text(&arena, model, stage, &points, NULL, &encoded))
        memcpy(vector, encoded.vector, dimension * sizeof(float));
    er_give_back(&arena);
    return error->status;
}

er_status er_tokens(const er_model *model, er_text query, uint32_t *ids, uint32_t *begins, uint32_t *ends, size_t *count, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!model) return missing(error, "model");
    if (!count) return missing(error, "count");
    const er_stage *stage = model->has_full ? &model->full : &model->small;
    er_arena arena = {.error = error};
    er_points points, whole;
    er_tokens_found found;
    if (er_check_query(&arena, query, &points)) {
        const er_text prefix = stage->spec.query_prefix;
        char *joined = ER_TAKE(&arena, char, prefix.length + query.length + 1);
        if (joined) {
            if (prefix.length) memcpy(joined, prefix.at, prefix.length);
            memcpy(joined + prefix.length, query.at, query.length);
            if (er_points_of(&arena, (er_text){joined, prefix.length + query.length}, &whole) &&
                er_tokenize(&arena, &model->tokenizer, &whole, &found)) {
                for (uint32_t i = 0; i < found.count && i < *count; i++) {
                    if (ids) ids[i] = found.ids[i];
                    if (begins) begins[i] = found.spans[i].begin;
                    if (ends) ends[i] = found.spans[i].end;
                }
                *count = found.count;
            }
        }
    }
    er_give_back(&arena);
    return error->status;
}
