/* Section 16.8: which tools a request wants, whatever was called and demonstrated. All tools are compared, or among very many
   those that an HNSW graph finds and those that share most words. */

#include <stdlib.h>

#include "hnsw.h"
#include "task.h"
#include "vectors.h"

static const float SAID = 10.0f, EXAMPLE = 10.0f, ASKED = 2.0f, COSINE = 10.0f;

typedef struct {
    er_arena arena;
    er_request request; /* the query's windows and clauses, and their cosines */
    er_encoded encoded;
    er_stage stage;     /* as the model's, but without what was demonstrated */
    er_points points;
    const er_model *model;
    er_overlap overlap;    /* with all tools, and none but these */
    uint32_t tools;        /* that are compared */
    const uint32_t *which; /* (tools): their numbers, rising */
    float *scores;         /* (tools) */
} search;

/* Of a row of cosines the one of a tool that is compared. */
static float at(const search *s, const float *row, uint32_t i) { return row[s->request.names->places[s->which[i]]]; }

static float largest(const search *s, const float *row)
{
    float most = at(s, row, 0);
    for (uint32_t tool = 1; tool < s->tools; tool++) most = at(s, row, tool) > most ? at(s, row, tool) : most;
    return most;
}

/* `window` and `clause_lead`. A tool that one part of a request is all about counts as much as one that the whole of it
   resembles. */
