#include "hnsw.h"

#include "vectors.h"

enum { FROM = 4000, MOST_LEVEL = 15, PLACES = 32, UPPER_PLACES = 16 };

struct er_hnsw {
    er_hnsw_links links;
    const float *rows; /* (rows, dimension): where the graph finds too few, all are compared */
};

/* Who is on which level above 0. */
static bool list_members(er_arena *arena, const int8_t *levels, uint32_t rows, uint32_t above, er_hnsw_links *g)
{
    int32_t *members = ER_TAKE(arena, int32_t, (size_t)above + 1);
    int64_t *begins = ER_TAKE(arena, int64_t, MOST_LEVEL + 1), count = 0;
    if (!members || !begins) return false;
    for (int64_t level = 1; level <= g->levels; level++) {
        begins[level - 1] = count;
        for (uint32_t i = 0; i < rows; i++)
            if (levels[i] >= level) members[count++] = (int32_t)i;
    }
    begins[g->levels] = count;
    g->members = members;
    g->begins = begins;
    return true;
}

static bool check_links(const er_fields *map, const er_array *starts, const er_array *targets, const int8_t *levels, const er_hnsw_links *g)
{
    const int32_t *begin = g->starts, *to = g->targets;
    if (!er_spans_hold(starts->at, starts->rows, targets->rows, false)) return er_field_refuse(map, "its starts do not go from 0 to its links");
    for (uint32_t list = 0, level = 0; list + 1 < starts->rows; list++) {
        while ((int64_t)list >= g->rows && level < g->levels && (int64_t)list - g->rows >= g->begins[level]) level++;
        if (begin[list + 1] - begin[list] > (level ? UPPER_PLACES : PLACES)) return er_field_refuse(map, "a list of more links than its level has");
        for (int32_t i = begin[list]; i < begin[list + 1]; i++)
            if (to[i] < 0 || to[i] >= g->rows || levels[to[i]] < (int32_t)level) return er_field_refuse(map, "a link that leads to none of its elements, or below its level");
    }
    return true;
}

bool er_hnsw_part(const er_part *part, const er_index *index, er_index_kind kind, uint32_t tools, uint32_t dimension, const er_hnsw **found)
{
    er_fields map;
    er_array levels, starts, targets;
    const bool there = er_part_entry(part, "hnsw") != NULL;
    if (kind == ER_INDEX_HNSW && !there)
        return er_refuse(part->arena->error, ER_BAD_BUNDLE,
                         "%s: no HNSW graph in it; choose another index (--index), or build the bundle again with hnsw_from = %u at most",
                         part->shown, tools);
    if (kind == ER_INDEX_EXACT || !there || (kind == ER_INDEX_AUTO && tools < FROM)) return true;
    er_hnsw *made = ER_TAKE(part->arena, er_hnsw, 1);
    if (!made || !er_owned_map(part, "hnsw", &map) || !er_field_array(&map, "levels", "|i1", tools, 0, &levels)) return false;
    er_hnsw_links *g = &made->links;
    const int8_t *level = levels.at;
    uint32_t above = 0;
    for (uint32_t i = 0; i < tools; i++) {
        if (level[i] < 0 || level[i] > MOST_LEVEL) return er_field_refuse(&map, "levels beyond 0 to 15");
        g->levels = level[i] > g->levels ? level[i] : g->levels;
        above += (uint32_t)level[i];
    }
    if (!er_field_whole(&map, "entry", 0, (int64_t)tools - 1, &g->entry)) return false;
    if (level[g->entry] != g->levels) return er_field_refuse(&map, "no entry point on the highest level");
    if (!er_field_array(&map, "starts", "<i4", (int64_t)tools + above + 1, 0, &starts) || !er_field_array(&map, "links", "<i4", ER_ANY, 0, &targets))
        return false;
    g->rows = tools;
    g->dimension = dimension;
    g->starts = starts.at;
    g->targets = targets.at;
    if (!list_members(part->arena, level, tools, above, g) || !check_links(&map, &starts, &targets, level, g)) return false;
    int8_t *few = ER_TAKE(part->arena, int8_t, (size_t)tools * dimension);
    float *scales = ER_TAKE(part->arena, float, tools);
    if (!few || !scales) return false;
    er_to_bytes(index->vectors, tools, dimension, few, scales);
    g->few = few;
    g->scales = scales;
    made->rows = index->vectors;
    *found = made;
    return true;
}

static bool mark_all_compared(er_arena *scratch, const er_hnsw *hnsw, const float *vector, bool *marks)
{
    const uint32_t rows = (uint32_t)hnsw->links.rows;
    float *cosines = ER_TAKE(scratch, float, rows);
    if (!cosines) return false;
    er_products(hnsw->rows, rows, (uint32_t)hnsw->links.dimension, vector, cosines);
    for (uint32_t i = 0; i < rows; i++) cosines[i] += 2.0f; /* above 0, all of them */
    er_mark_largest(cosines, NULL, rows, marks);
    return true;
}

