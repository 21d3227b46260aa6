/* Section 9: from distributions to calibrated probabilities. */

#include "request.h"
#include "vectors.h"

static const float FLOOR = -60.0f, MOST_LOG = 80.0f;
static const double CLEARLY = 4.0, SURELY_SHOWN = 0.8, STEEP = 22.0, NEAREST = 0.2, LEAST_COSINE = 0.4, KINDS = 250.0;
static const double FEW = 33.0; /* tools alone: of fewer, what was learned shows little of what people say, and nothing was held out to tell */

bool er_workspace_of(er_arena *arena, const er_model *model, const er_names *names, er_workspace *work)
{
    float **by_name[] = {&work->scores, &work->logs, &work->prior, &work->popular, &work->memory, &work->first_unseen, &work->probabilities};
    float **by_tool[] = {&work->spent_name, &work->spent_coverage};
    float **by_label[] = {&work->logits, &work->walked, &work->global, &work->local};
    memset(work, 0, sizeof *work);
    for (size_t i = 0; i < sizeof by_name / sizeof *by_name; i++)
        if (!(*by_name[i] = ER_TAKE(arena, float, names->n))) return false;
    for (size_t i = 0; i < sizeof by_tool / sizeof *by_tool; i++)
        if (!(*by_tool[i] = ER_TAKE(arena, float, model->held))) return false;
    for (size_t i = 0; i < sizeof by_label / sizeof *by_label; i++)
        if (!(*by_label[i] = ER_TAKE(arena, float, names->labels))) return false;
    work->seen = ER_TAKE(arena, uint8_t, model->lexicon.count + 1);
    work->given = ER_TAKE(arena, uint32_t, names->n);
    work->choosable = ER_TAKE(arena, bool, names->n);
    work->blocked = ER_TAKE(arena, bool, names->n);
    return work->seen && work->given && work->choosable && work->blocked;
}

/* Few demonstrations: the head beside the prior, over all names (8.1). */
static void head_beside(const er_request *r, const float *logits, const float *prior, const float *popular, float *found)
{
    const float weight = (float)r->stage->head.prior_weight;
    for (uint32_t y = 0; y < r->labels; y++) found[y] = logits[y] + weight * (prior[y] > FLOOR ? prior[y] : FLOOR);
    if (r->labels < r->n) {
        double most = FLOOR, sum = 0;
        for (uint32_t p = r->labels; p < r->n; p++) most = popular[p] > most ? popular[p] : most;
        for (uint32_t p = r->labels; p < r->n; p++) sum += exp((popular[p] > FLOOR ? popular[p] : FLOOR) - most);
        const float total = (float)(log(sum) + most);
        for (uint32_t p = r->labels; p < r->n; p++) found[p] = (popular[p] > FLOOR ? popular[p] : FLOOR) + (weight - 1) * total;
    }
    er_log_softmax(found, r->n);
}

static void fuse_few(const er_request *r, er_workspace *work, const er_history *h, float *logs)
{
    const er_calibration *c = &r->stage->calibration;
    er_prior_log_probabilities(r, work, h, work->prior);
    for (uint32_t p = 0; p < r->n; p++) work->popular[p] = work->prior[p] + r->names->popular[p];
    er_head_logits(r, h, work->logits);
    head_beside(r, work->logits, work->prior, work->popular, logs);
    er_lap(work->watch, ER_AT_HEAD);
    double held = 0;
    for (uint32_t y = 0; y < r->labels; y++) held += exp(logs[y]);
    const float head = (float)c->head_weight, graph = (float)c->graph_weight, memory = (float)c->memory_weight;
    if (graph != 0.0f) er_graph_walk(r, work, h, work->walked);
    er_lap(work->watch, ER_AT_GRAPH);
    if (r->stage->has_memory && memory != 0.0f) er_memory_log_probabilities(r, h, work->popular, work->memory);
    for (uint32_t p = 0; p < r->n; p++) {
        const float own = logs[p];
        logs[p] = head * own;
        if (graph != 0.0f) {
            const double shared = p < r->labels ? work->walked[p] * held : 0;
            logs[p] += graph * (p < r->labels ? (float)log(shared > 1e-30 ? shared : 1e-30) : own);
        }
        if (r->stage->has_memory && memory != 0.0f) logs[p] += memory * work->memory[p];
    }
}

