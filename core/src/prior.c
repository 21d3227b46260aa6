/* Sections 16.6 and 16.7: what the tools alone say after calls, and whether anything fits or is left to do. */

#include "request.h"
#include "vectors.h"

static const float CALLED = 20.0f, KEPT = 0.7f, MOST_LOGIT = 30.0f;
static const double COVERED = 1e-6;
enum { WHOLE = 1 + ER_SEGMENTS, MOST_TOOLS = 1000 };

static const float *windows_of(const er_request *r) { return r->cosines + (size_t)WHOLE * r->n; }
static const float *clauses_of(const er_request *r) { return windows_of(r) + (size_t)r->windows * r->n; }

/* The first row that is as large as any for a name (16.6). Parts of a request that repeats itself are alike but for rounding,
 * which each CPU does in its own order. */
static uint32_t row_of(const float *rows, uint32_t count, uint32_t n, uint32_t place)
{
    float most = rows[place];
    for (uint32_t i = 1; i < count; i++) most = fmaxf(most, rows[(size_t)i * n + place]);
    uint32_t first = 0;
    while (rows[(size_t)first * n + place] < most - 1e-5f) first++;
    return first;
}

static bool is_made(const er_history *h, uint32_t place)
{
    for (uint32_t i = 0; i < h->made_count; i++)
        if (h->made[i] == place) return true;
    return false;
}

/* was_called and still_needed of a kind: only takers of what was called change. */
static void add_served(const er_request *r, er_workspace *work, const er_links *links, const er_history *h, bool every,
    float was_called, float still_needed, float *scores)
{
    if (!links->any) return;
    for (uint32_t i = 0; i < h->made_count; i++)
        for (uint32_t k = links->taker_starts[h->made[i]]; k < links->taker_starts[h->made[i] + 1]; k++) work->given[links->takers[k]]++;
    for (uint32_t i = 0; i < h->made_count; i++)
        for (uint32_t k = links->taker_starts[h->made[i]]; k < links->taker_starts[h->made[i] + 1]; k++) {
            const uint32_t taker = links->takers[k], given = work->given[taker];
            if (!given) continue;
            work->given[taker] = 0;
            const bool satisfied = !every || given == links->giver_starts[taker + 1] - links->giver_starts[taker];
            scores[taker] += was_called - (satisfied ? still_needed : 0.0f);
        }
}

/* spent_name and spent_coverage, by tool; zeros where no tool here was called. */
static void spend(const er_request *r, er_workspace *work, const er_history *h)
{
    uint32_t called[ER_MOST_CALLS], count = 0;
    for (uint32_t i = 0; i < h->made_count; i++)
        if (r->names->tools[h->made[i]] >= 0) called[count++] = (uint32_t)r->names->tools[h->made[i]];
    er_spent(&r->model->lexicon, r->overlap, called, count, work->seen, work->spent_name, work->spent_coverage);
}

/* Where a request has got to by its last call: the clause and the window that come next, and the third that is due. */
typedef struct {
    int32_t last; /* place of the call, −1: none, or a stranger's */
    const float *clause, *behind, *third; /* (n) each */
} standing;

static standing reach(const er_request *r, const er_history *h)
{
    const uint32_t n = r->n, j = h->count < ER_SEGMENTS - 1 ? h->count : ER_SEGMENTS - 1;
    const int32_t last = h->count ? h->places[h->count - 1] : -1;
    uint32_t clause = 0, window = 0;
    if (last >= 0) {
        clause = row_of(clauses_of(r), r->clauses, n, (uint32_t)last) + 1;
        window = row_of(windows_of(r), r->windows, n, (uint32_t)last) + 1;
        clause = clause < r->clauses ? clause : r->clauses - 1;
        window = window < r->windows ? window : r->windows - 1;
    }
    return (standing){last, clauses_of(r) + (size_t)clause * n, r->laters + (size_t)window * n, r->cosines + (size_t)(1 + j) * n};
}

