/* Section 8: head, memory, familiarity. */

#include "distinct.h"
#include "parts.h"
#include "vectors.h"

enum { MOST_CALLS_OF_A_PLAN = 255, SPELLING = 1024 };

/* ---- 8.1 Head ---- */

/* All different, `<end>` the last, all others in the index. */
static bool take_labels(const er_fields *map, const er_text *names, uint32_t tools, er_stage *stage, const er_text **labels)
{
    er_places places;
    int64_t alike;
    if (!er_field_texts(map, "labels", labels, &stage->label_count)) return false;
    const uint32_t n = stage->label_count;
    if (!er_first_alike(map->arena, *labels, n, &alike)) return false;
    if (!n || alike >= 0) return er_field_refuse(map, "no labels in it, or one of them twice");
    if (!er_is((*labels)[n - 1], "<end>")) return er_field_refuse(map, "its labels do not end in <end>");
    int32_t *found = ER_TAKE(map->arena, int32_t, n);
    if (!found || !er_places_of(map->arena, names, tools, &places, &alike)) return false;
    for (uint32_t i = 0; i + 1 < n; i++) {
        found[i] = (int32_t)er_place_of(&places, (*labels)[i]);
        if (found[i] < 0)
            return er_refuse(map->arena->error, ER_BAD_BUNDLE, "%s: the label \"%s\" is no tool of the index; build the bundle again", map->where,
                             er_show((*labels)[i]).at);
    }
    found[n - 1] = ER_END;
    stage->label_tools = found;
    return true;
}

/* Rows of the history lead nowhere else, and name no label twice. */
static bool take_history(const er_fields *map, uint32_t labels, er_head *head)
{
    er_array starts, followers, values;
    if (!er_field_array(map, "starts", "<i4", 2 * (int64_t)labels + 1, 0, &starts) ||
        !er_field_array(map, "followers", "<i4", ER_ANY, 0, &followers) || !er_field_halves(map, "values", followers.rows, 0, &values))
        return false;
    head->starts = starts.at;
    head->followers = followers.at;
    head->values = values.at;
    bool fine = er_spans_hold(head->starts, starts.rows, followers.rows, false);
    for (uint32_t row = 0; row < 2 * labels && fine; row++)
        for (int32_t k = head->starts[row]; k < head->starts[row + 1] && fine; k++)
            fine = (uint32_t)head->followers[k] < labels && (k == head->starts[row] || head->followers[k] > head->followers[k - 1]);
    return fine || er_field_refuse(map, "the rows of its history contradict each other");
}

/* By name in the file, by tool here; the last one counts, should a name stand there twice. */
bool er_popular_of(er_arena *arena, const er_text *names, uint32_t tools, er_head *head)
{
    er_places places;
    int64_t alike;
    float *popular = ER_TAKE(arena, float, tools);
    if (!popular) return false;
    head->popular = popular;
    const er_place before = er_mark(arena);
    const bool fine = er_places_of(arena, names, tools, &places, &alike);
    for (uint32_t i = 0; i < head->popular_count && fine; i++) {
        const int64_t tool = er_place_of(&places, head->popular_names[i]);
        if (tool >= 0) popular[tool] = head->popular_values[i];
        else if (er_is(head->popular_names[i], "<end>")) head->popular_end = head->popular_values[i];
    }
    er_release(arena, before);
    return fine;
}

static bool take_popular(const er_fields *map, const er_text *names, uint32_t tools, er_head *head)
{
    er_array values;
    if (!er_field_texts(map, "popular_names", &head->popular_names, &head->popular_count) ||
        !er_field_array(map, "popular", "<f4", head->popular_count, 0, &values))
        return false;
    head->popular_values = values.at;
    return er_popular_of(map->arena, names, tools, head);
}

/* A request has few buckets, whose rows lie together then. */
static bool turn(er_arena *arena, er_head *head, uint32_t labels)
{
    enum { MOST_TURNED = 512 };
    if (head->spelling_bytes != SPELLING || labels > MOST_TURNED) return true;
    head->bucket_labels = (labels + 15) / 16 * 16;
    int8_t *buckets = ER_TAKE(arena, int8_t, (size_t)SPELLING * head->bucket_labels);
    if (!buckets) return false;
    for (uint32_t bucket = 0; bucket < SPELLING; bucket++)
        for (uint32_t label = 0; label < labels; label++)
            buckets[(size_t)bucket * head->bucket_labels + label] = (int8_t)head->spelling[(size_t)label * SPELLING + bucket];
    head->buckets = buckets;
    return true;
}

