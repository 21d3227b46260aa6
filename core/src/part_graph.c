/* Section 7: what followed what. */

#include "distinct.h"
#include "parts.h"
#include "vectors.h"

enum { GLOBAL = -1, PADDING = -1, UNUSED = -2, MOST_ORDER = 16 };

typedef struct {
    const int32_t *keys;
    uint32_t width; /* order + 2 */
} table;

static const int32_t *key_of(const table *t, uint32_t row) { return t->keys + (size_t)row * t->width; }

/* By context, the shortest first, and GLOBAL before every cluster. */
static int compared(const table *t, uint32_t one, uint32_t other)
{
    const int32_t *a = key_of(t, one), *b = key_of(t, other);
    for (uint32_t i = 1; i < t->width; i++)
        if (a[i] != b[i]) return a[i] < b[i] ? -1 : 1;
    return a[0] == b[0] ? 0 : a[0] < b[0] ? -1 : 1;
}

/* Rows in order, by merging: as fast for rows that were made to be slow. */
static uint32_t *ordered(er_arena *arena, const table *t, uint32_t rows)
{
    uint32_t *from = ER_TAKE(arena, uint32_t, rows), *to = ER_TAKE(arena, uint32_t, rows);
    if (!from || !to) return NULL;
    for (uint32_t i = 0; i < rows; i++) from[i] = i;
    for (size_t width = 1; width < rows; width *= 2) {
        for (size_t begin = 0; begin < rows; begin += 2 * width) {
            const size_t middle = begin + width < rows ? begin + width : rows, end = begin + 2 * width < rows ? begin + 2 * width : rows;
            size_t a = begin, b = middle;
            for (size_t i = begin; i < end; i++) to[i] = a < middle && (b == end || compared(t, from[a], from[b]) <= 0) ? from[a++] : from[b++];
        }
        uint32_t *other = from;
        from = to;
        to = other;
    }
    return from;
}

/* The same tables with rows in order, as bundles of ours have them: those of one context lie side by side. */
static bool arrange(const er_fields *map, er_graph *g)
{
    const table t = {g->keys, g->order + 2};
    bool fine = true;
    for (uint32_t i = 1; i < g->rows && fine; i++) fine = compared(&t, i - 1, i) <= 0;
    if (fine) return true;
    const size_t entries = (size_t)g->starts[g->rows];
    int32_t *keys = ER_TAKE(map->arena, int32_t, (size_t)g->rows * t.width), *starts = ER_TAKE(map->arena, int32_t, (size_t)g->rows + 1);
    int32_t *targets = ER_TAKE(map->arena, int32_t, entries);
    float *counts = ER_TAKE(map->arena, float, entries);
    const uint32_t *order = ordered(map->arena, &t, g->rows);
    if (!keys || !starts || !targets || !counts || !order) return false;
    for (uint32_t i = 0; i < g->rows; i++) {
        const int32_t begin = g->starts[order[i]], length = g->starts[order[i] + 1] - begin;
        memcpy(keys + (size_t)i * t.width, key_of(&t, order[i]), t.width * sizeof *keys);
        memcpy(targets + starts[i], g->targets + begin, (size_t)length * sizeof *targets);
        memcpy(counts + starts[i], g->counts + begin, (size_t)length * sizeof *counts);
        starts[i + 1] = starts[i] + length;
    }
    g->keys = keys;
    g->starts = starts;
    g->targets = targets;
    g->counts = counts;
    return true;
}

/* Of rows in order: whether every context is as long as it says, and of labels or PADDING; no row comes twice; and every
   context of a cluster, and the empty one, is counted over all demonstrations too. */
static bool contexts_hold(const er_graph *g, uint32_t labels)
{
    const uint32_t width = g->order + 2;
    for (uint32_t i = 0; i < g->rows; i++) {
        const int32_t *key = g->keys + (size_t)i * width;
        if (key[0] < GLOBAL || (key[0] >= 0 && (uint32_t)key[0] >= g->clusters) || key[1] < 0 || (uint32_t)key[1] > g->order) return false;
        for (uint32_t k = 0; k < g->order; k++) {
            const int32_t entry = key[2 + k];
            if (k < (uint32_t)key[1] ? entry < PADDING || (entry >= 0 && (uint32_t)entry >= labels) : entry != UNUSED) return false;
        }
        const bool first = !i || memcmp(key + 1, key + 1 - width, (width - 1) * sizeof *key);
        if (first ? key[0] != GLOBAL : key[0] == key[-(int64_t)width]) return false;
    }
    return g->keys[1] == 0;
}

