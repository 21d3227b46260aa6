/* Sections 16.4 and 16.5: a request's windows and clauses, and what it says of every tool before any call. */

#include "request.h"
#include "vectors.h"

static const double LEAST = 1e-12;
enum { WHOLE = 1 + ER_SEGMENTS }; /* the query and its thirds come first among the vectors */

/* The unit sum of some tokens' vectors. */
static void unit_sum(const float *tokens, uint32_t begin, uint32_t end, uint32_t d, float *found)
{
    for (uint32_t i = begin; i < end; i++) er_add(found, 1.0f, tokens + (size_t)i * d, d);
    er_unit(found, d, LEAST);
}

static uint32_t window_starts(uint32_t count, uint32_t *starts)
{
    uint32_t found = 0;
    if (!count) return 0;
    if (count <= ER_WINDOW) return starts[0] = 0, 1;
    const uint32_t part = (count + 23) / 24, step = part > ER_STRIDE ? part : ER_STRIDE;
    for (uint32_t at = 0; at <= count - ER_WINDOW; at += step) starts[found++] = at;
    if (starts[found - 1] != count - ER_WINDOW) starts[found++] = count - ER_WINDOW;
    return found;
}

/* Vectors of windows and clauses, behind those of the whole. */
static bool read_vectors(er_request *r)
{
    const er_encoded *e = r->encoded;
    const er_sayings *s = r->sayings;
    const uint32_t d = r->dimension;
    /* Tokens of a prefix are left out: those whose spans end at or before its length. */
    uint32_t skipped = 0;
    while (e->prefix && skipped < e->count && e->spans[skipped].end <= e->prefix) skipped++;
    const float *tokens = e->tokens + (size_t)skipped * d;
    const er_span *spans = e->spans + skipped;
    const uint32_t count = e->count - skipped;
    uint32_t starts[ER_MOST_WINDOWS + 2];
    r->windows = window_starts(count, starts);
    float *vectors = ER_TAKE(&r->arena, float, (WHOLE + (size_t)(r->windows ? r->windows : 1) + s->clause_count) * d);
    uint32_t *rows = ER_TAKE(&r->arena, uint32_t, s->clause_count);
    if (!vectors || !rows) return false;
    memcpy(vectors, e->vector, d * sizeof(float));
    er_segments(e->tokens, e->count, d, vectors + d);
    float *at = vectors + (size_t)WHOLE * d;
    for (uint32_t i = 0; i < r->windows; i++, at += d)
        unit_sum(tokens, starts[i], count < starts[i] + ER_WINDOW ? count : starts[i] + ER_WINDOW, d, at);
    if (!r->windows) {
        memcpy(at, e->vector, d * sizeof(float));
        r->windows = 1;
        at += d;
    }
    const bool whole = s->clause_count == 1 && s->clauses[0].begin == 0 && s->clauses[0].end == s->points.count;
    for (uint32_t i = 0, first = 0, last = 0; i < s->clause_count; i++) {
        uint32_t begin = 0, end = count;
        if (!whole) {
            while (first < count && spans[first].begin < s->clauses[i].begin + e->prefix) first++;
            while (last < count && spans[last].end <= s->clauses[i].end + e->prefix) last++;
            begin = first;
            end = last;
        }
        rows[i] = begin < end ? r->clauses : UINT32_MAX;
        if (begin >= end) continue;
        unit_sum(tokens, begin, end, d, at);
        at += d;
        r->clauses++;
    }
    if (!r->clauses) {
        memcpy(at, e->vector, d * sizeof(float));
        r->clauses = 1;
    }
    r->vectors = vectors;
    r->clause_rows = rows;
    return true;
}

/* What is by tool, by place. */
static bool by_place(er_request *r, const float *of, const float **found)
{
    float *made = ER_TAKE(&r->arena, float, r->n);
    if (!made) return false;
    for (uint32_t p = 0; p < r->n; p++) made[p] = r->names->tools[p] < 0 ? 0.0f : of[r->names->tools[p]];
    *found = made;
    return true;
}

static float *best_of(er_request *r, const float *rows, uint32_t count)
{
    float *best = ER_TAKE(&r->arena, float, r->n);
    if (!best) return NULL;
    memcpy(best, rows, r->n * sizeof(float));
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t p = 0; p < r->n; p++) {
            const float one = rows[(size_t)i * r->n + p];
            best[p] = one > best[p] ? one : best[p];
        }
    return best;
}

