/* The arithmetic of a step, since numpy spends most of one on being called: edgeret_walk does what Graph.distribution
   (graph.py) does, edgeret_add_rows what FactoredHead.logits (head.py) does, and edgeret_step what Query.experts and Query.with_newcomers (experts.py), Memory.weigh (memory.py)
   and Increments.scores (increments.py) do. Tests hold them to the same numbers. Knows nothing of Python; whoever calls
   vouches for all lengths. */

#include "arithmetic.h"

/* What this was made of: in a checkout, whose sources change, a library made of others must not be used. */
#ifndef EDGERET_SOURCES
#define EDGERET_SOURCES ""
#endif
PUBLIC const char edgeret_sources[] = EDGERET_SOURCES;

/* A graph's tables. Rows of one context lie side by side, the first of them counting all demonstrations. */
typedef struct {
    int64_t labels;
    const int64_t *row_clusters; /* (rows) */
    const double *row_totals;    /* (rows): sums of their counts */
    const int64_t *stops;        /* (rows + 1): where the counts of a row begin, and those of the next */
    const int64_t *targets;      /* (counts) */
    const float *counts;         /* (counts) */
    const float *anywhere;       /* (labels) */
    double cluster_prior, global_prior, cluster_share, repeat_factor;
} Graph;

/* What is asked of a graph: how many contexts, the longest first, and how many labels were called; then of each context
   its rows, from and to (-1 for one that no demonstration had), and how many lengths it stands for; then the labels. */
enum { CONTEXTS, CALLED, GRAPH_LISTED };
enum { MOST_CONTEXTS = 16 }; /* the longest order that a bundle may have */
enum { ROW, ROW_STOP, TIMES, PER_CONTEXT };

static void add_row(const Graph *g, int64_t row, float scale, float *out)
{
    for (int64_t i = g->stops[row]; i < g->stops[row + 1]; i++) out[g->targets[i]] += scale * g->counts[i];
}

/* Probabilities of the next label (labels), up to a factor. `shares` (clusters) are the clusters' and `unconditional`
   (labels) what they predict without any context. */
PUBLIC void edgeret_walk(const Graph *g, const float *shares, const float *unconditional, const int64_t *asked,
                         float *out)
{
    double scales[2 * MOST_CONTEXTS];
    const int64_t *contexts = asked + GRAPH_LISTED, *called = contexts + PER_CONTEXT * asked[CONTEXTS];
    double in_clusters = 1.0, everywhere = 0.0;
    for (int64_t c = 0; c < asked[CONTEXTS]; c++) {
        const int64_t *context = contexts + PER_CONTEXT * c;
        double total = 0.0, in_scale = 0.0, everywhere_scale = 0.0;
        if (context[ROW] < 0) {
            everywhere += in_clusters * (1.0 - g->cluster_share);
            in_clusters *= g->cluster_share;
            continue;
        }
        for (int64_t r = context[ROW] + 1; r < context[ROW_STOP]; r++)
            total += shares[g->row_clusters[r]] * g->row_totals[r];
        const double left = g->cluster_prior / (total + g->cluster_prior);
        const double all = g->row_totals[context[ROW]] + g->global_prior;
        for (int64_t k = 0; k < context[TIMES]; k++) {
            in_scale += in_clusters / (total + g->cluster_prior);
            everywhere += in_clusters * left * (1.0 - g->cluster_share);
            in_clusters *= left * g->cluster_share;
            everywhere_scale += everywhere / all;
            everywhere *= g->global_prior / all;
        }
        scales[2 * c] = in_scale;
        scales[2 * c + 1] = everywhere_scale;
    }
    for (int64_t i = 0; i < g->labels; i++)
        out[i] = unconditional[i] * (float)in_clusters + g->anywhere[i] * (float)everywhere;
    for (int64_t c = 0; c < asked[CONTEXTS]; c++) {
        const int64_t *context = contexts + PER_CONTEXT * c;
        if (context[ROW] < 0) continue;
        add_row(g, context[ROW], (float)scales[2 * c + 1], out);
        for (int64_t r = context[ROW] + 1; r < context[ROW_STOP]; r++) {
            const float share = shares[g->row_clusters[r]];
            if (share > 0.0f) add_row(g, r, (float)(share * scales[2 * c]), out);
        }
    }
    for (int64_t k = 0; k < asked[CALLED]; k++) out[called[k]] *= (float)g->repeat_factor;
}

/* The sparse rows of a head's history: row r adds values[i] to the label labels[i], for i from stops[r] to stops[r + 1]. */
typedef struct {
    int64_t labels;
    const int64_t *stops, *followers;
    const float *values;
} History;

/* What `begun` (labels) becomes with so many `rows` added. */
PUBLIC void edgeret_add_rows(const History *h, const float *begun, const int64_t *rows, int64_t count, float *out)
{
    for (int64_t i = 0; i < h->labels; i++) out[i] = begun[i];
    for (int64_t r = 0; r < count; r++)
        for (int64_t i = h->stops[rows[r]]; i < h->stops[rows[r] + 1]; i++) out[h->followers[i]] += h->values[i];
}

