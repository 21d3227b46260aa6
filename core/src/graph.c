/* Section 7: what followed what, in the clusters of requests like this one. */

#include <stdlib.h>

#include "request.h"
#include "vectors.h"

enum { PADDING = -1, UNUSED = -2, UNKNOWN = -3, MOST_ORDER = 16 };

/* Adds weight · C(cluster, context, ·) to `counts`; what all weighs together. */
static double add_row(const er_graph *g, uint32_t row, double weight, float *counts)
{
    double sum = 0.0;
    for (int32_t i = g->starts[row]; i < g->starts[row + 1]; i++) {
        counts[g->targets[i]] += (float)(weight * g->counts[i]);
        sum += (double)g->counts[i];
    }
    return weight * (float)sum;
}

/* The row of a cluster among a context's, or their end. Clusters rise, so it stands at its number at most, and before that
   by no more places than there are clusters without a row. */
static uint32_t row_of(const er_graph *g, er_span rows, uint32_t cluster)
{
    const uint32_t own = rows.end - rows.begin - 1, missing = g->clusters - own, width = g->order + 2;
    uint32_t low = cluster > missing ? cluster - missing : 0, high = cluster < own ? cluster + 1 : own;
    while (low < high) {
        const uint32_t middle = low + (high - low) / 2, row = rows.begin + 1 + middle;
        const int32_t found = g->keys[(size_t)row * width];
        if (found == (int32_t)cluster) return row;
        if (found < (int32_t)cluster) low = middle + 1;
        else high = middle;
    }
    return rows.end;
}

/* One level of the recursion: Ḡ and P of a context from those of the shorter one; `counts` comes and goes with zeros. */
static void level(const er_request *r, const int32_t *context, float *global, float *local, float *counts, bool first)
{
    const er_graph *g = &r->stage->graph;
    const double beta = g->cluster_prior, gamma = g->global_prior, sigma = g->cluster_share;
    const uint32_t labels = r->labels;
    const er_span rows = er_graph_rows(g, context);
    double total = 0;
    if (rows.end) {
        const double all = add_row(g, rows.begin, 1.0, counts);
        const double by = 1.0 / (all + gamma);
        for (uint32_t y = 0; y < labels; y++) {
            global[y] = (float)((counts[y] + gamma * global[y]) * by);
            counts[y] = 0;
        }
        for (uint32_t k = 0; k < r->place.count; k++) {
            const uint32_t row = row_of(g, rows, r->place.clusters[k]);
            if (row < rows.end) total += add_row(g, row, r->place.weights[k], counts);
        }
    }
    const double by = 1.0 / (total + beta), of_local = first ? 0.0 : sigma, of_global = 1.0 - of_local;
    for (uint32_t y = 0; y < labels; y++) {
        local[y] = (float)((counts[y] + beta * (of_local * local[y] + of_global * global[y])) * by);
        counts[y] = 0;
    }
}

/* The largest `most` values and whose they are, largest first, and of equal ones the lower number. Few are ever moved.
   Gives how many are kept. */
static uint32_t keep(float *values, uint32_t *whose, uint32_t kept, uint32_t most, float value, uint32_t number)
{
    uint32_t at = kept < most ? kept : most - 1;
    if (kept == most && (value < values[at] || (value == values[at] && number > whose[at]))) return kept;
    for (; at && (values[at - 1] < value || (values[at - 1] == value && whose[at - 1] > number)); at--)
        values[at] = values[at - 1], whose[at] = whose[at - 1];
    values[at] = value;
    whose[at] = number;
    return kept < most ? kept + 1 : kept;
}

static float compare(const er_request *r, uint32_t cluster)
{
    return er_dot(r->stage->graph.centroids + (size_t)cluster * r->dimension, r->vectors, r->dimension);
}

/* The nearest clusters by what their bytes say they are at most, and then all those that may be nearer than the last of
   them. A product is off by no more than the lengths of what its factors are off; floats are off, too. */
