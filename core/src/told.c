/* What a task tells of the step that it decided last: all of it is there already, and nothing is decided here. */

#include "task.h"

static er_status missing(er_error *error, const char *what)
{
    er_refuse(error, ER_BAD_INPUT, "%s is NULL", what);
    return ER_BAD_INPUT;
}

static er_status undecided(er_error *error)
{
    er_refuse(error, ER_BAD_INPUT, "nothing was decided since the last call; ask er_next first");
    return ER_BAD_INPUT;
}

/* The k best, by a heap of the best so far: equal ones keep their order. */
static bool ahead(const float *values, uint32_t a, uint32_t b) { return values[a] > values[b] || (values[a] == values[b] && a < b); }

static void sink(uint32_t *heap, uint32_t count, uint32_t at, const float *values)
{
    for (;;) {
        uint32_t worst = at;
        for (uint32_t child = 2 * at + 1; child <= 2 * at + 2 && child < count; child++)
            if (ahead(values, heap[worst], heap[child])) worst = child;
        if (worst == at) return;
        const uint32_t other = heap[at];
        heap[at] = heap[worst];
        heap[worst] = other;
        at = worst;
    }
}

er_status er_candidates(er_task *task, er_candidate *room, size_t *count, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!task) return missing(error, "task");
    if (!count) return missing(error, "count");
    if (*count && !room) return missing(error, "room");
    if (!task->listed) return undecided(error);
    const er_request *r = &task->read->request;
    const float *values = task->work.probabilities;
    const bool *blocked = er_blocked(task);
    uint32_t *heap = task->order, kept = 0, there = 0;
    const uint32_t most = *count < r->n ? (uint32_t)*count : r->n;
    for (uint32_t p = 0; p < r->n; p++) {
        if ((r->allowed && !r->allowed[p]) || (blocked && blocked[p]) || er_is_left_out(r, p)) continue;
        there++;
        if (kept < most) {
            heap[kept++] = p;
            for (uint32_t i = kept == most ? most / 2 : 0; i-- > 0;) sink(heap, kept, i, values);
        } else if (most && ahead(values, p, heap[0])) {
            heap[0] = p;
            sink(heap, kept, 0, values);
        }
    }
    for (uint32_t i = kept / 2; kept < most && i-- > 0;) sink(heap, kept, i, values);
    for (uint32_t left = kept; left > 0; left--) {
        const uint32_t worst = heap[0];
        const int32_t tool = r->names->tools[worst];
        room[left - 1] = (er_candidate){tool, tool < 0 ? ER_TEXT("<end>") : task->model->tools[tool].name, values[worst]};
        heap[0] = heap[left - 1];
        sink(heap, left - 1, 0, values);
    }
    *count = there;
    return ER_OK;
}

er_status er_conformal(er_task *task, double coverage, er_candidate *room, size_t *count, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    const size_t most = count ? *count : 0;
    const er_status status = er_candidates(task, room, count, error);
    if (status) return status;
    if (!(coverage > 0.0 && coverage < 1.0)) return er_refuse(error, ER_BAD_INPUT, "coverage is %g; it lies between 0 and 1", coverage), ER_BAD_INPUT;
    const er_request *r = &task->read->request;
    const er_calibration *c = &r->stage->calibration;
    const float least = c->right[(uint32_t)((1.0 - coverage) * (c->right_count - 1))], *values = task->work.probabilities;
    const bool *blocked = er_blocked(task);
    size_t there = 0;
    for (uint32_t p = 0; p < r->n; p++)
        there += values[p] >= least && !(r->allowed && !r->allowed[p]) && !(blocked && blocked[p]) && !er_is_left_out(r, p);
    if (there || *count > 1) *count = there ? there : 1;
    for (size_t i = *count; i < most; i++) room[i] = (er_candidate){.tool_number = ER_END, .tool = ER_TEXT("")};
    return ER_OK;
}

