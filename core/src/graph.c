/* Section 7: what followed what, in the clusters of requests like this one. */

#include <stdlib.h>

#include "request.h"
#include "vectors.h"

enum { GLOBAL = -1, PADDING = -1, UNUSED = -2, UNKNOWN = -3, MOST_ORDER = 16 };

/* The row of a key, UINT32_MAX without one. */
static uint32_t find(const er_graph *g, const int32_t *key)
{
    const uint32_t length = g->order + 2;
    for (uint32_t at = er_graph_hash(key, length) & g->slot_mask;; at = (at + 1) & g->slot_mask) {
        const uint32_t row = g->slots[at];
        if (!row) return UINT32_MAX;
        if (!memcmp(g->keys + (size_t)(row - 1) * length, key, length * sizeof *key)) return row - 1;
    }
}

/* Adds weight · C(cluster, context, ·) to `counts`; what all weighs together. */
static double add_row(const er_graph *g, int32_t *key, int32_t cluster, double weight, float *counts)
{
    key[0] = cluster;
    const uint32_t row = find(g, key);
    if (row == UINT32_MAX) return 0.0;
    for (int32_t i = g->starts[row]; i < g->starts[row + 1]; i++) counts[g->targets[i]] += (float)(weight * g->counts[i]);
    return weight * g->sums[row];
}

/* One level of the recursion: Ḡ and P of a context from those of the shorter one; `counts` comes and goes with zeros. */
static void level(const er_request *r, int32_t *key, float *global, float *local, float *counts, bool first)
{
    const er_graph *g = &r->stage->graph;
    const double beta = g->cluster_prior, gamma = g->global_prior, sigma = g->cluster_share;
    const uint32_t labels = r->labels;
    key[0] = GLOBAL;
    const bool known = find(g, key) != UINT32_MAX;
    if (known) {
        const double total = add_row(g, key, GLOBAL, 1.0, counts);
        for (uint32_t y = 0; y < labels; y++) {
            global[y] = (float)((counts[y] + gamma * global[y]) / (total + gamma));
            counts[y] = 0;
        }
    }
    double total = 0;
    for (uint32_t k = 0; known && k < r->place.count; k++)
        total += add_row(g, key, (int32_t)r->place.clusters[k], r->place.weights[k], counts);
    for (uint32_t y = 0; y < labels; y++) {
        const double shorter = first ? global[y] : sigma * local[y] + (1 - sigma) * global[y];
        local[y] = (float)((counts[y] + beta * shorter) / (total + beta));
        counts[y] = 0;
    }
}

bool er_graph_read(er_request *r)
{
    const er_graph *g = &r->stage->graph;
    const uint32_t most = g->nearest < g->clusters ? g->nearest : g->clusters, labels = r->labels;
    float *cosines = ER_TAKE(&r->arena, float, g->clusters), *counts = ER_TAKE(&r->arena, float, labels);
    uint32_t *clusters = ER_TAKE(&r->arena, uint32_t, most);
    double *weights = ER_TAKE(&r->arena, double, most);
    float *pooled[2] = {ER_TAKE(&r->arena, float, labels), ER_TAKE(&r->arena, float, labels)};
    if (!cosines || !counts || !clusters || !weights || !pooled[0] || !pooled[1]) return false;
    er_products(g->centroids, g->clusters, r->dimension, r->vectors, cosines);
    /* The nearest ones in order, of equal ones the first: few are ever moved. */
    uint32_t kept = 0;
    for (uint32_t cluster = 0; cluster < g->clusters; cluster++) {
        if (kept == most && !(cosines[cluster] > cosines[clusters[most - 1]])) continue;
        uint32_t at = kept < most ? kept++ : most - 1;
        for (; at && cosines[clusters[at - 1]] < cosines[cluster]; at--) clusters[at] = clusters[at - 1];
        clusters[at] = cluster;
    }
    r->place.similarity = cosines[clusters[0]];
    double sum = 0;
    for (uint32_t k = 0; k < most; k++) sum += weights[k] = exp((cosines[clusters[k]] - r->place.similarity) / g->temperature);
    for (uint32_t k = 0; k < most; k++) weights[k] /= sum;
    r->place.clusters = clusters;
    r->place.weights = weights;
    r->place.count = most;
    int32_t key[MOST_ORDER + 2];
    for (uint32_t i = 0; i < g->order + 2; i++) key[i] = UNUSED;
    key[1] = 0;
    for (uint32_t y = 0; y < labels; y++) pooled[0][y] = 1.0f / (float)labels;
    level(r, key, pooled[0], pooled[1], counts, true);
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
        int32_t key[MOST_ORDER + 2];
        key[1] = (int32_t)n;
        for (uint32_t i = 0; i < g->order; i++) key[2 + i] = UNUSED;
        for (uint32_t i = 0; i < n; i++) { /* the last n, oldest first */
            const uint32_t back = n - i;
            key[2 + i] = back <= h->count ? label_of(r, h->places[h->count - back]) : PADDING;
        }
        level(r, key, work->global, found, work->local, false);
    }
    double sum = 0;
    for (uint32_t i = 0; i < h->made_count; i++)
        if (h->made[i] < r->end) found[h->made[i]] *= (float)g->repeat_factor;
    for (uint32_t y = 0; y < labels; y++) sum += found[y];
    for (uint32_t y = 0; y < labels; y++) found[y] = (float)(found[y] / sum);
}