/* How near tools are to the last call's (16.6). */
static void add_related(const er_request *r, int32_t last, float *scores)
{
    if (last < 0) return;
    const er_names *names = r->names;
    const uint32_t d = r->dimension;
    const float *row = names->rows + (size_t)last * d;
    const float related = (float)(10 * r->model->prior.tool[ER_TOOL_RELATED]) / names->lengths[last];
    const float at_mean = er_dot(names->mean, row, d) - er_dot(names->mean, names->mean, d);
    /* (V − μ)·(V(l) − μ), without a vector of its own for the difference. */
    for (uint32_t p = 0; p < r->n; p++) {
        if (p == r->end) continue;
        const float *one = names->rows + (size_t)p * d;
        const float product = er_dot(one, row, d) - er_dot(one, names->mean, d) - at_mean;
        scores[p] += related * product / names->lengths[p];
    }
}

static void score_after(const er_request *r, er_workspace *work, const er_history *h, float *scores)
{
    const double *w = r->model->prior.tool;
    const uint32_t n = r->n;
    const standing at = reach(r, h);
    const float *thirds = r->cosines + n;
    const float third = (float)(10 * w[ER_TOOL_THIRD]), next_clause = (float)(10 * w[ER_TOOL_NEXT_CLAUSE]);
    const float later = (float)(10 * w[ER_TOOL_LATER]);
    for (uint32_t p = 0; p < n; p++) {
        const float sum = thirds[p] + thirds[n + p] + thirds[2 * n + p];
        scores[p] = r->statics[p] + r->names->owed[p] + third * (1.5f * at.third[p] - 0.5f * sum) + next_clause * at.clause[p] + later * at.behind[p];
    }
    add_related(r, at.last, scores);
    add_served(r, work, &r->names->named, h, true, (float)w[ER_TOOL_WAS_CALLED], (float)w[ER_TOOL_STILL_NEEDED], scores);
    add_served(r, work, &r->names->keyed, h, false, (float)w[ER_TOOL_KEY_WAS_CALLED], (float)w[ER_TOOL_KEY_STILL_NEEDED], scores);
    if (h->made_count) {
        const float name = (float)w[ER_TOOL_SPENT_NAME], coverage = (float)w[ER_TOOL_SPENT_COVERAGE];
        spend(r, work, h);
        for (uint32_t p = 0; p < n; p++) {
            const int32_t tool = r->names->tools[p];
            if (tool >= 0) scores[p] += name * work->spent_name[tool] + coverage * work->spent_coverage[tool];
        }
    }
}

void er_prior_scores(const er_request *r, er_workspace *work, const er_history *h, float *scores)
{
    if (h->count) score_after(r, work, h, scores);
    else memcpy(scores, r->begun, r->n * sizeof(float));
    const float *due = NULL;
    if (r->wishes && r->model->prior.tool[ER_TOOL_DUE] != 0.0) due = er_due(r->wishes, h);
    if (due) {
        const float best = er_largest(scores, r->n), weight = (float)r->model->prior.tool[ER_TOOL_DUE];
        for (uint32_t p = 0; p < r->n; p++) scores[p] = best + KEPT * (scores[p] - best) + weight * due[p];
    }
    for (uint32_t i = 0; i < h->made_count; i++) scores[h->made[i]] -= CALLED;
    scores[r->end] = -INFINITY;
}

