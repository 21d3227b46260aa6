/* Which clusters are nearest, by bytes and floats or by floats alone: for tests/core/test_nearest_clusters.py. */

#include "request.h"
#include "vectors.h"

/* Of a graph that met no context. False without memory. */
int probe_nearest(const float *centroids, uint32_t clusters, uint32_t d, uint32_t nearest, int by_bytes, const float *vector, uint32_t *found)
{
    static const er_span none[1];
    er_request r = {.vectors = vector, .dimension = d, .labels = 1};
    er_stage stage = {.graph = {.order = 1, .nearest = nearest, .clusters = clusters, .temperature = 1.0, .cluster_prior = 1.0, .global_prior = 1.0,
                                .centroids = centroids, .contexts = none}};
    er_graph *g = &stage.graph;
    r.stage = &stage;
    g->near_blocks = (clusters + ER_BLOCK - 1) / ER_BLOCK;
    const size_t rows = (size_t)g->near_blocks * ER_BLOCK;
    int8_t *near = ER_TAKE(&r.arena, int8_t, rows * (d + 1));
    float *scales = ER_TAKE(&r.arena, float, rows), *errors = ER_TAKE(&r.arena, float, rows);
    bool fine = near && scales && errors;
    if (fine) er_bytes_of(centroids, clusters, d, near, scales, errors);
    g->near = by_bytes ? near : NULL;
    g->near_scales = scales;
    g->near_errors = errors;
    fine = fine && er_graph_read(&r);
    if (fine) memcpy(found, r.place.clusters, r.place.count * sizeof *found);
    er_give_back(&r.arena);
    return fine;
}
