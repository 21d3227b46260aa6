/* Sections 19.3 to 19.5: votes, what increments add, the mixture of both with the bundle's own word, newcomers; and how a
   plan judges all of it. */

#include "arithmetic.h" /* for its exponential, which is soonest for many numbers */

#include "learn.h"
#include "vectors.h"

static const float LEAST_LOG = -30.0f, MOST_SCORE = 20.0f, SHARE = 0.5f, ALIKE = 1.5f, LEAST = 1e-30f;
static const double LEAST_REST = 1e-4, MOST_SHARE = 0.999, FAR = 0.5, NEAR = 0.7, PRIOR = 0.003, PRIOR_OVER_A_HEAD = 0.03;
static const double RATE = 0.1, MOST_WEIGHT = 4.0, MOST_GRADIENT = 10.0, MOST_SQUARES = 1e9;
static const double DISCOUNT = 0.9, MOST_GAIN = 3.0, LEAST_PLANS = 5.0;

/* Calls as labels; which of them are each other's first. */
typedef struct {
    const int32_t *labels;
    uint32_t made, distinct;
    int32_t different[ER_MOST_CALLS];
} asked;

static void ask(const int32_t *labels, uint32_t made, asked *a)
{
    a->labels = labels;
    a->made = made;
    a->distinct = 0;
    for (uint32_t i = 0; i < made; i++) {
        uint32_t k = 0;
        while (k < a->distinct && a->different[k] != labels[i]) k++;
        if (k == a->distinct) a->different[a->distinct++] = labels[i];
    }
}

static bool among(const int32_t *labels, uint32_t count, int32_t label)
{
    for (uint32_t i = 0; i < count; i++)
        if (labels[i] == label) return true;
    return false;
}

static uint32_t place_of(const er_mixing *m, int32_t label)
{
    const int32_t place = m->places ? m->places[label] : label;
    return place < 0 ? m->n : (uint32_t)place;
}

bool er_mixing_take(er_arena *arena, uint32_t n, er_mixing *m)
{
    m->n = n;
    m->newcomers = ER_TAKE(arena, uint32_t, n);
    m->logs = ER_TAKE(arena, float, (size_t)n + 1);
    m->added = ER_TAKE(arena, float, (size_t)n + 1);
    m->votes = ER_TAKE(arena, float, (size_t)n + 1);
    return m->newcomers && m->logs && m->added && m->votes;
}

static void list_newcomer(const er_knowledge *s, er_mixing *m, int32_t label)
{
    const uint32_t place = place_of(m, label);
    if (!er_is_newcomer(s, label) || place == m->n) return;
    for (uint32_t i = 0; i < m->newcomer_count; i++)
        if (m->newcomers[i] == place) return;
    m->newcomers[m->newcomer_count++] = place;
}

void er_mixing_of(const er_knowledge *s, const float *vector, const int32_t *places, er_mixing *m)
{
    m->places = places;
    er_near_of(s, vector, &m->near);
    m->rows = s->rows;
    er_products(s->weights, s->rows, s->dimension, vector, m->scores);
    for (uint32_t r = 0; r < s->rows; r++) m->scores[r] += s->bias[r];
    const double nearest = m->near.count ? m->near.cosines[0] : 0.0, trust = (nearest - FAR) / (NEAR - FAR);
    m->trust = !s->shown->sure || trust > 1.0 ? 1.0 : trust < 0.0 ? 0.0 : trust;
    m->newcomer_count = 0;
    if (!s->shown->sure) return;
    for (uint32_t r = 0; r < s->rows; r++) list_newcomer(s, m, s->row_labels[r]);
    for (uint32_t i = 0; i < m->near.count; i++) {
        const er_plan *plan = s->plans[m->near.rows[i]];
        for (uint32_t k = 0; k < plan->length; k++) list_newcomer(s, m, plan->calls[k]);
    }
}

/* ---- Increments and votes ---- */

static void add_increments(const er_knowledge *s, const er_mixing *m, const asked *a, float *added)
{
    float total[ER_ROWS];
    const uint32_t count = a->made < ER_COUNTS ? a->made : ER_COUNTS - 1;
    memset(added, 0, ((size_t)m->n + 1) * sizeof *added);
    if (!m->rows) return;
    memcpy(total, s->history + (size_t)count * s->row_room, m->rows * sizeof *total);
    for (uint32_t i = 0; i < a->distinct; i++) {
        const int64_t row = a->different[i] < 0 ? -1 : s->row_at[a->different[i] + 1];
        if (row < 0) continue;
        const float *called = s->history + (size_t)(ER_COUNTS + 2 * row) * s->row_room;
        er_add(total, 1.0f, called, m->rows);
        if (a->labels[a->made - 1] == a->different[i]) er_add(total, 1.0f, called + s->row_room, m->rows);
    }
    for (uint32_t r = 0; r < m->rows; r++) {
        const float score = SHARE * total[r] + m->scores[r];
        added[place_of(m, s->row_labels[r])] += score > MOST_SCORE ? MOST_SCORE : score < -MOST_SCORE ? -MOST_SCORE : score;
    }
}