static bool add_cosines(search *s)
{
    const er_request *r = &s->request;
    const double *w = s->model->prior.search;
    const float *clauses = r->cosines + (size_t)(1 + ER_SEGMENTS + r->windows) * r->n;
    float *lead = ER_TAKE(&s->arena, float, s->tools);
    if (!lead) return false;
    for (uint32_t row = 0; row < r->clauses; row++) {
        const float *clause = clauses + (size_t)row * r->n, most = largest(s, clause);
        for (uint32_t tool = 0; tool < s->tools; tool++) {
            const float behind = at(s, clause, tool) - most;
            lead[tool] = row && lead[tool] > behind ? lead[tool] : behind;
        }
    }
    for (uint32_t tool = 0; tool < s->tools; tool++)
        s->scores[tool] += COSINE * ((float)w[ER_SEARCH_WINDOW] * at(s, r->window, tool) + (float)w[ER_SEARCH_CLAUSE_LEAD] * lead[tool]);
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

/* v − 2·h (16.12 and 16.13). */
static bool add_sayings(search *s)
{
    const er_habits *habits = s->model->searched ? &s->model->searched->habits : &s->model->habits;
    const er_sayings *sayings = s->request.sayings;
    const uint32_t every = s->model->tool_count;
    float *values = ER_TAKE(&s->arena, float, every);
    if (!values || habits->silent) return values != NULL;
    if (sayings->values) {
        er_values_of(habits, sayings->values, every, s->model->prior.values, values);
        for (uint32_t i = 0; i < s->tools; i++) s->scores[i] += values[s->which[i]];
    }
    for (uint32_t i = 0; sayings->only_asks && i < s->tools; i++)
        if (habits->changes[s->which[i]]) s->scores[i] -= ASKED;
    return true;
}

/* 10·(x − y) of 16.5, over the tools alone. */
static bool add_examples(search *s)
{
    const er_request *r = &s->request;
    const er_index *index = &s->stage.index;
    const uint32_t count = index->example_count;
    if (!count) return true;
    float *near = ER_TAKE(&s->arena, float, count), *x = ER_TAKE(&s->arena, float, s->tools);
    if (!near || !x) return false;
    for (uint32_t k = 0; k < count; k++) near[k] = -INFINITY;
    const float *clauses = r->vectors + (size_t)(1 + ER_SEGMENTS + r->windows) * r->dimension;
    if (!er_nearest_examples(&s->arena, index, r->dimension, r->vectors, 1, near) ||
        !er_nearest_examples(&s->arena, index, r->dimension, clauses, r->clauses, near))
        return false;
    for (uint32_t i = 0; i < s->tools; i++) {
        const uint32_t tool = s->which[i];
        const float whole = at(s, r->cosines, i), clause = at(s, r->clause, i);
        x[i] = whole > clause ? whole : clause;
        for (uint32_t k = index->example_starts[tool]; k < index->example_starts[tool + 1]; k++) {
            const float less = s->stage.hnsw ? er_twins_among(index, r->dimension, (const int32_t *)s->which, s->tools, k) : index->example_twins[k];
            x[i] = near[k] - less > x[i] ? near[k] - less : x[i];
        }
    }
    bool any = false;
    for (uint32_t i = 0; i < s->tools && !any; i++) any = index->example_starts[s->which[i]] < index->example_starts[s->which[i] + 1];
    const float most = er_largest(x, s->tools);
    for (uint32_t i = 0; any && i < s->tools; i++) s->scores[i] += EXAMPLE * (x[i] - most);
    return true;
}

/* ---- Which tools are compared ---- */

/* All of them; or those near to the query, a window or a clause, and those that share most words. */
static bool choose(search *s)
{
    const er_hnsw *hnsw = s->stage.hnsw;
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

/* What names the request weighs: with few tools compared, these and `<end>` alone. */
static bool weigh(search *s)
{
    const er_names *every = s->stage.names, *names = every;
    if (s->stage.hnsw) {
        uint32_t *at = ER_TAKE(&s->arena, uint32_t, every->n), count = 0;
        bool *marks = ER_TAKE(&s->arena, bool, every->n);
        if (!at || !marks) return false;
        marks[every->end] = true;
        for (uint32_t i = 0; i < s->tools; i++) marks[every->places[s->which[i]]] = true;
        for (uint32_t p = 0; p < every->n; p++)
            if (p <= every->end || marks[p]) at[count++] = p;
        if (!er_names_at(&s->arena, s->model, &s->stage, at, count, &names)) return false;
    }
    return er_request_weigh(&s->request, &s->points, names, NULL, true);
}

/* ---- The best ones ---- */

typedef struct {
    float score;
    uint32_t tool;
} ranked;

/* Equal ones in the index's order. */
static bool is_before(ranked a, ranked b) { return a.score > b.score || (a.score == b.score && a.tool < b.tool); }

static int best_first(const void *a, const void *b)
{
    return is_before(*(const ranked *)a, *(const ranked *)b) ? -1 : is_before(*(const ranked *)b, *(const ranked *)a);
}

/* The best `most` of all, in order. */
static ranked *rank(search *s, uint32_t most)
{
    ranked *found = ER_TAKE(&s->arena, ranked, (size_t)s->tools + 1);
    uint32_t count = 0;
    if (!found) return NULL;
    if (most > 64) { /* few are put in their place as they come */
        for (uint32_t tool = 0; tool < s->tools; tool++) found[tool] = (ranked){s->scores[tool], tool};
        qsort(found, s->tools, sizeof *found, best_first);
        return found;
    }
    for (uint32_t tool = 0; tool < s->tools; tool++) {
        const ranked one = {s->scores[tool], tool};
        if (count == most && (!most || !is_before(one, found[count - 1]))) continue;
        uint32_t place = count < most ? count++ : most - 1;
        for (; place && is_before(one, found[place - 1]); place--) found[place] = found[place - 1];
        found[place] = one;
    }
    return found;
}

static bool write_hits(search *s, er_hit *room, size_t *count)
{
    const uint32_t most = *count < s->tools ? (uint32_t)*count : s->tools;
    const ranked *found = rank(s, most);
    if (!found) return false;
    const float best = er_largest(s->scores, s->tools);
    double sum = 0;
    for (uint32_t tool = 0; tool < s->tools; tool++) sum += exp((double)(s->scores[tool] - best));
    for (uint32_t i = 0; i < most; i++)
        room[i] = (er_hit){s->which[found[i].tool], s->model->tools[s->which[found[i].tool]].name, found[i].score, exp((double)(found[i].score - best)) / sum};
    *count = s->tools;
    return true;
}

static bool find(search *s, er_text query, er_hit *room, size_t *count)
{
    if (!er_check_query(&s->arena, query, &s->points)) return false;
    s->stage = s->model->has_full ? s->model->full : s->model->small;
    s->stage.has_head = s->stage.has_memory = false; /* whatever was demonstrated, search reads nothing of it */
    const er_lexicon *lexicon = s->model->searched ? &s->model->searched->lexicon : &s->model->lexicon;
    s->scores = ER_TAKE(&s->arena, float, s->model->tool_count);
    return s->scores && er_encode_text(&s->arena, s->model, &s->stage, &s->points, NULL, &s->encoded) &&
           er_request_say(&s->request, s->model, &s->stage, &s->points, &s->encoded) &&
           er_overlap_of(&s->arena, lexicon, lexicon->rarities, s->model->tool_count, &s->points, &s->overlap) && choose(s) && weigh(s) &&
           add_cosines(s) && add_words(s) && add_sayings(s) && add_examples(s) && write_hits(s, room, count);
}

er_status er_search(const er_model *model, er_text query, er_hit *room, size_t *count, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    const char *missing = !model ? "model" : !count ? "count" : !room && *count ? "room" : NULL;
    if (missing) return er_refuse(error, ER_BAD_INPUT, "%s is NULL", missing), ER_BAD_INPUT;
    search s = {.arena = {.error = error}, .request = {.arena = {.error = error}}, .model = model};
    const bool done = find(&s, query, room, count);
    er_give_back(&s.request.arena);
    er_give_back(&s.arena);
    if (done) return ER_OK;
    return error->status ? error->status : ER_NO_MEMORY;
}