/* What unseen tools weigh beside all of the labels together (section 9); the largest of them. */
static float unseen_after(const er_request *r, er_workspace *work, const er_history *h, float *found)
{
    const er_calibration *c = &r->stage->calibration;
    er_prior_scores(r, work, h, work->scores);
    const float best = er_allow(r, work->scores);
    if (best > -INFINITY) er_log_softmax(work->scores, r->n);
    float most = -INFINITY;
    for (uint32_t p = r->labels; p < r->n; p++) {
        const float bias = (float)(r->names->popular[p] == 0.0f ? c->added_bias : c->unseen_bias), u = work->scores[p] + bias;
        found[p] = u < MOST_LOG ? u : MOST_LOG;
        most = found[p] > most ? found[p] : most;
    }
    if (most > logf(0.01f)) {
        const float going_on = (float)-log1p(exp(er_end_logit(r, work, h, best)));
        for (uint32_t p = r->labels; p < r->n; p++) found[p] += going_on;
        most += going_on;
    }
    return most;
}

static void fuse_many(const er_request *r, er_workspace *work, const er_history *h, float *logs)
{
    const er_calibration *c = &r->stage->calibration;
    const float head = (float)(h->count ? c->later_head_weight : c->head_weight);
    const float graph = (float)(h->count ? c->later_graph_weight : c->graph_weight);
    er_head_logits(r, h, logs);
    er_lap(work->watch, ER_AT_HEAD);
    if (graph != 0.0f || !h->count) er_graph_walk(r, work, h, work->walked);
    er_lap(work->watch, ER_AT_GRAPH);
    for (uint32_t y = 0; y < r->labels; y++) {
        logs[y] *= head;
        if (graph != 0.0f) logs[y] += graph * logf(work->walked[y]);
    }
    if (h->count && r->wishes && er_first_largest(logs, r->labels) == r->end) logs[r->end] += (float)er_open_offset(r, h);
    if (r->labels == r->n) return;
    er_log_softmax(logs, r->labels);
    const er_history none = {0};
    if (!work->has_first_unseen) {
        unseen_after(r, work, &none, work->first_unseen);
        work->has_first_unseen = true;
    }
    const float *others = work->first_unseen;
    const float first = er_largest(others + r->labels, r->n - r->labels);
    if (h->count && !(first <= logf(0.003f))) {
        unseen_after(r, work, h, work->popular);
        others = work->popular;
    }
    memcpy(logs + r->labels, others + r->labels, (r->n - r->labels) * sizeof(float));
}

void er_fuse(const er_request *r, er_workspace *work, const er_history *h, float *logs)
{
    if (!r->stage->has_head) {
        er_prior_log_probabilities(r, work, h, logs);
        return;
    }
    if (!r->stage->head.prior_steps) {
        fuse_many(r, work, h, logs);
        return;
    }
    fuse_few(r, work, h, logs);
    if (h->count && r->wishes && er_first_largest(logs, r->n) == r->end) logs[r->end] += (float)er_open_offset(r, h);
}

/* A history by places there; what was left out is a stranger's. */
const er_history *er_among_few(const er_request *r, const er_history *h, er_few_calls *few)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < h->count; i++)
        few->places[i] = h->places[i] < 0 || er_is_left_out(r, (uint32_t)h->places[i]) ? -1 : (int32_t)r->at_near[h->places[i]];
    for (uint32_t i = 0; i < h->made_count; i++)
        if (!er_is_left_out(r, h->made[i])) few->made[count++] = r->at_near[h->made[i]];
    few->history = (er_history){few->places, few->made, h->count, count};
    return &few->history;
}