/* `gives` and `key_gives` (16.5), weighed. */
static bool add_gives(er_request *r, float *statics)
{
    const er_links *kinds[2] = {&r->names->named, &r->names->keyed};
    const double weights[2] = {r->model->prior.tool[ER_TOOL_GIVES], r->model->prior.tool[ER_TOOL_KEY_GIVES]};
    if (!kinds[0]->any && !kinds[1]->any) return true;
    const er_place mark = er_mark(&r->arena);
    float *share = ER_TAKE(&r->arena, float, r->n);
    if (!share) return false;
    for (uint32_t p = 0; p < r->n; p++)
        share[p] = 8 * r->window[p] + 2 * r->name[p] + 2 * r->coverage[p] + 4 * r->clause[p] + 3 * r->cosines[p];
    const float most = er_largest(share, r->n);
    double sum = 0;
    for (uint32_t p = 0; p < r->n; p++) {
        share[p] = p == r->end ? 0.0f : expf(3 * (share[p] - most));
        sum += share[p];
    }
    const float by = 1.0f / (float)(sum > 1e-6 ? sum : 1e-6);
    for (int kind = 0; kind < 2; kind++)
        for (uint32_t giver = 0; kinds[kind]->any && giver < r->n; giver++) {
            double gained = 0;
            for (uint32_t i = kinds[kind]->taker_starts[giver]; i < kinds[kind]->taker_starts[giver + 1]; i++) {
                const uint32_t taker = kinds[kind]->takers[i];
                const uint32_t givers = kinds[kind]->giver_starts[taker + 1] - kinds[kind]->giver_starts[taker];
                gained += share[taker] * by / (kind ? (float)givers : 1.0f);
            }
            statics[giver] += (float)(weights[kind] * gained);
        }
    er_release(&r->arena, mark);
    return true;
}

/* Of examples that are no bytes, since a tool came later: with what the whole numbers stand for. */
static bool nearest_wide(
    er_arena *arena, const er_index *index, uint32_t d, const int16_t *asked, const float *steps, uint32_t many, float *near)
{
    const uint32_t count = index->example_count;
    float *vectors = ER_TAKE(arena, float, (size_t)many * d), *found = ER_TAKE(arena, float, (size_t)many * count);
    if (!vectors || !found) return false;
    for (uint32_t v = 0; v < many; v++)
        for (uint32_t k = 0; k < d; k++) vectors[(size_t)v * d + k] = (float)asked[(size_t)v * d + k] * steps[v];
    er_many_products(index->wide_examples, count, d, vectors, many, found);
    for (uint32_t v = 0; v < many; v++, found += count)
        for (uint32_t k = 0; k < count; k++) near[k] = found[k] > near[k] ? found[k] : near[k];
    return true;
}

bool er_nearest_examples(er_arena *arena, const er_index *index, uint32_t d, const float *vectors, uint32_t many, float *near)
{
    const er_place mark = er_mark(arena);
    int16_t *asked = ER_TAKE(arena, int16_t, (size_t)many * d);
    float *steps = ER_TAKE(arena, float, many);
    if (!asked || !steps) return false;
    for (uint32_t v = 0; v < many; v++) steps[v] = er_whole_numbers(vectors + (size_t)v * d, d, asked + (size_t)v * d);
    if (!index->wide_examples) er_nearest_bytes(index->examples, index->example_scales, index->example_count, d, asked, steps, many, near);
    else if (!nearest_wide(arena, index, d, asked, steps, many, near)) return false;
    er_release(arena, mark);
    return true;
}

float er_twins_among(const er_index *index, uint32_t dimension, const int32_t *tools, uint32_t count, uint32_t k)
{
    if (index->example_twins[k] == 0.0f || index->wide_examples) return index->example_twins[k];
    const int8_t *row = index->examples + (size_t)k * dimension;
    uint32_t alike = 0;
    for (uint32_t p = 0; p < count; p++)
        for (uint32_t i = tools[p] < 0 ? 0 : index->example_starts[tools[p]]; tools[p] >= 0 && i < index->example_starts[tools[p] + 1]; i++)
            alike += !memcmp(index->examples + (size_t)i * dimension, row, dimension);
    return (float)(log(alike) / 10.0);
}