static void add_votes(const er_knowledge *s, const er_mixing *m, const asked *a, float *votes)
{
    memset(votes, 0, ((size_t)m->n + 1) * sizeof *votes);
    const int32_t last = a->made ? a->labels[a->made - 1] : ER_NOBODY;
    for (uint32_t i = 0; i < m->near.count; i++) {
        const er_plan *plan = s->plans[m->near.rows[i]];
        uint32_t own = 0, both = 0;
        for (uint32_t k = 0; k <= plan->length; k++) {
            const float same = (k ? plan->calls[k - 1] : ER_NOBODY) == last ? 1.0f : 0.0f;
            const float alike = a->made ? (float)both / (float)(own + a->distinct - both) : same;
            const float apart = fabsf((float)k - (float)a->made);
            votes[place_of(m, k < plan->length ? plan->calls[k] : ER_LAST)] += exponential(m->near.exponents[i] + ALIKE * (alike + same) - apart);
            if (k == plan->length || among(plan->calls, k, plan->calls[k])) continue;
            own++;
            both += among(a->different, a->distinct, plan->calls[k]);
        }
    }
}

/* ---- The mixture ---- */

static void trusted(const er_knowledge *s, double trust, float weights[3])
{
    const float sum = s->shown->over ? 1.0f : 0.0f; /* what is not anchored is trusted anyway */
    for (int i = 0; i < 3; i++) weights[i] = s->mixture[i] * (float)trust;
    weights[2] += (float)((1.0 - trust) * sum);
}

/* The mixture's log-probabilities (n) up to a constant; in the mixing the bundle's, what the increments add, and the votes;
   in `said` (n), if it is wanted, what the memory says. What a vote weighs against the bundle. */
static double mix(const er_knowledge *s, er_mixing *m, const asked *a, const float *base, float *said, float *out)
{
    float weights[3];
    double total = 0;
    trusted(s, m->trust, weights);
    add_increments(s, m, a, m->added);
    add_votes(s, m, a, m->votes);
    const float top = er_largest(base, m->n);
    for (uint32_t i = 0; i < m->n; i++) {
        const float log_p = base[i] - top;
        m->logs[i] = log_p < LEAST_LOG ? LEAST_LOG : log_p; /* NaN stays, and is refused later */
        total += exponential(m->logs[i]);
    }
    const double scale = (s->shown->over ? PRIOR_OVER_A_HEAD : PRIOR) / total;
    const float log_scale = (float)log(scale);
    for (uint32_t i = 0; i < m->n; i++) {
        const float remembered = m->votes[i] == 0.0f ? m->logs[i] + log_scale : logf((float)(exponential(m->logs[i]) * scale) + m->votes[i]);
        out[i] = weights[0] * (m->logs[i] + m->added[i]) + weights[1] * remembered + weights[2] * m->logs[i];
        if (said) said[i] = remembered;
    }
    return scale;
}

/* Newcomers have what increments and memory give them, each to one half, as far as these are trusted, and never less than
   the bundle does, in place of the mixture's. */
static void put_newcomers(const er_mixing *m, double scale, float *out)
{
    double increased = 0, remembered = 0, base = 0, all = 0, rest = 0;
    const float top = er_largest(out, m->n);
    float *given = m->votes; /* votes of newcomers are read once each, before they are written */
    for (uint32_t i = 0; i < m->n; i++) {
        const float p = exponential(m->logs[i]);
        base += p;
        increased += exponential(m->logs[i] + m->added[i]);
        remembered += p * scale + m->votes[i];
    }
    for (uint32_t k = 0; k < m->newcomer_count; k++) {
        const uint32_t i = m->newcomers[k];
        const double p = exponential(m->logs[i]), least = p / base;
        const double taught = 0.5 * (exponential(m->logs[i] + m->added[i]) / increased + (p * scale + m->votes[i]) / remembered);
        given[i] = (float)(m->trust * taught > least ? m->trust * taught : least);
        all += given[i];
        out[i] = -INFINITY;
    }
    for (uint32_t i = 0; i < m->n; i++) rest += exponential(out[i] - top);
    const double left = 1.0 - (all < MOST_SHARE ? all : MOST_SHARE);
    const float shift = (float)(log(left / (rest > LEAST ? rest : LEAST)) - top);
    for (uint32_t i = 0; i < m->n; i++) out[i] += shift;
    for (uint32_t k = 0; k < m->newcomer_count; k++) out[m->newcomers[k]] = logf(given[m->newcomers[k]] + LEAST);
}

void er_mix_step(const er_knowledge *s, er_mixing *m, const int32_t *history, uint32_t made, float *logs)
{
    asked a;
    ask(history, made, &a);
    const double scale = mix(s, m, &a, logs, NULL, logs);
    if (m->newcomer_count) put_newcomers(m, scale, logs);
}

