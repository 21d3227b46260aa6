/* Section 16.8: which tools a request wants by their own words. All tools are compared, or among very many
   those that an HNSW graph finds and those that share most words. */

#include "search.h"

#include "hnsw.h"
#include "names.h"
#include "vectors.h"

static const float SAID = 10.0f, EXAMPLE = 10.0f, FOREIGN_EXAMPLE = 25.0f, ASKED = 2.0f, COSINE = 10.0f;

typedef er_search_by search;

/* The largest of so many rows, (tools). */
static float *best_of(search *s, const float *rows, uint32_t count)
{
    float *best = ER_TAKE(&s->arena, float, s->tools);
    if (!best) return NULL;
    memcpy(best, rows, s->tools * sizeof *best);
    for (uint32_t i = 1; i < count; i++)
        for (uint32_t tool = 0; tool < s->tools; tool++) {
            const float one = rows[(size_t)i * s->tools + tool];
            best[tool] = one > best[tool] ? one : best[tool];
        }
    return best;
}

static const float *clauses_of(const search *s) { return s->cosines + (size_t)(1 + s->request.windows) * s->tools; }

/* `window` and `clause_lead`. A tool that one part of a request is all about counts as much as one that the whole of it
   resembles. */
static bool add_cosines(search *s)
{
    const double *w = s->model->prior.search;
    float *lead = ER_TAKE(&s->arena, float, s->tools), *window = best_of(s, s->cosines + s->tools, s->request.windows);
    if (!lead || !window) return false;
    for (uint32_t row = 0; row < s->request.clauses; row++) {
        const float *clause = clauses_of(s) + (size_t)row * s->tools, most = er_largest(clause, s->tools);
        for (uint32_t tool = 0; tool < s->tools; tool++) {
            const float behind = clause[tool] - most;
            lead[tool] = row && lead[tool] > behind ? lead[tool] : behind;
        }
    }
    for (uint32_t tool = 0; tool < s->tools; tool++)
        s->scores[tool] += COSINE * ((float)w[ER_SEARCH_WINDOW] * window[tool] + (float)w[ER_SEARCH_CLAUSE_LEAD] * lead[tool]);
    return true;
}

/* What words say: rarities are those among the tools alone. */
static bool add_words(search *s)
{
    const double *w = s->model->prior.search;
    const uint32_t every = s->model->tool_count;
    const er_overlap *o = &s->overlap;
    er_lexicon lexicon = s->model->searched ? s->model->searched->lexicon : s->model->lexicon;
    float *name = ER_TAKE(&s->arena, float, every), *coverage = ER_TAKE(&s->arena, float, every);
    if (!name || !coverage) return false;
    if (!lexicon.forms_vectors && !er_lexicon_vectors(&s->arena, &lexicon, er_word_vector, s->model)) return false;
    if (!er_alike(&s->arena, &lexicon, o, er_word_vector, s->model, name, coverage)) return false;
    for (uint32_t i = 0; i < s->tools; i++) {
        const uint32_t tool = s->which[i];
        s->scores[i] += (float)w[ER_SEARCH_NAME] * name[tool] + (float)w[ER_SEARCH_COVERAGE] * coverage[tool] +
                        (float)w[ER_SEARCH_TEXT] * o->text[tool] + (float)w[ER_SEARCH_PARAMETERS] * o->parameters[tool];
        if (o->any_said && o->said[tool]) s->scores[i] += SAID;
    }
    return true;
}

/* What opposites weigh, and v − 2·h (16.10, 16.12 and 16.13). */
static bool add_sayings(search *s)
{
    const er_habits *habits = s->model->searched ? &s->model->searched->habits : &s->model->habits;
    const er_sayings *sayings = s->request.sayings;
    const uint32_t every = s->model->tool_count;
    const double *w = s->model->prior.tool;
    float *values = ER_TAKE(&s->arena, float, every), *agrees = ER_TAKE(&s->arena, float, every);
    if (!values || !agrees || habits->silent) return values && agrees;
    if (sayings->sides.on || sayings->sides.negated_count || sayings->sides.quoted_count) {
        float *opposed = values;
        er_opposed(habits, &sayings->sides, opposed, agrees);
        for (uint32_t i = 0; i < s->tools; i++)
            s->scores[i] += (float)w[ER_TOOL_OPPOSED] * opposed[s->which[i]] + (float)w[ER_TOOL_AGREES] * agrees[s->which[i]];
    }
    if (sayings->values) {
        er_values_of(habits, sayings->values, every, s->model->prior.values, values);
        for (uint32_t i = 0; i < s->tools; i++) s->scores[i] += values[s->which[i]];
    }
    for (uint32_t i = 0; sayings->only_asks && i < s->tools; i++)
        if (habits->changes[s->which[i]]) s->scores[i] -= ASKED;
    return true;
}

/* 10·(x − y) of 16.5, over the tools alone. Tools are described in English, so that words say little of a text in another
   language; examples count more there. */