void er_prior_evidence(const er_request *r, er_workspace *work, const er_history *h, float *words, float *meaning, float *flow, float *values)
{
    const double *w = r->model->prior.tool;
    const uint32_t n = r->n;
    const standing at = reach(r, h);
    const float *thirds = r->cosines + n;
    for (uint32_t p = 0; p < n; p++) {
        const double sum = thirds[p] + thirds[n + p] + thirds[2 * n + p];
        words[p] += (float)(w[ER_TOOL_NAME] * r->name[p] + w[ER_TOOL_PARAMETERS] * r->parameters[p] + w[ER_TOOL_COVERAGE] * r->coverage[p] +
                            w[ER_TOOL_TEXT] * r->text[p]);
        meaning[p] += (float)(10 * (w[ER_TOOL_WINDOW] * r->window[p] + w[ER_TOOL_CLAUSE] * r->clause[p] + w[ER_TOOL_NEXT_CLAUSE] * at.clause[p] +
                                    w[ER_TOOL_THIRD] * (1.5 * at.third[p] - 0.5 * sum) + w[ER_TOOL_LATER] * at.behind[p]));
        flow[p] += r->names->owed[p];
    }
    add_related(r, at.last, meaning);
    add_served(r, work, &r->names->named, h, true, (float)w[ER_TOOL_WAS_CALLED], (float)w[ER_TOOL_STILL_NEEDED], flow);
    add_served(r, work, &r->names->keyed, h, false, (float)w[ER_TOOL_KEY_WAS_CALLED], (float)w[ER_TOOL_KEY_STILL_NEEDED], flow);
    spend(r, work, h);
    for (uint32_t p = 0; h->made_count && p < n; p++) {
        const int32_t tool = r->names->tools[p];
        if (tool >= 0) words[p] += (float)(w[ER_TOOL_SPENT_NAME] * work->spent_name[tool] + w[ER_TOOL_SPENT_COVERAGE] * work->spent_coverage[tool]);
    }
    const float *due = r->wishes ? er_due(r->wishes, h) : NULL;
    for (uint32_t p = 0; due && p < n; p++) {
        words[p] = KEPT * words[p] + (float)w[ER_TOOL_DUE] * due[p];
        meaning[p] *= KEPT;
        flow[p] *= KEPT;
        values[p] *= KEPT;
    }
}

float er_allow(const er_request *r, float *scores)
{
    for (uint32_t p = 0; r->allowed && p < r->n; p++)
        if (!r->allowed[p]) scores[p] = -INFINITY;
    return er_largest(scores, r->n);
}

static double nothing_logit(const er_request *r, double best)
{
    if (r->said_any) return -10.0;
    const double *w = r->model->prior.nothing;
    const uint32_t tools = r->n > 2 ? r->n - 1 : 1;
    const float window = er_largest(r->window, r->n), clause = er_largest(r->clause, r->n);
    const er_sayings *s = r->sayings;
    const uint32_t explained = er_is_narrow(r) ? r->overlap->different : r->overlap->explained;
    return w[ER_NOTHING_CONSTANT] + w[ER_NOTHING_BEST] * best + w[ER_NOTHING_COSINE] * er_largest(r->cosines, r->n) +
           w[ER_NOTHING_WINDOW] * (window > clause ? window : clause) + w[ER_NOTHING_NAME] * er_largest(r->name, r->n) +
           w[ER_NOTHING_TOOLS] * log(tools < MOST_TOOLS ? tools : MOST_TOOLS) +
           w[ER_NOTHING_EXPLAINED] * log1p(explained) + w[ER_NOTHING_WORDS] * log1p(r->overlap->different) +
           w[ER_NOTHING_QUESTION] * s->question + w[ER_NOTHING_EXPLAINS] * s->explains + w[ER_NOTHING_BARE] * s->bare;
}

/* How well calls cover the rows of W or C: the least share, and by how much another tool comes nearer at most. */
static void cover(const er_request *r, const float *rows, uint32_t count, const er_history *h, double *least, double *fresh)
{
    *least = 1.0;
    *fresh = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        const float *row = rows + (size_t)i * r->n;
        double x = 0.0, y = er_largest(row, r->n);
        if (y < COVERED) y = COVERED;
        for (uint32_t k = 0; k < h->made_count; k++) x = row[h->made[k]] > x ? row[h->made[k]] : x;
        *least = x / y < *least ? x / y : *least;
        *fresh = y - x > *fresh ? y - x : *fresh;
    }
}

/* Whether the last call gives to others of which none was called. */
static bool unused(const er_links *links, const er_history *h)
{
    const int32_t last = h->places[h->count - 1];
    if (last < 0 || !links->any) return false;
    const uint32_t begin = links->taker_starts[last], end = links->taker_starts[last + 1];
    for (uint32_t i = begin; i < end; i++)
        if (is_made(h, links->takers[i])) return false;
    return begin < end;
}