/* By itself: increments and votes, without what the bundle says beside them. */
void er_mix_apart(const er_knowledge *s, er_mixing *m, const int32_t *history, uint32_t made, const float *logs, double weights[3], float *said, float *found)
{
    asked a;
    float three[3];
    ask(history, made, &a);
    mix(s, m, &a, logs, said, found);
    trusted(s, m->trust, three);
    for (int i = 0; i < 3; i++) weights[i] = three[i];
    er_log_softmax(said, m->n);
    const double whole = weights[0] + weights[1] > 1e-6 ? weights[0] + weights[1] : 1e-6;
    for (uint32_t i = 0; i < m->n; i++) found[i] = (float)((weights[1] * said[i] + weights[0] * m->added[i]) / whole);
    er_log_softmax(found, m->n);
}

/* ---- A plan judges (19.5) ---- */

/* By what each says more of what was right than the mixture expects of it. */
static void move_mixture(er_knowledge *s, const double surprise[3], double trust, double weights[3], double squares[3])
{
    const bool anchored = s->shown->over;
    const double last = anchored ? surprise[2] : 0.0, sum = 1.0;
    for (int i = 0; i < 3; i++) {
        double gradient = trust * (surprise[i] - last);
        gradient = gradient > MOST_GRADIENT ? MOST_GRADIENT : gradient < -MOST_GRADIENT ? -MOST_GRADIENT : gradient;
        const double square = squares[i] + gradient * gradient;
        squares[i] = square < MOST_SQUARES ? square : MOST_SQUARES;
        const double weight = weights[i] + RATE * gradient / sqrt(squares[i]);
        weights[i] = weight > MOST_WEIGHT ? MOST_WEIGHT : weight > 0.0 ? weight : 0.0;
    }
    if (!anchored) return;
    const double others = weights[0] + weights[1], whole = others > sum ? others : sum;
    for (int i = 0; i < 2; i++) weights[i] *= sum / whole;
    weights[2] = sum > others ? sum - others : 0.0;
}

static void guard(er_knowledge *s, double gain)
{
    gain = gain > MOST_GAIN ? MOST_GAIN : gain < -MOST_GAIN ? -MOST_GAIN : gain;
    s->judged = DISCOUNT * s->judged + 1.0;
    s->gained = DISCOUNT * s->gained + gain;
    s->gained_squares = DISCOUNT * s->gained_squares + gain * gain;
    const double mean = s->gained / s->judged, spread = s->gained_squares / s->judged - mean * mean;
    if (s->muted) s->muted = mean <= 0.0;
    else if (s->judged >= LEAST_PLANS) s->muted = mean < -sqrt((spread > 0 ? spread : 0) / s->judged);
}

/* The bundle's word of a step over all labels, from what was kept of it. */
static void widen(const er_plan *plan, uint32_t step, uint32_t n, float *base)
{
    const int32_t *labels = plan->kept + (size_t)step * ER_KEPT;
    const float *log_p = plan->log_p + (size_t)step * ER_KEPT;
    double left = 1.0;
    for (int j = 0; j < ER_KEPT; j++) left -= exponential(log_p[j]);
    const float rest = logf((float)((left < LEAST_REST ? LEAST_REST : left) / n));
    for (uint32_t i = 0; i < n; i++) base[i] = rest;
    for (int j = 0; j < ER_KEPT; j++)
        if (labels[j] >= 0) base[labels[j]] = log_p[j];
}

bool er_judge(er_knowledge *s, er_arena *arena, const er_plan *plan, er_mixing *m)
{
    const uint32_t n = m->n;
    float *base = ER_TAKE(arena, float, n), *said = ER_TAKE(arena, float, n), *out = ER_TAKE(arena, float, n);
    if (!base || !said || !out) return false;
    double gain = 0, weights[3], squares[3];
    for (int i = 0; i < 3; i++) weights[i] = s->mixture[i], squares[i] = s->mixture_squares[i];
    for (uint32_t k = 0; k <= plan->length; k++) {
        const int32_t target = k < plan->length ? plan->calls[k] : ER_LAST;
        asked a;
        ask(plan->calls, k, &a);
        widen(plan, k, n, base);
        const double scale = mix(s, m, &a, base, said, out);
        float top = er_largest(out, n);
        double total = 0, expected[3] = {0, 0, 0};
        for (uint32_t i = 0; i < n; i++) {
            const float p = exponential(out[i] - top);
            total += p;
            expected[0] += p * (m->logs[i] + m->added[i]);
            expected[1] += p * said[i];
            expected[2] += p * m->logs[i];
        }
        const double surprise[3] = {m->logs[target] + m->added[target] - expected[0] / total, said[target] - expected[1] / total,
                                    m->logs[target] - expected[2] / total};
        /* A newcomer says nothing about the mixture, in which it has no part. All steps are mixed by the weights before. */
        if (!er_is_newcomer(s, target)) move_mixture(s, surprise, m->trust, weights, squares);
        if (m->newcomer_count) {
            put_newcomers(m, scale, out);
            top = er_largest(out, n);
            total = 0;
            for (uint32_t i = 0; i < n; i++) total += exponential(out[i] - top);
        }
        gain += out[target] - top - log(total) - base[target];
    }
    for (int i = 0; i < 3; i++) s->mixture[i] = (float)weights[i], s->mixture_squares[i] = (float)squares[i];
    guard(s, gain);
    return true;
}
