/* Section 19.4: one step along the gradient. */

#include "learn.h"

#include "arithmetic.h"
#include "vectors.h"

/* Which labels have a row of the increments: `at` by label + 1, -1 for none. Of their history, the first `counts` rows
   are for how many calls were made, then come two of every row: for a label that was called, and for the last one. */
typedef struct {
    const int64_t *at;
    int64_t length, counts;
} Rows;

static inline int64_t row_of(const Rows *rows, int64_t label)
{
    return label + 1 < rows->length ? rows->at[label + 1] : -1;
}

/* A plan, walked from its first step on: its labels, how many were called so far, and which calls were a label's first. */
typedef struct {
    const int64_t *targets;
    int64_t made, distinct, *first; /* room for as many as there are steps */
} Walk;

static inline void walk_on(Walk *walk)
{
    int64_t i = 0;
    while (i < walk->distinct && walk->targets[walk->first[i]] != walk->targets[walk->made]) i++;
    if (i == walk->distinct) walk->first[walk->distinct++] = walk->made;
    walk->made++;
}

/* Lists the rows of the history that the next step adds, at most made + 2; how many. As Increments.features. */
static inline int64_t list_features(const Walk *walk, const Rows *rows, int64_t *found)
{
    int64_t row, listed = 0;
    found[listed++] = walk->made < rows->counts ? walk->made : rows->counts - 1;
    for (int64_t i = 0; i < walk->distinct; i++)
        if ((row = row_of(rows, walk->targets[walk->first[i]])) >= 0) found[listed++] = rows->counts + 2 * row;
    if (walk->made && (row = row_of(rows, walk->targets[walk->made - 1])) >= 0)
        found[listed++] = rows->counts + 2 * row + 1;
    return listed;
}

/* What the increments hold; rows of `weights` have `dimension` floats, rows of `history` `width`. */
typedef struct {
    int64_t rows, width, dimension;
    float *weights, *bias, *squares, *history;
    int64_t labels, kept;
    Rows rows_of;
    float rate, bias_rate, history_share, least_residual, most_norm, most_score, discount, least_rest, least;
} Increments;

/* Lessons, one behind the other: how many steps each has; what was right; the labels kept of the base (steps, kept), -1
   for none, and their log-probabilities; per lesson its query's vector (dimension), its weight, and its scores (rows).
   `first` and `features` are room, for as many as there are steps, and for k + 3 of every step k of a lesson. */
typedef struct {
    int64_t lessons, steps;
    const int64_t *lengths, *targets;
    const int32_t *kept_labels;
    const float *kept_log_p, *vectors, *weights, *query_scores;
    int64_t *first, *features;
} Lessons;

/* Writes, per step, how many rows of the history it adds, and these. */
static void list_all(const Increments *w, const Lessons *l)
{
    const int64_t *targets = l->targets;
    int64_t *found = l->features;
    for (int64_t lesson = 0; lesson < l->lessons; targets += l->lengths[lesson++]) {
        Walk walk = {targets, 0, 0, l->first};
        for (int64_t k = 0; k < l->lengths[lesson]; k++) {
            *found = list_features(&walk, &w->rows_of, found + 1);
            found += 1 + *found;
            walk_on(&walk);
        }
    }
}

/* Probabilities less 1 for what was right, times the lesson's weight (rows + 1): the last is of labels without a row. */
static void residuals_of(const Increments *w, const Lessons *l, int64_t lesson, int64_t step, const int64_t *features,
                         float *found)
{
    const float *scores = l->query_scores + lesson * w->rows;
    const int32_t *labels = l->kept_labels + step * w->kept;
    const float *log_p = l->kept_log_p + step * w->kept;
    double kept = 0.0, total = 0.0;
    for (int64_t r = 0; r < w->rows; r++) found[r] = 0.0f;
    for (int64_t f = 0; f < features[0]; f++) {
        const float *row = w->history + features[1 + f] * w->width;
        for (int64_t r = 0; r < w->rows; r++) found[r] += row[r];
    }
    for (int64_t j = 0; j < w->kept; j++) kept += exponential(log_p[j]);
    const float left = (float)(1.0 - kept);
    const float rest = (left < w->least_rest ? w->least_rest : left) / (float)w->labels, log_rest = logf(rest);
    for (int64_t r = 0; r < w->rows; r++)
        found[r] = bounded(w->history_share * found[r] + scores[r], w->most_score) + log_rest;
    float without = rest * (float)(w->labels - w->rows);
    for (int64_t j = 0; j < w->kept; j++) {
        const int64_t row = row_of(&w->rows_of, labels[j]);
        if (row < 0) without += exponential(log_p[j]);
        else found[row] += log_p[j] - log_rest;
    }
    found[w->rows] = logf(without < w->least ? w->least : without);
    const float top = largest(found, w->rows + 1);
    for (int64_t r = 0; r <= w->rows; r++) {
        found[r] = exponential(found[r] - top);
        total += found[r];
    }
    const float scale = (float)(l->weights[lesson] / total);
    for (int64_t r = 0; r <= w->rows; r++) found[r] *= scale;
    const int64_t right = row_of(&w->rows_of, l->targets[step]);
    if (right >= 0) found[right] -= l->weights[lesson];
}

