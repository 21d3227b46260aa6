#include "names.h"

#include "vectors.h"

static const float EXAMPLE_COUNT = 0.5f; /* of a demonstration, that a sentence counts for (section 9) */

/* The pairs of tools as pairs of places, by one end and by the other. */
static bool linked(er_arena *arena, const er_pairs *pairs, const er_names *names, uint32_t tools, er_links *links)
{
    links->any = pairs->pairs > 0;
    uint32_t *giver_starts = ER_TAKE(arena, uint32_t, names->n + 1), *taker_starts = ER_TAKE(arena, uint32_t, names->n + 1);
    uint32_t *givers = ER_TAKE(arena, uint32_t, pairs->pairs + 1), *takers = ER_TAKE(arena, uint32_t, pairs->pairs + 1);
    if (!giver_starts || !taker_starts || !givers || !takers) return false;
    for (uint32_t p = 0, a = 0, b = 0; p < names->n; p++) {
        const int32_t tool = names->tools[p];
        if (tool >= 0 && pairs->pairs && (uint32_t)tool < tools) {
            for (uint32_t i = pairs->giver_starts[tool]; i < pairs->giver_starts[tool + 1]; i++)
                givers[a++] = names->places[pairs->givers[i]];
            for (uint32_t i = pairs->taker_starts[tool]; i < pairs->taker_starts[tool + 1]; i++)
                takers[b++] = names->places[pairs->takers[i]];
        }
        giver_starts[p + 1] = a;
        taker_starts[p + 1] = b;
    }
    links->giver_starts = giver_starts;
    links->givers = givers;
    links->taker_starts = taker_starts;
    links->takers = takers;
    return true;
}

/* μ, and how far every row is from it (16.6). */
static bool centred(er_arena *arena, er_names *names, uint32_t dimension)
{
    float *mean = ER_TAKE(arena, float, dimension), *lengths = ER_TAKE(arena, float, names->n);
    if (!mean || !lengths) return false;
    for (uint32_t p = 0; p < names->n; p++) er_add(mean, 1.0f, names->rows + (size_t)p * dimension, dimension);
    const float by = 1.0f / (float)(names->n > 2 ? names->n - 1 : 1);
    for (uint32_t i = 0; i < dimension; i++) mean[i] *= by;
    const float square = er_dot(mean, mean, dimension);
    for (uint32_t p = 0; p < names->n; p++) {
        const float *row = names->rows + (size_t)p * dimension;
        const float apart = er_dot(row, row, dimension) - 2.0f * er_dot(row, mean, dimension) + square;
        lengths[p] = sqrtf(apart > 1e-9f ? apart : 1e-9f);
    }
    names->mean = mean;
    names->lengths = lengths;
    return true;
}

/* What requests are compared with: what was demonstrated, or else the sentences that tools show (section 9). */
static bool familiar(er_arena *arena, const er_stage *stage, er_names *names, uint32_t tools)
{
    const er_index *index = &stage->index;
    const uint32_t d = stage->spec.dimension;
    er_familiarity *found = &names->familiarity;
    *found = stage->familiarity;
    uint32_t rows = found->rows;
    if (!stage->has_head && index->example_count) {
        float *means = ER_TAKE(arena, float, (size_t)tools * d), *counts = ER_TAKE(arena, float, tools);
        int32_t *at = ER_TAKE(arena, int32_t, tools);
        if (!means || !counts || !at) return false;
        rows = 0;
        for (uint32_t tool = 0; tool < tools; tool++) {
            const uint32_t begin = index->example_starts[tool], end = index->example_starts[tool + 1];
            if (begin == end) continue;
            float *mean = means + (size_t)rows * d;
            for (uint32_t i = begin; i < end; i++)
                for (uint32_t k = 0; k < d; k++) {
                    const size_t one = (size_t)i * d + k;
                    const float number = index->wide_examples ? index->wide_examples[one] : (float)index->examples[one] * index->example_scales[i];
                    mean[k] += number / (float)(end - begin);
                }
            counts[rows] = EXAMPLE_COUNT * (float)(end - begin);
            at[rows++] = (int32_t)names->places[tool];
        }
        found->means = means;
        found->counts = counts;
        found->tools = at;
        found->rows = rows;
    }
    float *squares = ER_TAKE(arena, float, rows + 1);
    uint32_t *places = ER_TAKE(arena, uint32_t, rows + 1);
    if (!squares || !places) return false;
    for (uint32_t i = 0; i < rows; i++) {
        const float *mean = found->means + (size_t)i * d;
        squares[i] = 1.0f + er_dot(mean, mean, d);
        places[i] = (uint32_t)found->tools[i];
        names->familiar_count += found->counts[i];
    }
    names->familiar_squares = squares;
    names->familiar_places = places;
    return true;
}