static bool nearest_by_bytes(er_request *r, float *cosines, uint32_t *clusters, uint32_t most)
{
    const er_graph *g = &r->stage->graph;
    const uint32_t d = r->dimension;
    int16_t *asked = ER_TAKE(&r->arena, int16_t, d + 1);
    float *highest = ER_TAKE(&r->arena, float, (size_t)g->near_blocks * ER_BLOCK);
    uint32_t *first = ER_TAKE(&r->arena, uint32_t, most), kept = 0;
    if (!asked || !highest || !first) return false;
    const float step = er_whole_numbers(r->vectors, d, asked);
    er_block_products(g->near, g->near_scales, g->near_blocks, d, asked, step, highest);
    const float length = (float)er_length(r->vectors, d), off = 2.0f * step * sqrtf((float)d) + 1e-4f;
    for (uint32_t i = 0; i < g->clusters; i++) highest[i] += length * g->near_errors[i] + off;
    for (uint32_t i = 0; i < g->clusters; i++)
        if (kept < most || highest[i] > cosines[most - 1]) kept = keep(cosines, first, kept, most, highest[i], i);
    kept = 0;
    for (uint32_t k = 0; k < most; k++) {
        kept = keep(cosines, clusters, kept, most, compare(r, first[k]), first[k]);
        highest[first[k]] = -INFINITY;
    }
    for (uint32_t i = 0; i < g->clusters; i++)
        if (highest[i] >= cosines[most - 1]) kept = keep(cosines, clusters, kept, most, compare(r, i), i);
    return true;
}

bool er_graph_read(er_request *r)
{
    const er_graph *g = &r->stage->graph;
    const uint32_t most = g->nearest < g->clusters ? g->nearest : g->clusters, labels = r->labels;
    float *cosines = ER_TAKE(&r->arena, float, most), *counts = ER_TAKE(&r->arena, float, labels);
    uint32_t *clusters = ER_TAKE(&r->arena, uint32_t, most), kept = 0;
    double *weights = ER_TAKE(&r->arena, double, most);
    float *pooled[2] = {ER_TAKE(&r->arena, float, labels), ER_TAKE(&r->arena, float, labels)};
    if (!cosines || !counts || !clusters || !weights || !pooled[0] || !pooled[1]) return false;
    if (!g->near)
        for (uint32_t i = 0; i < g->clusters; i++) kept = keep(cosines, clusters, kept, most, compare(r, i), i);
    else if (!nearest_by_bytes(r, cosines, clusters, most)) return false;
    r->place.similarity = cosines[0];
    double sum = 0;
    for (uint32_t k = 0; k < most; k++) sum += weights[k] = exp((cosines[k] - r->place.similarity) / g->temperature);
    for (uint32_t k = 0; k < most; k++) weights[k] /= sum;
    r->place.clusters = clusters;
    r->place.weights = weights;
    r->place.count = most;
    int32_t context[MOST_ORDER + 1] = {0};
    for (uint32_t i = 0; i < g->order; i++) context[1 + i] = UNUSED;
    for (uint32_t y = 0; y < labels; y++) pooled[0][y] = 1.0f / (float)labels;
    level(r, context, pooled[0], pooled[1], counts, true);
    r->pooled[0] = pooled[0];
    r->pooled[1] = pooled[1];
    return true;
}

/* A place among names as a label. */
static int32_t label_of(const er_request *r, int32_t place) { return place >= 0 && (uint32_t)place < r->end ? place : UNKNOWN; }

void er_graph_walk(const er_request *r, er_workspace *work, const er_history *h, float *found)
{
    const er_graph *g = &r->stage->graph;
    const uint32_t labels = r->labels;
    memcpy(work->global, r->pooled[0], labels * sizeof(float));
    memcpy(found, r->pooled[1], labels * sizeof(float));
    memset(work->local, 0, labels * sizeof(float));
    for (uint32_t n = 1; n <= g->order; n++) {
        int32_t context[MOST_ORDER + 1] = {(int32_t)n};
        for (uint32_t i = 0; i < g->order; i++) context[1 + i] = UNUSED;
        for (uint32_t i = 0; i < n; i++) { /* the last n, oldest first */
            const uint32_t back = n - i;
            context[1 + i] = back <= h->count ? label_of(r, h->places[h->count - back]) : PADDING;
        }
        level(r, context, work->global, found, work->local, false);
    }
    double sum = 0;
    for (uint32_t i = 0; i < h->made_count; i++)
        if (h->made[i] < r->end) found[h->made[i]] *= (float)g->repeat_factor;
    for (uint32_t y = 0; y < labels; y++) sum += found[y];
    sum = 1.0 / sum;
    for (uint32_t y = 0; y < labels; y++) found[y] = (float)(found[y] * sum);
}