er_status er_answer_with(er_task *task, int32_t tool, const er_next_options *given_options, er_answer *found, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    er_next_options options;
    if (!task) return missing(error, "task");
    if (!found) return missing(error, "the place for the answer");
    if (!er_sized(found, sizeof *found, "er_answer", error)) return error->status;
    if (!task->listed) return undecided(error);
    if (tool < ER_END || tool >= (int64_t)task->model->tool_count)
        return er_refuse(error, ER_BAD_INPUT, "no tool has the number %d; there are %u", (int)tool, task->model->tool_count), ER_BAD_INPUT;
    if (!er_take_next(given_options, &options, error)) return error->status;
    const er_request *r = &task->read->request;
    found->floor = er_floor_of(task, tool, &options);
    found->confirm = tool >= 0 && task->model->tools[tool].confirm;
    found->named = tool >= 0 && !task->history.count && r->said_any && r->said[r->names->places[tool]];
    return ER_OK;
}

er_status er_probabilities(er_task *task, float *room, size_t *count, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!task) return missing(error, "task");
    if (!count) return missing(error, "count");
    if (*count && !room) return missing(error, "room");
    if (!task->listed) return undecided(error);
    const er_names *names = task->read->request.names;
    const uint32_t tools = task->model->tool_count;
    for (uint32_t tool = 0; tool < tools && tool < *count; tool++) room[tool] = task->work.probabilities[names->places[tool]];
    if (*count > tools) room[tools] = task->work.probabilities[names->end];
    *count = (size_t)tools + 1;
    return ER_OK;
}

er_status er_left_aside(const er_task *task, er_text *room, size_t *count, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!task) return missing(error, "task");
    if (!count) return missing(error, "count");
    if (*count && !room) return missing(error, "room");
    const er_request *r = &task->read->request;
    uint32_t which[ER_MOST_WISHES];
    const uint32_t open = er_open_wishes(r, &task->history, which);
    for (uint32_t i = 0; i < open && i < *count; i++) {
        const er_span span = r->sayings->wishes[which[i]];
        room[i] = er_cut(task->query.text, task->query.starts[span.begin], task->query.starts[span.end]);
    }
    *count = open;
    return ER_OK;
}

er_status er_times(er_task *task, er_seconds *found, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!task) return missing(error, "task");
    if (!found) return missing(error, "the place for seconds");
    if (!er_sized(found, sizeof *found, "er_seconds", error)) return error->status;
    double *const places[ER_LAPS] = {&found->tokenize, &found->encode, &found->search, &found->graph, &found->head, &found->fuse, &found->learned, &found->decide};
    for (int i = 0; i < ER_LAPS; i++) {
        *places[i] = task->watch.spent[i];
        task->watch.spent[i] = 0.0;
    }
    return ER_OK;
}

/* In the task's arena, since who reads now may be replaced; but of the bundle's own what it read stays. */
static bool tell_encoding(er_task *task)
{
    const er_model *model = task->model;
    const er_stage *stage = model->has_full ? &model->full : &model->small;
    er_arena *arena = &task->arena;
    er_encoded made;
    if (task->first && !er_encode_text(arena, model, stage, &task->query, NULL, &made)) return false;
    const er_encoded *e = task->first ? &made : &task->read->encoded;
    er_encoding *own = ER_TAKE(arena, er_encoding, 1);
    uint32_t *begins = ER_TAKE(arena, uint32_t, (size_t)e->count + 1), *ends = ER_TAKE(arena, uint32_t, (size_t)e->count + 1);
    if (!own || !begins || !ends) return false;
    for (uint32_t i = 0; i < e->count; i++) {
        begins[i] = e->spans[i].begin;
        ends[i] = e->spans[i].end;
    }
    *own = (er_encoding){sizeof *own, e->vector, e->tokens, begins, ends, e->count, stage->spec.dimension};
    task->own = own;
    return true;
}

er_status er_task_encoding(er_task *task, er_encoding *found, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!task) return missing(error, "task");
    if (!found) return missing(error, "the place for the encoding");
    if (!er_sized(found, sizeof *found, "er_encoding", error)) return error->status;
    task->arena.error = error;
    const bool fine = task->own || tell_encoding(task);
    task->arena.error = NULL;
    if (!fine) return er_status_of(error);
    er_fill(found, task->own, sizeof *found);
    return ER_OK;
}
