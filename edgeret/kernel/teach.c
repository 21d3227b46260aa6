/* What learning a plan takes: edgeret_teach does what the reference's Increments.learn does. Whoever calls vouches for all
   lengths. */

#include "arithmetic.h"

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
PUBLIC void edgeret_teach(const Increments *w, const Lessons *l, float *room, uint8_t *active)
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