/* Moves a row's weights and bias along the queries of the lessons, by what its steps (steps, stride) add up to. */
static void move_row(const Increments *w, const Lessons *l, int64_t row, const float *off, int64_t stride)
{
    float *weights = w->weights + row * w->dimension;
    float all = 0.0f, norm = 0.0f, norms[8] = {0.0f};
    for (int64_t lesson = 0, step = 0; lesson < l->lessons; lesson++) {
        const float *vector = l->vectors + lesson * w->dimension;
        float by = 0.0f;
        for (int64_t k = 0; k < l->lengths[lesson]; k++, step++) by += off[step * stride];
        all += by;
        for (int64_t d = 0; d < w->dimension; d++) weights[d] -= by * vector[d];
    }
    int64_t d = 0;
    for (; d + 8 <= w->dimension; d += 8) /* eight sums at once: one would wait for itself */
        for (int64_t i = 0; i < 8; i++) norms[i] += weights[d + i] * weights[d + i];
    for (; d < w->dimension; d++) norm += weights[d] * weights[d];
    for (int64_t i = 0; i < 8; i++) norm += norms[i];
    if (norm > w->most_norm * w->most_norm) {
        const float scale = w->most_norm / sqrtf(norm);
        for (d = 0; d < w->dimension; d++) weights[d] *= scale;
    }
    w->bias[row] = bounded(w->bias[row] - w->bias_rate * all, w->most_norm);
}

/* Learns the lessons; `room` (steps, rows + 1) and `active` (rows) are written anew. */
static void teach(const Increments *w, const Lessons *l, float *room, uint8_t *active)
{
    const int64_t stride = w->rows + 1;
    const int64_t *features = l->features;
    list_all(w, l);
    for (int64_t lesson = 0, step = 0; lesson < l->lessons; lesson++)
        for (int64_t k = 0; k < l->lengths[lesson]; k++, step++) {
            residuals_of(w, l, lesson, step, features, room + step * stride);
            features += 1 + features[0];
        }
    for (int64_t r = 0; r < w->rows; r++) {
        float most = 0.0f, squares = 0.0f;
        for (int64_t s = 0; s < l->steps; s++) {
            const float off = room[s * stride + r];
            most = fabsf(off) > most ? fabsf(off) : most;
            squares += off * off;
        }
        active[r] = most > w->least_residual;
        if (!active[r]) continue;
        w->squares[r] += squares;
        const float rate = w->rate / sqrtf(w->squares[r]);
        for (int64_t s = 0; s < l->steps; s++) room[s * stride + r] *= rate;
        move_row(w, l, r, room + r, stride);
    }
    features = l->features;
    for (int64_t s = 0; s < l->steps; s++, features += 1 + features[0])
        for (int64_t f = 0; f < features[0]; f++) {
            float *row = w->history + features[1 + f] * w->width;
            for (int64_t r = 0; r < w->rows; r++)
                if (active[r]) row[r] -= w->history_share * room[s * stride + r];
        }
    features = l->features;
    for (int64_t s = 0; s < l->steps; s++, features += 1 + features[0])
        for (int64_t f = 0; f < features[0]; f++) {
            float *row = w->history + features[1 + f] * w->width;
            for (int64_t r = 0; r < w->rows; r++) row[r] = bounded(row[r], w->most_norm);
        }
    for (int64_t r = 0; r < w->rows; r++) {
        w->squares[r] *= w->discount;
        w->squares[r] = w->squares[r] < 1.0f ? 1.0f : w->squares[r];
    }
}

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
    teach(&increments, &lessons, room, active);
    return true;
}