/* x of 16.5 for what examples of these names say, and of the query the nearest of them. */
static bool add_examples(er_request *r, float *statics)
{
    const er_index *index = &r->stage->index;
    if (!index->example_count) return true;
    const er_place mark = er_mark(&r->arena);
    const uint32_t count = index->example_count;
    float *near = ER_TAKE(&r->arena, float, count), *x = ER_TAKE(&r->arena, float, r->n);
    if (!near || !x) return false;
    for (uint32_t k = 0; k < count; k++) near[k] = -INFINITY;
    if (!er_nearest_examples(&r->arena, index, r->dimension, r->vectors, 1, near)) return false;
    for (uint32_t p = 0; p < r->n; p++) {
        const int32_t tool = r->names->tools[p];
        for (uint32_t k = tool < 0 ? 0 : index->example_starts[tool]; tool >= 0 && k < index->example_starts[tool + 1]; k++) {
            if (!r->has_example || near[k] > r->nearest_example) r->nearest_example = near[k];
            r->has_example = true;
        }
    }
    const float *clauses = r->vectors + (size_t)(WHOLE + r->windows) * r->dimension;
    if (!er_nearest_examples(&r->arena, index, r->dimension, clauses, r->clauses, near)) return false;
    for (uint32_t p = 0; r->has_example && p < r->n; p++) {
        x[p] = r->cosines[p] > r->clause[p] ? r->cosines[p] : r->clause[p];
        const int32_t tool = r->names->tools[p];
        for (uint32_t k = tool < 0 ? 0 : index->example_starts[tool]; tool >= 0 && k < index->example_starts[tool + 1]; k++) {
            const float one = near[k] - (er_is_narrow(r) ? er_twins_among(index, r->dimension, r->names->tools, r->n, k) : index->example_twins[k]);
            x[p] = one > x[p] ? one : x[p];
        }
    }
    const float most = er_largest(x, r->n);
    for (uint32_t p = 0; r->has_example && p < r->n; p++) statics[p] += 10.0f * (x[p] - most);
    er_release(&r->arena, mark);
    return true;
}

/* What opposites weigh (16.10), and kinds of values (16.12). */
static bool add_sides_and_values(er_request *r, float *opposed, float *valued)
{
    const er_habits *habits = &r->model->habits;
    const er_prior *w = &r->model->prior;
    const er_sayings *s = r->sayings;
    if (habits->silent || er_is_narrow(r)) return true;
    const er_place mark = er_mark(&r->arena);
    float *a = ER_TAKE(&r->arena, float, habits->tools), *b = ER_TAKE(&r->arena, float, habits->tools);
    if (!a || !b) return false;
    if (s->sides.on || s->sides.negated_count || s->sides.quoted_count) {
        er_opposed(habits, &s->sides, a, b);
        for (uint32_t p = 0; p < r->n; p++)
            if (r->names->tools[p] >= 0)
                opposed[p] += (float)w->tool[ER_TOOL_OPPOSED] * a[r->names->tools[p]] + (float)w->tool[ER_TOOL_AGREES] * b[r->names->tools[p]];
    }
    if (s->values) {
        er_values_of(habits, s->values, r->n, w->values, a);
        for (uint32_t p = 0; p < r->n; p++)
            if (r->names->tools[p] >= 0) valued[p] += (float)w->tool[ER_TOOL_VALUES] * a[r->names->tools[p]];
    }
    er_release(&r->arena, mark);
    return true;
}

/* A request that only asks wants nothing changed (16.13). */
static void add_asking(const er_request *r, float *statics)
{
    const er_habits *habits = &r->model->habits;
    for (uint32_t p = 0; !habits->silent && !er_is_narrow(r) && r->sayings->only_asks && p < r->n; p++)
        if (r->names->tools[p] >= 0 && habits->changes[r->names->tools[p]]) statics[p] -= 2.0f;
}

bool er_evidence_apart(er_request *r, float *words, float *flow, float *values, float *examples)
{
    return add_gives(r, flow) && add_sides_and_values(r, words, values) && add_examples(r, examples);
}

/* S of 16.5, and with it scores before any call. */
static bool read_statics(er_request *r)
{
    const double *w = r->model->prior.tool;
    float *statics = ER_TAKE(&r->arena, float, r->n), *begun = ER_TAKE(&r->arena, float, r->n);
    if (!statics || !begun) return false;
    const float name = (float)w[ER_TOOL_NAME], parameters = (float)w[ER_TOOL_PARAMETERS], coverage = (float)w[ER_TOOL_COVERAGE];
    const float text = (float)w[ER_TOOL_TEXT], window = (float)(10 * w[ER_TOOL_WINDOW]), clause = (float)(10 * w[ER_TOOL_CLAUSE]);
    for (uint32_t p = 0; p < r->n; p++)
        statics[p] = name * r->name[p] + parameters * r->parameters[p] + coverage * r->coverage[p] + text * r->text[p] +
                     window * r->window[p] + clause * r->clause[p];
    if (!add_gives(r, statics) || !add_sides_and_values(r, statics, statics)) return false;
    add_asking(r, statics);
    if (!add_examples(r, statics)) return false;
    for (uint32_t p = 0; r->said_any && p < r->n; p++)
        if (r->said[p]) statics[p] += 10.0f;
    statics[r->end] = 0.0f;
    const float *thirds = r->cosines + r->n, *first = r->cosines + (size_t)(WHOLE + r->windows) * r->n;
    const float third = (float)(10 * w[ER_TOOL_THIRD]), next = (float)(10 * w[ER_TOOL_NEXT_CLAUSE]), later = (float)(10 * w[ER_TOOL_LATER]);
    for (uint32_t p = 0; p < r->n; p++) {
        const float sum = thirds[p] + thirds[r->n + p] + thirds[2 * r->n + p];
        begun[p] = statics[p] + r->names->owed[p] + third * (1.5f * thirds[p] - 0.5f * sum) + next * first[p] + later * r->window[p];
    }
    begun[r->end] = 0.0f;
    r->statics = statics;
    r->begun = begun;
    return true;
}