static double last_logit(const er_request *r, er_workspace *work, const er_history *h, double best)
{
    const double *w = r->model->prior.end;
    const er_history none = {0};
    double window, clause, fresh_window, fresh_clause, open[3] = {0};
    cover(r, windows_of(r), r->windows, h, &window, &fresh_window);
    cover(r, clauses_of(r), r->clauses, h, &clause, &fresh_clause);
    double fresh_name = 0, fresh_coverage = 0;
    spend(r, work, h);
    for (uint32_t p = 0; p < r->n; p++) {
        const int32_t tool = r->names->tools[p];
        if (tool < 0) continue;
        const double name = r->name[p] - work->spent_name[tool], coverage = r->coverage[p] - work->spent_coverage[tool];
        fresh_name = name > fresh_name ? name : fresh_name;
        fresh_coverage = coverage > fresh_coverage ? coverage : fresh_coverage;
    }
    uint32_t reached = 0;
    for (uint32_t i = 0; i < h->made_count; i++) {
        const uint32_t row = row_of(windows_of(r), r->windows, r->n, h->made[i]) + 1;
        reached = row > reached ? row : reached;
    }
    if (r->wishes) er_open(r->wishes, h, open);
    /* What the best tool had before any call, whether it may be chosen or not. */
    er_prior_scores(r, work, &none, work->memory);
    const double first = er_largest(work->memory, r->n);
    const uint32_t words = r->sayings->words ? r->sayings->words : 1;
    return w[ER_LAST_CONSTANT] + w[ER_LAST_WORDS_BY_CALL] * log((double)words / h->count) + w[ER_LAST_LEAST_WINDOW] * window +
           w[ER_LAST_LEAST_CLAUSE] * clause + w[ER_LAST_DROP] * (first - best) + w[ER_LAST_BEST] * best +
           w[ER_LAST_WINDOWS_LEFT] * (double)(r->windows - reached) / r->windows +
           w[ER_LAST_TOOLS] * log(r->n < MOST_TOOLS ? r->n : MOST_TOOLS) + w[ER_LAST_FRESH_NAME] * fresh_name +
           w[ER_LAST_FRESH_COVERAGE] * fresh_coverage + w[ER_LAST_FRESH_WINDOW] * 10.0 * fresh_window +
           w[ER_LAST_FRESH_CLAUSE] * 10.0 * fresh_clause + w[ER_LAST_UNUSED] * unused(&r->names->named, h) +
           w[ER_LAST_KEY_UNUSED] * unused(&r->names->keyed, h) + w[ER_LAST_OPEN] * open[0] + w[ER_LAST_OPEN_CLEAR] * open[1] +
           w[ER_LAST_ANSWERED] * open[2];
}

double er_end_logit(const er_request *r, er_workspace *work, const er_history *h, double best)
{
    if (best == -INFINITY) return INFINITY;
    const double logit = h->count ? last_logit(r, work, h, best) : nothing_logit(r, best);
    return logit > MOST_LOGIT ? MOST_LOGIT : logit < -MOST_LOGIT ? -MOST_LOGIT : logit;
}

void er_prior_log_probabilities(const er_request *r, er_workspace *work, const er_history *h, float *found)
{
    er_prior_scores(r, work, h, found);
    const float best = er_allow(r, found);
    const double logit = er_end_logit(r, work, h, best);
    if (best > -INFINITY) {
        er_log_softmax(found, r->n);
        const float going_on = (float)-log1p(exp(logit));
        for (uint32_t p = 0; p < r->n; p++) found[p] += going_on;
    }
    found[r->end] = (float)-log1p(exp(-logit));
}

double er_open_offset(const er_request *r, const er_history *h)
{
    double open[3] = {0};
    if (r->wishes) er_open(r->wishes, h, open);
    return r->model->prior.end[ER_LAST_OPEN] * open[0] + r->model->prior.end[ER_LAST_OPEN_CLEAR] * open[1];
}
