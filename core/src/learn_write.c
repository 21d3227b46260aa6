/* What was learned becomes records: the same bytes as Python's for the same content. */

#include "learn_records.h"

static const char *const sources[] = {"accepted", "corrected", "demonstration"};

static void put_told(er_bytes *b, const er_knowledge *s, const er_plan *plan)
{
    ER_PUT(b, "id"), er_put_whole(b, plan->id);
    ER_PUT(b, "query");
    if (plan->query.at) er_put_text(b, plan->query);
    else er_put_nothing(b);
    ER_PUT(b, "calls"), er_put_list(b, plan->length);
    for (uint32_t k = 0; k < plan->length; k++) er_put_text(b, s->names[plan->calls[k]]);
    ER_PUT(b, "origin"), er_put_text(b, (er_text){sources[plan->source], strlen(sources[plan->source])});
    ER_PUT(b, "learned_at"), er_put_number(b, plan->learned_at);
}

void er_put_told(er_bytes *b, const er_knowledge *s, const er_plan *plan)
{
    er_put_map(b, 5);
    put_told(b, s, plan);
}

static void put_halves(er_bytes *b, uint32_t rows, uint32_t columns, const float *numbers)
{
    const size_t count = (size_t)rows * (columns ? columns : 1);
    uint16_t *halves = ER_ALLOCATE(count * sizeof *halves);
    for (size_t i = 0; halves && i < count; i++) halves[i] = er_half(numbers[i]);
    if (halves) er_put_array(b, "<f2", rows, columns, halves);
    else b->failed = true;
    free(halves);
}

void er_put_plan(er_bytes *b, const er_knowledge *s, const er_plan *plan, uint32_t named)
{
    er_put_map(b, 9);
    put_told(b, s, plan);
    const uint32_t steps = plan->length + 1;
    ER_PUT(b, "vector"), put_halves(b, s->dimension, 0, plan->vector);
    ER_PUT(b, "new_names"), er_put_list(b, s->name_count - named);
    for (uint32_t i = named; i < s->name_count; i++) er_put_text(b, s->names[i]);
    ER_PUT(b, "offset_labels"), er_put_array(b, "<i4", steps, ER_KEPT, plan->kept);
    ER_PUT(b, "offset_log_p"), put_halves(b, steps, ER_KEPT, plan->log_p);
}

/* Columns of a state, gathered. */
typedef struct {
    int32_t *lengths, *calls, *shown, *redundant, *labels;
    int64_t *ids, *times, *rows;
    uint16_t *vectors, *log_p;
    float *weights, *history;
} columns;

static bool gather(er_arena *arena, const er_knowledge *s, const int32_t *numbers, columns *c)
{
    const size_t p = s->plan_count, d = s->dimension, r = s->rows, kept = (size_t)s->steps * ER_KEPT;
    c->lengths = ER_TAKE(arena, int32_t, p), c->calls = ER_TAKE(arena, int32_t, s->steps), c->shown = ER_TAKE(arena, int32_t, p);
    c->redundant = ER_TAKE(arena, int32_t, p), c->labels = ER_TAKE(arena, int32_t, kept), c->ids = ER_TAKE(arena, int64_t, p);
    c->times = ER_TAKE(arena, int64_t, p), c->rows = ER_TAKE(arena, int64_t, r), c->vectors = ER_TAKE(arena, uint16_t, p * d);
    c->log_p = ER_TAKE(arena, uint16_t, kept), c->weights = ER_TAKE(arena, float, p), c->history = ER_TAKE(arena, float, (ER_COUNTS + 2 * r) * r);
    if (!c->lengths || !c->calls || !c->shown || !c->redundant || !c->labels || !c->ids || !c->times || !c->rows || !c->vectors || !c->log_p ||
        !c->weights || !c->history)
        return false;
    for (size_t i = 0, call = 0, step = 0; i < p; i++) {
        const er_plan *plan = s->plans[i];
        const size_t own = ((size_t)plan->length + 1) * ER_KEPT;
        c->lengths[i] = (int32_t)plan->length;
        c->shown[i] = plan->shown, c->redundant[i] = plan->redundant, c->ids[i] = plan->id, c->times[i] = plan->time, c->weights[i] = plan->weight;
        for (uint32_t k = 0; k < plan->length; k++) c->calls[call++] = numbers[plan->calls[k]];
        for (size_t k = 0; k < d; k++) c->vectors[i * d + k] = er_half(plan->vector[k]);
        for (size_t k = 0; k < own; k++, step++) {
            c->labels[step] = plan->kept[k] < 0 ? ER_NOBODY : numbers[plan->kept[k]];
            c->log_p[step] = er_half(plan->log_p[k]);
        }
    }
    for (size_t i = 0; i < r; i++) c->rows[i] = numbers[s->row_labels[i]];
    for (size_t i = 0; r && i < ER_COUNTS + 2 * r; i++) memcpy(c->history + i * r, s->history + i * s->row_room, r * sizeof(float));
    return true;
}

bool er_put_state(er_bytes *b, er_arena *arena, const er_knowledge *s, const int32_t *numbers, uint32_t names)
{
    const uint32_t p = s->plan_count, d = s->dimension, r = s->rows;
    const double guard[] = {s->judged, s->gained, s->gained_squares, s->muted};
    columns c;
    if (!gather(arena, s, numbers, &c)) return false;
    er_put_map(b, 23);
    ER_PUT(b, "dimension"), er_put_whole(b, d);
    ER_PUT(b, "names"), er_put_list(b, names);
    for (uint32_t i = 0; i < s->name_count; i++)
        if (numbers[i] >= 0) er_put_text(b, s->names[i]);
    ER_PUT(b, "learned"), er_put_whole(b, s->learned);
    ER_PUT(b, "clock"), er_put_whole(b, s->clock);
    ER_PUT(b, "next_id"), er_put_whole(b, s->next_id);
    const struct {
        const char *key, *type;
        uint32_t rows, columns;
        const void *data;
    } arrays[] = {
        {"vectors", "<f2", p, d, c.vectors}, {"lengths", "<i4", p, 0, c.lengths}, {"calls", "<i4", s->steps - p, 0, c.calls},
        {"ids", "<i8", p, 0, c.ids}, {"times", "<i8", p, 0, c.times}, {"weights", "<f4", p, 0, c.weights}, {"shown", "<i4", p, 0, c.shown},
        {"redundant", "<i4", p, 0, c.redundant}, {"offset_labels", "<i4", s->steps, ER_KEPT, c.labels},
        {"offset_log_p", "<f2", s->steps, ER_KEPT, c.log_p}, {"row_labels", "<i8", r, 0, c.rows}, {"row_weights", "<f4", r, d, s->weights},
        {"row_bias", "<f4", r, 0, s->bias}, {"row_squares", "<f4", r, 0, s->squares}, {"row_history", "<f4", ER_COUNTS + 2 * r, r, c.history},
        {"mixture_weights", "<f4", 3, 0, s->mixture}, {"mixture_squares", "<f4", 3, 0, s->mixture_squares},
    };
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        er_put_text(b, (er_text){arrays[i].key, strlen(arrays[i].key)});
        er_put_array(b, arrays[i].type, arrays[i].rows, arrays[i].columns, arrays[i].data);
    }
    ER_PUT(b, "guard"), er_put_list(b, 4);
    for (int i = 0; i < 4; i++) er_put_number(b, guard[i]);
    return true;
}