uint32_t er_open_wishes(const er_request *r, const er_history *h, uint32_t which[ER_MOST_WISHES])
{
    er_few_calls few;
    if (r->near) h = er_among_few(r, h, &few), r = r->near;
    return r->wishes ? er_which_open(r->wishes, h, which) : 0;
}

void er_head_alone(const er_request *r, er_workspace *work, const er_history *h, float *logs)
{
    er_few_calls few;
    if (r->near) h = er_among_few(r, h, &few), r = r->near; /* labels are at the same places */
    er_head_logits(r, h, logs);
    if (!r->stage->head.prior_steps) {
        er_log_softmax(logs, r->labels);
        return;
    }
    er_prior_log_probabilities(r, work, h, work->prior);
    for (uint32_t p = 0; p < r->n; p++) work->popular[p] = work->prior[p] + r->names->popular[p];
    memcpy(work->logits, logs, r->labels * sizeof(float));
    head_beside(r, work->logits, work->prior, work->popular, logs);
}

/* ---- That nothing fits ---- */

/* n: the cosine of the nearest demonstration that calls a tool, below −1 where nobody knows. */
static double nearest(const er_request *r, const er_known *known)
{
    if (r->allowed) return -2.0;
    double found = -2.0;
    const er_memory *memory = &r->stage->memory;
    if (r->stage->has_memory) {
        for (uint32_t i = 0; i < r->neighbours.count && found < -1; i++)
            if (memory->starts[r->neighbours.plans[i] + 1] > memory->starts[r->neighbours.plans[i]]) found = r->neighbours.cosines[i];
    } else if (r->stage->has_head)
        found = r->place.similarity;
    if (!r->stage->has_head && r->has_example && r->nearest_example > found) found = r->nearest_example;
    if (known->nearest > found) found = known->nearest;
    return found < -1 ? LEAST_COSINE : found;
}

/* How far the request is from what was demonstrated and learned; infinite where nothing was. */
static double distance(const er_request *r, const er_known *learned)
{
    const er_names *names = r->names;
    const er_familiarity *known = &names->familiarity;
    double least = INFINITY;
    for (uint32_t i = 0; i < known->rows; i++) {
        if (r->allowed && (names->familiar_places[i] == UINT32_MAX || !r->allowed[names->familiar_places[i]])) continue;
        const double square = names->familiar_squares[i] - 2.0 * er_dot(known->means + (size_t)i * r->dimension, r->vectors, r->dimension);
        least = square < least ? square : least;
    }
    if (learned->familiar && learned->square < least) least = learned->square;
    if (least == INFINITY) return INFINITY;
    const double mean = sqrt(least > 0 ? least : 0), n = nearest(r, learned);
    const double away = n < -1 ? mean : sqrt(2 - 2 * n > 0 ? 2 - 2 * n : 0);
    return mean + NEAREST * away;
}

/* f: the odds that a request at this distance is a demonstrated tool's. */
static double fits(const er_request *r, double away) { return away < INFINITY ? exp(STEEP * (1 - away / r->names->familiarity.edge)) : 0.0; }

/* The weight of requests that no tool fits. */
static double unknown_of(const er_request *r, const er_known *known)
{
    return 1 / (1 + (known->familiar ? known->no_tool : r->names->familiarity.no_tool) / KINDS);
}

double er_unlike(const er_request *r, const er_known *known)
{
    if (!known->familiar && !r->stage->has_head) return NAN; /* examples say where the familiar ends only beside plans */
    const double away = distance(r, known), unknown = unknown_of(r, known);
    return away < INFINITY ? unknown / (unknown + fits(r, away)) : NAN;
}