static bool index_contexts(const er_fields *map, er_graph *g)
{
    const uint32_t width = g->order + 2;
    uint32_t mask = 15, count = 0;
    for (uint32_t i = 0; i < g->rows; i++) count += g->keys[(size_t)i * width] == GLOBAL;
    while (mask / 2 < count && mask < UINT32_MAX) mask = mask * 2 + 1;
    er_span *contexts = ER_TAKE(map->arena, er_span, (size_t)mask + 1);
    if (!contexts) return false;
    uint64_t looked = 0;
    for (uint32_t i = 0, end; i < g->rows; i = end) {
        for (end = i + 1; end < g->rows && g->keys[(size_t)end * width] != GLOBAL; end++) {}
        uint32_t slot = er_graph_hash(g->keys + (size_t)i * width + 1, g->order + 1) & mask;
        for (; contexts[slot].end; slot = (slot + 1) & mask)
            if (++looked > 1000 + 64 * (uint64_t)count) return er_contradicts(map); /* made to meet in one place */
        contexts[slot] = (er_span){i, end};
    }
    g->contexts = contexts;
    g->context_mask = mask;
    return true;
}

/* Bytes are a quarter of what a search reads; of few centroids most would be compared twice. */
static bool take_bytes(const er_fields *map, uint32_t dimension, er_graph *g)
{
    enum { FEW = 8 };
    if (g->clusters / FEW < g->nearest) return true;
    const size_t blocks = (g->clusters + ER_BLOCK - 1) / ER_BLOCK, rows = blocks * ER_BLOCK;
    int8_t *near = ER_TAKE(map->arena, int8_t, rows * (dimension + dimension % 2));
    float *scales = ER_TAKE(map->arena, float, rows), *errors = ER_TAKE(map->arena, float, rows);
    if (!near || !scales || !errors) return false;
    er_bytes_of(g->centroids, g->clusters, dimension, near, scales, errors);
    g->near = near;
    g->near_blocks = (uint32_t)blocks;
    g->near_scales = scales;
    g->near_errors = errors;
    return true;
}

static bool take_options(const er_fields *map, er_graph *g)
{
    er_fields options;
    int64_t order, nearest;
    if (!er_field_map(map, "options", &options) || !er_field_whole(&options, "order", 1, MOST_ORDER, &order) ||
        !er_field_whole(&options, "nearest", 1, INT64_MAX, &nearest))
        return false;
    g->order = (uint32_t)order;
    g->nearest = nearest > INT32_MAX ? INT32_MAX : (uint32_t)nearest;
    return er_field_number(&options, "temperature", 1e-4, 1e3, &g->temperature) &&
           er_field_number(&options, "cluster_prior", 1e-6, 1e6, &g->cluster_prior) &&
           er_field_number(&options, "global_prior", 1e-6, 1e6, &g->global_prior) &&
           er_field_number(&options, "cluster_share", 0.0, 1.0, &g->cluster_share) &&
           er_field_number(&options, "repeat_factor", 1e-6, 1.0, &g->repeat_factor);
}

static bool tables_hold(const er_graph *g, uint32_t entries, uint32_t labels)
{
    if (!g->clusters || !g->rows || !er_spans_hold(g->starts, g->rows + 1, entries, true)) return false;
    bool fine = true;
    for (uint32_t i = 0; i < entries; i++) fine &= g->counts[i] > 0.0f && (uint32_t)g->targets[i] < labels;
    return fine;
}

bool er_graph_part(const er_part *part, const er_spec *spec, const er_text *labels, uint32_t label_count, er_graph *g)
{
    er_fields map;
    const er_text *own;
    uint32_t own_count;
    er_array centroids, keys, starts, targets, counts;
    if (!er_owned_map(part, "graph", &map) || !er_field_texts(&map, "labels", &own, &own_count)) return false;
    bool same = own_count == label_count;
    for (uint32_t i = 0; i < own_count && same; i++) same = er_same(own[i], labels[i]);
    if (!same)
        return er_refuse(part->arena->error, ER_BAD_BUNDLE, "%s: graph and head decide between different tools; build the bundle again", part->shown);
    if (!take_options(&map, g) || !er_field_array(&map, "centroids", "<f4", ER_ANY, spec->dimension, &centroids) ||
        !er_field_array(&map, "keys", "<i4", ER_ANY, g->order + 2, &keys) ||
        !er_field_array(&map, "starts", "<i4", (int64_t)keys.rows + 1, 0, &starts) ||
        !er_field_array(&map, "targets", "<i4", ER_ANY, 0, &targets) || !er_field_array(&map, "counts", "<f4", targets.rows, 0, &counts))
        return false;
    if (!er_units(centroids.at, centroids.rows, spec->dimension))
        return er_refuse(part->arena->error, ER_BAD_BUNDLE, "%s: its centroids are not of length 1; build the bundle again", map.where);
    g->centroids = centroids.at;
    g->clusters = centroids.rows;
    g->keys = keys.at;
    g->rows = keys.rows;
    g->starts = starts.at;
    g->targets = targets.at;
    g->counts = counts.at;
    if (!tables_hold(g, targets.rows, label_count)) return er_contradicts(&map);
    if (!arrange(&map, g)) return false;
    if (!contexts_hold(g, label_count)) return er_contradicts(&map);
    return index_contexts(&map, g) && take_bytes(&map, spec->dimension, g);
}