/* What a query keeps; n candidates, and place n for what stands for none of them. */
typedef struct {
    int64_t n;
    int64_t rows, width;      /* of the increments: rows, and floats from one row of the history to the next */
    const float *scores;      /* (rows) */
    const int64_t *rows_at;   /* (rows) */
    const float *history;     /* (features, width) */
    int64_t count;            /* steps of the neighbours */
    const float *exponents;   /* (count) */
    const float *calls;       /* (count) */
    const int32_t *last;      /* (count) */
    const float *bag_sizes;   /* (count) */
    const float *bags;        /* (labels in histories, count) */
    const int64_t *votes_at;  /* (count) */
    int64_t newcomers;
    const int64_t *newcomers_at; /* (newcomers) */
    float *room;              /* 4 times as many as the largest of n + 1, rows and count */
    int64_t stride;           /* that largest number */
    double trust, prior;
    float least_log, most_score, history_share, alike, most_share, least;
} Query;

/* What is asked: the calls made, the last one's label, how many different ones; then how many rows of the history and
   of the bags follow, and these. */
enum { MADE, LAST, DISTINCT, FEATURES, BAGS, LISTED };

static void add_increments(const Query *q, const int64_t *asked, float *total, float *added)
{
    const int64_t *feature = asked + LISTED;
    for (int64_t r = 0; r < q->rows; r++) total[r] = 0.0f;
    for (int64_t f = 0; f < asked[FEATURES]; f++) {
        const float *row = q->history + feature[f] * q->width;
        for (int64_t r = 0; r < q->rows; r++) total[r] += row[r];
    }
    for (int64_t i = 0; i <= q->n; i++) added[i] = 0.0f;
    for (int64_t r = 0; r < q->rows; r++) {
        float score = q->history_share * total[r] + q->scores[r];
        score = score > q->most_score ? q->most_score : score;
        added[q->rows_at[r]] += score < -q->most_score ? -q->most_score : score;
    }
}

static void add_votes(const Query *q, const int64_t *asked, float *shared, float *votes)
{
    const int64_t *bag = asked + LISTED + asked[FEATURES];
    const float made = (float)asked[MADE], distinct = (float)asked[DISTINCT];
    const int32_t last = (int32_t)asked[LAST];
    for (int64_t j = 0; j < q->count; j++) shared[j] = 0.0f;
    for (int64_t b = 0; b < asked[BAGS]; b++) {
        const float *row = q->bags + bag[b] * q->count;
        for (int64_t j = 0; j < q->count; j++) shared[j] += row[j];
    }
    for (int64_t i = 0; i <= q->n; i++) votes[i] = 0.0f;
    for (int64_t j = 0; j < q->count; j++) {
        const float same = q->last[j] == last ? 1.0f : 0.0f;
        /* An empty history is like one without a last call and without a bag. */
        const float bags = made > 0 ? shared[j] / (q->bag_sizes[j] + distinct - shared[j]) : same;
        const float exponent = q->exponents[j] + q->alike * (bags + same) - fabsf(q->calls[j] - made);
        votes[q->votes_at[j]] += exponential(exponent);
    }
}

/* The probabilities of newcomers in place of the mixture's, in `out`; `logs` are the base's. */
static void put_newcomers(const Query *q, const float *logs, const float *added, const float *votes, double scale,
                          float *given, float *out)
{
    double increased = 0.0, remembered = 0.0, base = 0.0, all = 0.0, rest = 0.0;
    const float top = largest(out, q->n);
    for (int64_t i = 0; i < q->n; i++) {
        const float p = exponential(logs[i]);
        base += p;
        increased += added[i] == 0.0f ? p : exponential(logs[i] + added[i]);
        remembered += p * scale + votes[i];
    }
    for (int64_t k = 0; k < q->newcomers; k++) {
        const int64_t i = q->newcomers_at[k];
        const double p = exponential(logs[i]), least = p / base;
        const double taught = 0.5 * (exponential(logs[i] + added[i]) / increased + (p * scale + votes[i]) / remembered);
        given[k] = (float)(q->trust * taught > least ? q->trust * taught : least);
        all += given[k];
        out[i] = -INFINITY;
    }
    for (int64_t i = 0; i < q->n; i++) rest += exponential(out[i] - top);
    const double left = 1.0 - (all < q->most_share ? all : q->most_share);
    const float shift = (float)(log(left / (rest > q->least ? rest : q->least)) - top);
    for (int64_t i = 0; i < q->n; i++) out[i] += shift;
    for (int64_t k = 0; k < q->newcomers; k++) out[q->newcomers_at[k]] = logf(given[k] + q->least);
}

/* What increments, memory and base weigh, in this order. */
typedef struct {
    double of_increments, of_memory, of_base;
} Weights;

/* The mixture's log-probabilities (n) up to a constant; in the query's room the base's logs, what the increments add and
   the votes, and in `remembered` (n), if it is wanted, what the memory says. What a vote weighs against the base. */