static double nothing(const er_request *r, er_workspace *work, double shown)
{
    const er_names *names = r->names;
    const er_history none = {0};
    const er_known *known = &work->known;
    double fit = fits(r, distance(r, known));
    if (fit < CLEARLY || shown > 0.5) {
        er_prior_scores(r, work, &none, work->scores);
        const double words = er_end_logit(r, work, &none, er_allow(r, work->scores));
        const double by_words = words > 30.0 ? 30.0 : words, least = r->stage->has_head ? 1 : FEW, tools = names->every > least + 1 ? names->every - 1 : least;
        const double each = (known->familiar ? known->called : names->familiar_count) / tools, strange = 1 / (1 + 2 * each * each);
        fit += strange * exp(-by_words);
        if (((shown > 0.5 && shown <= SURELY_SHOWN) || r->said_any) && by_words < log(0.1 / 0.9)) shown = 1 / (1 + exp(-by_words));
    }
    const double odds = unknown_of(r, known) / (fit > 1e-30 ? fit : 1e-30) + shown / (1 - shown > 1e-30 ? 1 - shown : 1e-30);
    return odds / (1 + odds);
}

/* ---- Calibration ---- */

static double interpolated(const float *map, uint32_t rows, double c)
{
    uint32_t right = 0;
    while (right < rows && map[2 * right] <= c) right++;
    if (!right || right == rows) return map[2 * (right ? right - 1 : 0) + 1];
    const double x0 = map[2 * right - 2], y0 = map[2 * right - 1], x1 = map[2 * right], y1 = map[2 * right + 1];
    return y0 + (y1 - y0) * (c - x0) / (x1 - x0);
}

/* What was learned weighs its own probabilities, so the bundle's map counts less with every plan (19.6). */
static double by_map(const er_calibration *c, const er_known *known, double value)
{
    const double least = c->map[0], most = c->map[2 * c->map_rows - 2], inside = value < least ? least : value > most ? most : value;
    return known->share * interpolated(c->map, c->map_rows, value) + (1 - known->share) * inside;
}

/* Log-scores to probabilities of `whole` together, by the map; what is not `choosable` (NULL: all are) has 0. */
static bool calibrate(const er_request *r, const er_known *known, const bool *choosable, double whole, float *values)
{
    const er_calibration *c = &r->stage->calibration;
    uint32_t best = UINT32_MAX, count = 0;
    for (uint32_t p = 0; p < r->n; p++) {
        if (choosable && !choosable[p]) continue;
        if (best == UINT32_MAX || values[p] > values[best]) best = p;
        count++;
    }
    if (!count) return false;
    const float most = values[best];
    double rest = 0, second = 0;
    for (uint32_t p = 0; p < r->n; p++) {
        if ((choosable && !choosable[p]) || p == best) {
            values[p] = 0.0f;
            continue;
        }
        values[p] = expf(values[p] - most);
        rest += values[p];
        second = values[p] > second ? values[p] : second;
    }
    if (!(rest + 1.0 > 0.0 && rest < INFINITY)) return false; /* NaN fails, too */
    if (count == 1) {
        values[best] = (float)whole;
        return true;
    }
    double target = by_map(c, known, 1.0 / (1.0 + rest));
    if (rest < 1e-30) {
        rest = 0;
        for (uint32_t p = 0; p < r->n; p++) {
            if ((choosable && !choosable[p]) || p == best) continue;
            values[p] += 1e-30f;
            rest += values[p];
        }
        second += 1e-30;
    }
    if (target < 0.5) {
        const double share = second / rest, least = share / (1 + share) + 1e-6;
        target = target > least ? target : least;
    }
    const float by = (float)(whole * (1 - target) / rest);
    for (uint32_t p = 0; p < r->n; p++) values[p] *= by;
    values[best] = (float)(whole * target);
    return true;
}