static bool add_examples(search *s)
{
    const er_request *r = &s->request;
    const er_index *index = &s->stage->index;
    const uint32_t count = index->example_count;
    bool any = false;
    for (uint32_t i = 0; count && i < s->tools && !any; i++) any = index->example_starts[s->which[i]] < index->example_starts[s->which[i] + 1];
    if (!any) return true;
    float *near = ER_TAKE(&s->arena, float, count), *x = best_of(s, clauses_of(s), r->clauses);
    if (!near || !x) return false;
    for (uint32_t k = 0; k < count; k++) near[k] = -INFINITY;
    const float *clauses = r->vectors + (size_t)(1 + ER_SEGMENTS + r->windows) * r->dimension;
    if (!er_nearest_examples(&s->arena, index, r->dimension, r->vectors, 1, near) ||
        !er_nearest_examples(&s->arena, index, r->dimension, clauses, r->clauses, near))
        return false;
    for (uint32_t i = 0; i < s->tools; i++) {
        const uint32_t tool = s->which[i];
        x[i] = s->cosines[i] > x[i] ? s->cosines[i] : x[i];
        for (uint32_t k = index->example_starts[tool]; k < index->example_starts[tool + 1]; k++) {
            const float less = s->stage->hnsw ? er_twins_among(index, r->dimension, (const int32_t *)s->which, s->tools, k) : index->example_twins[k];
            x[i] = near[k] - less > x[i] ? near[k] - less : x[i];
        }
    }
    const float most = er_largest(x, s->tools), weight = r->sayings->language == ER_EN ? EXAMPLE : FOREIGN_EXAMPLE;
    for (uint32_t i = 0; i < s->tools; i++) s->scores[i] += weight * (x[i] - most);
    return true;
}

/* ---- Which tools are compared ---- */

/* All of them; or those near to the query, a window or a clause, and those that share most words. */
static bool choose(search *s)
{
    const er_hnsw *hnsw = s->stage->hnsw;
    const er_request *r = &s->request;
    const uint32_t every = s->model->tool_count;
    bool *marks = ER_TAKE(&s->arena, bool, every);
    uint32_t *which = ER_TAKE(&s->arena, uint32_t, every);
    if (!marks || !which) return false;
    for (uint32_t row = 0; hnsw && row < 1 + r->windows + r->clauses; row++)
        if (!er_hnsw_mark(&s->arena, hnsw, r->vectors + (size_t)(row ? ER_SEGMENTS + row : 0) * r->dimension, marks)) return false;
    if (hnsw) er_mark_largest(s->overlap.name, NULL, every, marks);
    if (hnsw) er_mark_largest(s->overlap.text, NULL, every, marks);
    for (uint32_t tool = 0; tool < every; tool++)
        if (!hnsw || marks[tool]) which[s->tools++] = tool;
    s->which = which;
    return true;
}

/* Of the text, its windows and its clauses to these tools. */
static bool compare(search *s, bool parts)
{
    const er_request *r = &s->request;
    const uint32_t d = s->stage->spec.dimension, rows = parts ? r->windows + r->clauses : 0;
    const float *vectors = s->stage->index.vectors;
    float *found = ER_TAKE(&s->arena, float, (size_t)(1 + rows) * s->tools);
    s->scores = ER_TAKE(&s->arena, float, s->tools);
    if (!found || !s->scores) return false;
    if (s->tools < s->model->tool_count) { /* side by side */
        float *near = ER_TAKE(&s->arena, float, (size_t)s->tools * d);
        if (!near) return false;
        for (uint32_t i = 0; i < s->tools; i++) memcpy(near + (size_t)i * d, vectors + (size_t)s->which[i] * d, d * sizeof *near);
        vectors = near;
    }
    er_products(vectors, s->tools, d, s->encoded->vector, found);
    if (rows) er_many_products(vectors, s->tools, d, r->vectors + (size_t)(1 + ER_SEGMENTS) * d, rows, found + s->tools);
    s->cosines = found;
    return true;
}

bool er_hybrid(search *s)
{
    const er_lexicon *lexicon = s->model->searched ? &s->model->searched->lexicon : &s->model->lexicon;
    return er_request_parts(&s->request, s->model, s->stage, &s->points, s->encoded) &&
           er_overlap_of(&s->arena, lexicon, lexicon->rarities, s->model->tool_count, &s->points, &s->overlap) && choose(s) &&
           compare(s, true) && add_cosines(s) && add_words(s) && add_sayings(s) && add_examples(s);
}

bool er_by_description(search *s)
{
    uint32_t *which = ER_TAKE(&s->arena, uint32_t, s->model->tool_count);
    if (!which) return false;
    while (s->tools < s->model->tool_count) which[s->tools] = s->tools, s->tools++;
    s->which = which;
    if (!compare(s, false)) return false;
    memcpy(s->scores, s->cosines, s->tools * sizeof *s->scores);
    return true;
}