bool er_names_of(er_arena *arena, const er_model *model, const er_stage *stage, const er_names **made)
{
    const uint32_t tools = model->held, d = stage->spec.dimension, labels = stage->has_head ? stage->label_count : 1;
    er_names *names = ER_TAKE(arena, er_names, 1);
    int32_t *tool_of = ER_TAKE(arena, int32_t, (size_t)tools + 1);
    uint32_t *places = ER_TAKE(arena, uint32_t, tools);
    float *rows = ER_TAKE(arena, float, ((size_t)tools + 1) * d);
    float *popular = ER_TAKE(arena, float, (size_t)tools + 1), *owed = ER_TAKE(arena, float, (size_t)tools + 1);
    bool *labelled = ER_TAKE(arena, bool, tools), *allowed = ER_TAKE(arena, bool, (size_t)tools + 1);
    if (!names || !tool_of || !places || !rows || !popular || !owed || !labelled || !allowed) return false;
    uint32_t n = 0;
    for (; n + 1 < labels; n++) {
        tool_of[n] = stage->label_tools[n];
        labelled[tool_of[n]] = true;
    }
    names->end = n;
    popular[n] = stage->has_head ? stage->head.popular_end : 0.0f;
    tool_of[n++] = ER_END;
    for (uint32_t tool = 0; tool < tools; tool++)
        if (!labelled[tool]) tool_of[n++] = (int32_t)tool;
    for (uint32_t p = 0; p < n; p++) {
        const int32_t tool = tool_of[p];
        if (tool < 0) continue;
        places[tool] = p;
        allowed[p] = (uint32_t)tool < model->tool_count;
        memcpy(rows + (size_t)p * d, stage->index.vectors + (size_t)tool * d, d * sizeof(float));
        if (stage->has_head && stage->head.popular) popular[p] = stage->head.popular[tool];
    }
    allowed[names->end] = true;
    names->allowed = tools > model->tool_count ? allowed : NULL;
    names->n = names->every = n;
    names->labels = labels;
    names->tools = tool_of;
    names->places = places;
    names->rows = rows;
    names->popular = popular;
    if (!linked(arena, &model->flow.named, names, tools, &names->named) ||
        !linked(arena, &model->flow.keyed, names, tools, &names->keyed) || !centred(arena, names, d) ||
        !familiar(arena, stage, names, tools) || !er_rarities(arena, &model->lexicon, n, &names->rarities))
        return false;
    for (uint32_t p = 0; p < n; p++) {
        if (names->named.giver_starts[p] < names->named.giver_starts[p + 1])
            owed[p] += (float)model->prior.tool[ER_TOOL_STILL_NEEDED];
        if (names->keyed.giver_starts[p] < names->keyed.giver_starts[p + 1])
            owed[p] += (float)model->prior.tool[ER_TOOL_KEY_STILL_NEEDED];
    }
    names->owed = owed;
    *made = names;
    return true;
}

static const float *some(er_arena *arena, const float *values, const uint32_t *at, uint32_t count)
{
    float *found = ER_TAKE(arena, float, count);
    for (uint32_t p = 0; found && p < count; p++) found[p] = values[at[p]];
    return found;
}

bool er_names_at(er_arena *arena, const er_model *model, const er_stage *stage, const uint32_t *at, uint32_t count, const er_names **made)
{
    const er_names *every = stage->names;
    const uint32_t d = stage->spec.dimension, familiar_rows = every->familiarity.rows;
    er_names *names = ER_TAKE(arena, er_names, 1);
    int32_t *tools = ER_TAKE(arena, int32_t, count);
    uint32_t *places = ER_TAKE(arena, uint32_t, model->held), *familiar_places = ER_TAKE(arena, uint32_t, familiar_rows + 1);
    uint32_t *back = ER_TAKE(arena, uint32_t, every->n);
    uint32_t *nobody = ER_TAKE(arena, uint32_t, (size_t)count + 1);
    float *rows = ER_TAKE(arena, float, (size_t)count * d), *owed = ER_TAKE(arena, float, count);
    if (!names || !tools || !places || !familiar_places || !back || !nobody || !rows || !owed) return false;
    *names = *every; /* and what differs: */
    memset(places, 0xff, model->held * sizeof *places);
    memset(back, 0xff, every->n * sizeof *back);
    for (uint32_t p = 0; p < count; p++) {
        tools[p] = every->tools[at[p]];
        back[at[p]] = p;
        if (tools[p] >= 0) places[tools[p]] = p;
        memcpy(rows + (size_t)p * d, every->rows + (size_t)at[p] * d, d * sizeof *rows);
    }
    for (uint32_t i = 0; i < familiar_rows; i++) familiar_places[i] = back[every->familiar_places[i]];
    names->n = count;
    names->narrow = true;
    names->tools = tools;
    names->places = places;
    names->rows = rows;
    names->owed = owed;
    names->familiar_places = familiar_places;
    names->allowed = NULL;
    names->named = names->keyed = (er_links){.giver_starts = nobody, .taker_starts = nobody};
    names->popular = some(arena, every->popular, at, count);
    *made = names;
    return names->popular && centred(arena, names, d);
}