bool er_hnsw_mark(er_arena *scratch, const er_hnsw *hnsw, const float *vector, bool *marks)
{
    const er_place mark = er_mark(scratch);
    int16_t *asked = ER_TAKE(scratch, int16_t, hnsw->links.dimension);
    int64_t found[ER_FOUND], count;
    if (!asked) return false;
    if ((count = er_walk_links(&hnsw->links, vector, ER_FOUND, asked, found)) < 0)
        return er_refuse(scratch->error, ER_NO_MEMORY, "no memory to search among %lld tools", (long long)hnsw->links.rows);
    for (int64_t i = 0; i < count && count == ER_FOUND; i++) marks[found[i]] = true;
    const bool fine = count == ER_FOUND || mark_all_compared(scratch, hnsw, vector, marks);
    er_release(scratch, mark);
    return fine;
}

void er_mark_largest(const float *values, const uint32_t *order, uint32_t count, bool *marks)
{
    uint32_t best[ER_FOUND], kept = 0;
    for (uint32_t i = 0; i < count; i++) {
        const float value = values[order ? order[i] : i];
        if (!(value > 0) || (kept == ER_FOUND && !(value > values[best[kept - 1]]))) continue;
        uint32_t at = kept < ER_FOUND ? kept++ : ER_FOUND - 1;
        for (; at && values[best[at - 1]] < value; at--) best[at] = best[at - 1];
        best[at] = order ? order[i] : i;
    }
    for (uint32_t i = 0; i < kept; i++) marks[best[i]] = true;
}

/* ---- A request among few names ---- */

/* Section 9, candidates: the places of those, rising; how many. */
static uint32_t choose(er_request *few, const bool *allowed, const int32_t *also, uint32_t also_count, uint32_t *at, bool *fine)
{
    const er_names *names = few->stage->names;
    er_arena *arena = &few->arena;
    bool *marks = ER_TAKE(arena, bool, few->model->held), *chosen = ER_TAKE(arena, bool, names->n);
    uint32_t *order = ER_TAKE(arena, uint32_t, names->n), count = 0;
    *fine = marks && chosen && order && (allowed || er_hnsw_mark(arena, few->stage->hnsw, few->vectors, marks));
    if (!*fine) return 0;
    for (uint32_t p = 0; p < names->n; p++)
        if (p != names->end) order[count++] = (uint32_t)names->tools[p];
    if (!allowed) er_mark_largest(few->overlap->coverage, order, count, marks);
    for (uint32_t i = 0; i < also_count && !allowed; i++)
        if (also[i] >= 0) chosen[also[i]] = true;
    count = 0;
    for (uint32_t p = 0; p < names->n; p++)
        if (p <= names->end || chosen[p] || (allowed ? allowed[p] : marks[names->tools[p]])) at[count++] = p;
    return count;
}

/* What others than er_step_probabilities and the like look at, by the places of all names. */
static bool widen(er_request *r, const er_request *few)
{
    const uint32_t n = r->n;
    float *statics = ER_TAKE(&r->arena, float, n);
    uint32_t *at_near = ER_TAKE(&r->arena, uint32_t, n);
    bool *said = ER_TAKE(&r->arena, bool, n);
    if (!statics || !at_near || !said) return false;
    for (uint32_t p = 0; p < n; p++) statics[p] = -INFINITY;
    memset(at_near, 0xff, n * sizeof *at_near);
    for (uint32_t k = 0; k < few->n; k++) {
        at_near[r->near_at[k]] = k;
        statics[r->near_at[k]] = few->statics[k];
        said[r->near_at[k]] = few->said_any && few->said[k];
    }
    r->at_near = at_near;
    r->statics = statics;
    r->said = said;
    r->said_any = few->said_any;
    r->sayings = few->sayings;
    return true;
}

bool er_request_near(er_request *r, const er_model *model, const er_stage *stage, const er_points *query, const er_encoded *encoded,
    const bool *allowed, const int32_t *also, uint32_t also_count)
{
    if (!stage->hnsw) return er_request_read(r, model, stage, query, encoded, allowed, false);
    const er_names *every = stage->names, *names;
    er_request *few = ER_TAKE(&r->arena, er_request, 1);
    uint32_t *at = ER_TAKE(&r->arena, uint32_t, every->n);
    bool *may = allowed ? ER_TAKE(&r->arena, bool, every->n) : NULL;
    if (!few || !at || (allowed && !may)) return false;
    few->watch = r->watch;
    few->arena = r->arena; /* one memory for both: it goes back below */
    bool fine = er_request_say(few, model, stage, query, encoded);
    const uint32_t count = fine ? choose(few, allowed, also, also_count, at, &fine) : 0;
    for (uint32_t k = 0; allowed && k < count; k++) may[k] = allowed[at[k]];
    fine = fine && er_names_at(&few->arena, model, stage, at, count, &names) && er_request_weigh(few, query, names, may, false);
    r->arena = few->arena;
    few->arena = (er_arena){0};
    few->watch = NULL;
    r->model = model;
    r->stage = stage;
    r->names = every;
    r->n = every->n;
    r->end = every->end;
    r->labels = every->labels;
    r->dimension = stage->spec.dimension;
    r->allowed = allowed;
    r->encoded = encoded;
    r->near = few;
    r->near_at = at;
    return fine && widen(r, few);
}