/* Before any call: of the tools, if something fits, and of `<end>`, that nothing does. */
static bool first_probabilities(const er_request *r, er_workspace *work, const bool *blocked, float *logs)
{
    double shown = 0, before = 0, left = 0;
    if (r->names->familiarity.no_tool > 0 || (work->known.familiar && work->known.no_tool > 0)) {
        double sum = 0;
        const double most = er_largest(logs, r->n);
        for (uint32_t p = 0; p < r->n; p++) sum += exp(logs[p] - most);
        shown = exp(logs[r->end] - most) / sum;
    }
    logs[r->end] = -INFINITY;
    const double most = er_largest(logs, r->n);
    bool *choosable = work->choosable;
    for (uint32_t p = 0; p < r->n; p++) {
        choosable[p] = (!r->allowed || r->allowed[p]) && !(blocked && blocked[p]);
        if (r->allowed && !r->allowed[p]) continue;
        const double share = exp(logs[p] - (most > -1e30 ? most : -1e30));
        before += share;
        if (choosable[p]) left += share;
    }
    const double share = before > 0 ? left / before : 0;
    if (!(share > 0)) {
        memset(logs, 0, r->n * sizeof(float));
        logs[r->end] = 1.0f;
        return true;
    }
    double none = nothing(r, work, shown);
    if (share < 1) none /= none + (1 - none) * share;
    const bool restricted = r->allowed || blocked;
    if (!calibrate(r, &work->known, restricted ? choosable : NULL, 1 - none, logs)) return false;
    if (logs[r->end] > 0) { /* where one tool is left, a map gives `<end>` what it lacks */
        const float by = (float)((1 - none) / (1 - none - logs[r->end]));
        for (uint32_t p = 0; p < r->n; p++) logs[p] *= by;
    }
    logs[r->end] = (float)none;
    return none == none;
}

static void fuse_known(const er_request *r, er_workspace *work, const er_history *h, float *found)
{
    er_fuse(r, work, h, found);
    work->known = (er_known){.share = 1.0, .nearest = -2.0};
    if (!work->recall) return;
    er_lap(work->watch, ER_AT_FUSE);
    er_by(work->recall)->mix(work->recall, r, h, found, &work->known);
    if (work->known.share < 1.0) er_lap(work->watch, ER_AT_LEARNED); /* something was */
}

/* ---- Among few of very many names ---- */

typedef bool found_by(const er_request *, er_workspace *, const er_history *, const bool *blocked, float *);

/* The same of all names, 0 for those that were left out. */
static bool by_few(found_by *of, const er_request *r, er_workspace *work, const er_history *h, const bool *blocked, float *found)
{
    er_few_calls few;
    bool *left = work->blocked;
    for (uint32_t k = 0; blocked && k < r->near->n; k++) left[k] = blocked[r->near_at[k]];
    if (!of(r->near, work, er_among_few(r, h, &few), blocked ? left : NULL, found)) return false;
    /* Each goes as far up as its place, the last one first. */
    for (uint32_t p = r->n, k = r->near->n; p-- > 0;) found[p] = k && r->near_at[k - 1] == p ? found[--k] : 0.0f;
    return true;
}

bool er_later_probabilities(const er_request *r, er_workspace *work, const er_history *h, const bool *blocked, float *found)
{
    if (r->near) return by_few(er_later_probabilities, r, work, h, blocked, found);
    fuse_known(r, work, h, found);
    bool *choosable = work->choosable;
    for (uint32_t p = 0; p < r->n; p++) choosable[p] = (!r->allowed || r->allowed[p]) && !(blocked && blocked[p]);
    return calibrate(r, &work->known, r->allowed || blocked ? choosable : NULL, 1.0, found);
}

bool er_step_probabilities(const er_request *r, er_workspace *work, const er_history *h, const bool *blocked, float *found)
{
    if (r->near) return by_few(er_step_probabilities, r, work, h, blocked, found);
    if (h->count) return er_later_probabilities(r, work, h, blocked, found);
    fuse_known(r, work, h, found);
    return first_probabilities(r, work, blocked, found);
}
