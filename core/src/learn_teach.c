/* Section 19.4: one step along the gradient, as the kernel of Python's package takes it: one copy for both. */

#include "kernel_here.h"

#include "../../edgeret/kernel/teach.c"

#include "learn.h"
#include "vectors.h"

static const float STEP = 3.0f, BIAS_STEP = 0.3f, OF_HISTORY = 0.5f, LEAST_OFF = 1e-3f, LONGEST_ROW = 20.0f, MOST_SCORE = 20.0f;
static const float FADING = 0.9995f, LEAST_REST = 1e-4f, LEAST_SHARE = 1e-30f;

bool er_teach(er_knowledge *s, er_arena *arena, const er_plan *const *plans, const float *weights, uint32_t count)
{
    const uint32_t d = s->dimension, rows = s->rows;
    size_t steps = 0, features = 0, longest = 0;
    for (uint32_t i = 0; i < count; i++) {
        const size_t own = (size_t)plans[i]->length + 1;
        steps += own;
        features += own * (own + 5) / 2;
        longest = own > longest ? own : longest;
    }
    int64_t *lengths = ER_TAKE(arena, int64_t, count), *targets = ER_TAKE(arena, int64_t, steps), *first = ER_TAKE(arena, int64_t, longest);
    int64_t *listed = ER_TAKE(arena, int64_t, features);
    int32_t *kept = ER_TAKE(arena, int32_t, steps * ER_KEPT);
    float *log_p = ER_TAKE(arena, float, steps * ER_KEPT), *vectors = ER_TAKE(arena, float, (size_t)count * d);
    float *scores = ER_TAKE(arena, float, (size_t)count * rows + 1), *room = ER_TAKE(arena, float, steps * (rows + 1));
    uint8_t *active = ER_TAKE(arena, uint8_t, rows + 1);
    if (!lengths || !targets || !first || !listed || !kept || !log_p || !vectors || !scores || !room || !active) return false;
    for (size_t i = 0, at = 0; i < count; i++) {
        const er_plan *plan = plans[i];
        const size_t own = (size_t)plan->length + 1;
        lengths[i] = (int64_t)own;
        for (size_t k = 0; k < own; k++) targets[at + k] = k < plan->length ? plan->calls[k] : ER_LAST;
        memcpy(kept + at * ER_KEPT, plan->kept, own * ER_KEPT * sizeof *kept);
        memcpy(log_p + at * ER_KEPT, plan->log_p, own * ER_KEPT * sizeof *log_p);
        memcpy(vectors + i * d, plan->vector, d * sizeof *vectors);
        er_products(s->weights, rows, d, plan->vector, scores + i * rows);
        for (uint32_t r = 0; r < rows; r++) scores[i * rows + r] += s->bias[r];
        at += own;
    }
    const Increments increments = {
        .rows = rows, .width = s->row_room, .dimension = d, .weights = s->weights, .bias = s->bias, .squares = s->squares,
        .history = s->history, .labels = s->name_count, .kept = ER_KEPT, .rows_of = {s->row_at, (int64_t)s->name_count + 1, ER_COUNTS},
        .rate = STEP, .bias_rate = BIAS_STEP, .history_share = OF_HISTORY, .least_residual = LEAST_OFF, .most_norm = LONGEST_ROW,
        .most_score = MOST_SCORE, .discount = FADING, .least_rest = LEAST_REST, .least = LEAST_SHARE,
    };
    const Lessons lessons = {
        .lessons = count, .steps = (int64_t)steps, .lengths = lengths, .targets = targets, .kept_labels = kept, .kept_log_p = log_p,
        .vectors = vectors, .weights = weights, .query_scores = scores, .first = first, .features = listed,
    };
    edgeret_teach(&increments, &lessons, room, active);
    return true;
}