static bool read_words(er_request *r)
{
    const er_overlap *overlap = r->overlap;
    if (overlap->any_said) {
        bool *said = ER_TAKE(&r->arena, bool, r->n);
        if (!said) return false;
        for (uint32_t p = 0; p < r->n; p++) r->said_any |= said[p] = r->names->tools[p] >= 0 && overlap->said[r->names->tools[p]];
        r->said = said;
    }
    return by_place(r, overlap->name, &r->name) && by_place(r, overlap->parameters, &r->parameters) &&
           by_place(r, overlap->coverage, &r->coverage) && by_place(r, overlap->text, &r->text);
}

bool er_request_read(er_request *r, const er_model *model, const er_stage *stage, const er_points *query, const er_encoded *encoded,
    const bool *allowed, bool part)
{
    return er_request_say(r, model, stage, query, encoded) && er_request_weigh(r, query, stage->names, allowed, part);
}

bool er_request_parts(er_request *r, const er_model *model, const er_stage *stage, const er_points *query, const er_encoded *encoded)
{
    r->model = model;
    r->stage = stage;
    r->dimension = stage->spec.dimension;
    r->encoded = encoded;
    er_sayings *sayings = ER_TAKE(&r->arena, er_sayings, 1);
    if (!sayings || !er_say(&r->arena, query, sayings)) return false;
    r->sayings = sayings;
    return read_vectors(r);
}

bool er_request_say(er_request *r, const er_model *model, const er_stage *stage, const er_points *query, const er_encoded *encoded)
{
    er_overlap *overlap = ER_TAKE(&r->arena, er_overlap, 1);
    r->overlap = overlap;
    return overlap && er_request_parts(r, model, stage, query, encoded) &&
           er_overlap_of(&r->arena, &model->lexicon, stage->names->rarities, stage->names->n, query, overlap);
}

bool er_request_weigh(er_request *r, const er_points *query, const er_names *names, const bool *allowed, bool part)
{
    const er_stage *stage = r->stage;
    r->names = names;
    r->n = names->n;
    r->end = names->end;
    r->labels = names->labels;
    r->allowed = allowed;
    if (!read_words(r)) return false;
    const uint32_t rows = WHOLE + r->windows + r->clauses;
    float *cosines = ER_TAKE(&r->arena, float, (size_t)rows * r->n);
    float *laters = ER_TAKE(&r->arena, float, (size_t)r->windows * r->n);
    if (!cosines || !laters) return false;
    er_many_products(r->names->rows, r->n, r->dimension, r->vectors, rows, cosines);
    r->cosines = cosines;
    const float *windows = cosines + (size_t)WHOLE * r->n;
    memcpy(laters, windows, (size_t)r->windows * r->n * sizeof(float));
    for (uint32_t i = r->windows - 1; i-- > 0;)
        for (uint32_t p = 0; p < r->n; p++) {
            const float behind = laters[(size_t)(i + 1) * r->n + p];
            if (behind > laters[(size_t)i * r->n + p]) laters[(size_t)i * r->n + p] = behind;
        }
    r->laters = laters;
    r->window = laters; /* the first row: the best of all */
    r->clause = best_of(r, windows + (size_t)r->windows * r->n, r->clauses);
    if (!r->clause || !read_statics(r)) return false;
    er_lap(r->watch, ER_AT_SEARCH);
    if (stage->has_head && !er_graph_read(r)) return false;
    er_lap(r->watch, ER_AT_GRAPH);
    if (stage->has_head && !er_head_read(r, query)) return false;
    if (stage->has_memory) er_memory_read(r);
    er_lap(r->watch, ER_AT_HEAD);
    return part || r->sayings->wish_count < 2 || er_wishes_of(r, query);
}