static double mix(const Query *q, const float *base, const int64_t *asked, const Weights *w, float *remembered, float *out)
{
    float *logs = q->room, *added = logs + q->stride, *votes = added + q->stride, *spare = votes + q->stride;
    const float top = largest(base, q->n);
    double total = 0.0;
    add_increments(q, asked, spare, added);
    add_votes(q, asked, spare, votes);
    for (int64_t i = 0; i < q->n; i++) {
        const float log_p = base[i] - top;
        logs[i] = log_p < q->least_log ? q->least_log : log_p; /* NaN stays, and is refused later */
        total += exponential(logs[i]);
    }
    const double scale = q->prior / total;
    const float log_scale = (float)log(scale);
    for (int64_t i = 0; i < q->n; i++) {
        const float said = votes[i] == 0.0f ? logs[i] + log_scale : logf((float)(exponential(logs[i]) * scale) + votes[i]);
        out[i] = (float)(w->of_increments * (logs[i] + added[i]) + w->of_memory * said + w->of_base * logs[i]);
        if (remembered) remembered[i] = said;
    }
    return scale;
}

/* Log-probabilities (n) up to a constant, from the base's (n), with the weights of increments, memory and base. */
PUBLIC void edgeret_step(const Query *q, const float *base, const int64_t *asked, double of_increments,
                         double of_memory, double of_base, float *out)
{
    const Weights weights = {of_increments, of_memory, of_base};
    const double scale = mix(q, base, asked, &weights, 0, out);
    float *logs = q->room, *added = logs + q->stride, *votes = added + q->stride;
    if (q->newcomers) put_newcomers(q, logs, added, votes, scale, votes + q->stride, out);
}

/* What is asked at the next step of a plan: at most LISTED + 2 made + 2 numbers. */
static void ask(const Walk *walk, const Rows *rows, const int64_t *bag_of, int64_t *asked)
{
    asked[MADE] = walk->made;
    asked[LAST] = walk->made ? walk->targets[walk->made - 1] : -1;
    asked[DISTINCT] = walk->distinct;
    asked[FEATURES] = list_features(walk, rows, asked + LISTED);
    asked[BAGS] = 0;
    for (int64_t i = 0; i < walk->distinct; i++) {
        const int64_t bag = bag_of[walk->first[i]];
        if (bag >= 0) asked[LISTED + asked[FEATURES] + asked[BAGS]++] = bag;
    }
}

enum { SURPRISES = 3, JUDGED };

/* All steps of a plan, judged: per step what increments, memory and base say of the target more than the mixture expects
   of each, and the log-probability that it gets more than from the base. `bag_of` (steps) are the targets' rows of the
   bags, -1 for none; `labels` and `log_p` (steps, kept) what was kept of the base, -1 for none. `found` (steps, JUDGED);
   `spare` has room for 3 n floats, `asked` for a question, and for as many numbers more as there are steps. */
PUBLIC void edgeret_judge(const Query *q, const Rows *rows, int64_t steps, const int64_t *targets,
                          const int64_t *bag_of, const int32_t *labels, const float *log_p, int64_t kept,
                          double least_rest, double of_increments, double of_memory, double of_base, float *spare,
                          int64_t *asked, double *found)
{
    const Weights weights = {of_increments, of_memory, of_base};
    const float *logs = q->room, *added = logs + q->stride, *votes = added + q->stride;
    float *base = spare, *remembered = base + q->n, *out = remembered + q->n;
    Walk walk = {targets, 0, 0, asked};
    asked += steps;
    for (int64_t s = 0; s < steps; s++, labels += kept, log_p += kept, found += JUDGED) {
        double left = 1.0, total = 0.0, expected[SURPRISES] = {0.0, 0.0, 0.0};
        for (int64_t j = 0; j < kept; j++) left -= exponential(log_p[j]);
        const float rest = logf((float)((left < least_rest ? least_rest : left) / (double)q->n));
        for (int64_t i = 0; i < q->n; i++) base[i] = rest;
        for (int64_t j = 0; j < kept; j++)
            if (labels[j] >= 0) base[labels[j]] = log_p[j];
        ask(&walk, rows, bag_of, asked);
        walk_on(&walk);
        const double scale = mix(q, base, asked, &weights, remembered, out);
        const int64_t t = targets[s];
        float top = largest(out, q->n);
        for (int64_t i = 0; i < q->n; i++) {
            const float p = exponential(out[i] - top);
            total += p;
            expected[0] += p * (logs[i] + added[i]);
            expected[1] += p * remembered[i];
            expected[2] += p * logs[i];
        }
        found[0] = logs[t] + added[t] - expected[0] / total;
        found[1] = remembered[t] - expected[1] / total;
        found[2] = logs[t] - expected[2] / total;
        if (q->newcomers) {
            put_newcomers(q, logs, added, votes, scale, q->room + 3 * q->stride, out);
            top = largest(out, q->n);
            total = 0.0;
            for (int64_t i = 0; i < q->n; i++) total += exponential(out[i] - top);
        }
        found[SURPRISES] = out[t] - top - log(total) - base[t];
    }
}