static bool take_head(const er_fields *map, const er_text *names, uint32_t tools, er_stage *stage, const er_text **labels)
{
    er_head *head = &stage->head;
    er_array weights, bias, count, segments, spelling;
    if (!take_labels(map, names, tools, stage, labels)) return false;
    const uint32_t n = stage->label_count;
    if (!er_field_halves(map, "count", ER_ANY, n, &count) || !er_field_array(map, "segment_weights", "<f4", ER_ANY, 3, &segments)) return false;
    if (!count.rows || !segments.rows) return er_field_refuse(map, "\"count\" or \"segment_weights\" has no rows");
    if (!take_history(map, n, head) || !er_field_array(map, "weights", "|i1", n, stage->spec.dimension, &weights) ||
        !er_field_scales(map, "weight_scales", n, &head->weight_scales) || !er_field_array(map, "bias", "<f4", n, 0, &bias) ||
        !er_field_number(map, "description_weight", -1e4, 1e4, &head->description_weight) ||
        !er_field_number(map, "prior_weight", -1e4, 1e4, &head->prior_weight) || !er_field_truth(map, "prior_steps", &head->prior_steps) ||
        !take_popular(map, names, tools, head) || !er_field_array(map, "spelling", "|i1", n, ER_ANY, &spelling) ||
        !er_field_scales(map, "spelling_scales", n, &head->spelling_scales))
        return false;
    if (spelling.columns != SPELLING && spelling.columns != SPELLING / 2)
        return er_field_refuse(map, "\"spelling\" must have rows of 1024 bytes, or of half as many");
    head->weights = weights.at;
    head->bias = bias.at;
    head->count = count.at;
    head->count_rows = count.rows;
    head->segment_weights = segments.at;
    head->stages = segments.rows;
    head->spelling = spelling.at;
    head->spelling_bytes = spelling.columns;
    return turn(map->arena, head, n);
}

/* ---- 8.2 Memory ---- */

static bool take_memory(const er_part *part, er_stage *stage)
{
    er_memory *memory = &stage->memory;
    er_fields map;
    er_array vectors, starts, calls;
    if (!er_owned_map(part, "memory", &map) || !er_field_halves(&map, "vectors", ER_ANY, stage->spec.dimension, &vectors) ||
        !er_field_array(&map, "starts", "<i4", (int64_t)vectors.rows + 1, 0, &starts) || !er_field_array(&map, "calls", "<i4", ER_ANY, 0, &calls))
        return false;
    *memory = (er_memory){vectors.at, starts.at, calls.at, vectors.rows};
    bool fine = vectors.rows && er_spans_hold(memory->starts, starts.rows, calls.rows, false);
    for (uint32_t i = 0; i < vectors.rows && fine; i++) fine = memory->starts[i + 1] - memory->starts[i] <= MOST_CALLS_OF_A_PLAN;
    for (uint32_t i = 0; i < calls.rows && fine; i++) fine = memory->calls[i] >= 0 && (uint32_t)memory->calls[i] + 1 < stage->label_count;
    return (fine && er_units(memory->vectors, memory->plans, stage->spec.dimension)) || er_contradicts(&map);
}

bool er_heads_part(const er_part *part, const er_text *names, uint32_t tools, er_stage *stage, const er_text **labels)
{
    static const int32_t end_alone[] = {ER_END};
    const bool head = er_part_entry(part, "head"), graph = er_part_entry(part, "graph"), memory = er_part_entry(part, "memory");
    stage->label_count = 1;
    stage->label_tools = end_alone;
    *labels = NULL;
    if (head != graph || (memory && !head))
        return er_refuse(part->arena->error, ER_BAD_BUNDLE, "%s: graph, head and memory come together or not at all; build the bundle again",
                         part->shown);
    if (!head) return true;
    er_fields map;
    stage->has_head = true;
    stage->has_memory = memory;
    return er_owned_map(part, "head", &map) && take_head(&map, names, tools, stage, labels) &&
           er_graph_part(part, &stage->spec, *labels, stage->label_count, &stage->graph) && (!memory || take_memory(part, stage));
}

/* ---- 8.3 Familiarity ---- */

bool er_familiarity_part(const er_part *part, const er_spec *spec, uint32_t labels, er_familiarity *found)
{
    er_fields map;
    er_array means, tools, scales, counts;
    if (!er_owned_map(part, "familiarity", &map) || !er_field_array(&map, "means", "|i1", ER_ANY, ER_ANY, &means) ||
        !er_field_array(&map, "tools", "<i4", means.rows, 0, &tools) || !er_field_array(&map, "scales", "<f4", means.rows, 0, &scales) ||
        !er_field_array(&map, "counts", "<f4", means.rows, 0, &counts))
        return false;
    const uint32_t rows = means.rows, d = spec->dimension;
    if (rows && means.columns != d)
        return er_refuse(part->arena->error, ER_BAD_BUNDLE, "%s: vectors of %u numbers, the encoder gives %u", map.where, means.columns, d);
    float *wide = ER_TAKE(part->arena, float, (size_t)rows * d);
    if (!wide) return false;
    *found = (er_familiarity){.tools = tools.at, .means = wide, .counts = counts.at, .rows = rows};
    bool fine = true;
    for (uint32_t i = 0; i < rows && fine; i++) {
        float *mean = wide + (size_t)i * d;
        const float scale = ((const float *)scales.at)[i];
        for (uint32_t k = 0; k < d; k++) mean[k] = (float)((const int8_t *)means.at)[(size_t)i * d + k] * scale;
        fine = er_dot(mean, mean, d) <= 1.05f && found->counts[i] > 0.0f && found->tools[i] >= 0 && (uint32_t)found->tools[i] + 1 < labels &&
               (!i || found->tools[i] > found->tools[i - 1]);
    }
    if (!fine) return er_contradicts(&map);
    return er_field_number(&map, "no_tool", 0.0, 1e12, &found->no_tool) && er_field_number(&map, "edge", 1e-3, 10.0, &found->edge);
}
