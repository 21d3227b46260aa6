/* What a loaded bundle holds, array by array: for tests/core/test_load.py. */

#include "model.h"

typedef struct {
    const void *at;
    uint32_t rows, columns;
    char kind; /* f, i, u, b: float, int32, uint32, bytes */
} view;

static const er_stage *stage_of(const er_model *m, int small) { return small ? &m->small : &m->full; }

/* 0: there is no such array. */
int probe_array(const er_model *m, int small, const char *name, view *found)
{
    const er_stage *s = stage_of(m, small);
    const uint32_t d = s->spec.dimension, L = s->label_count, n = m->tool_count;
    const er_graph *g = &s->graph;
    const er_head *h = &s->head;
    const er_familiarity *f = &s->familiarity;
    const er_calibration *c = &s->calibration;
    const struct {
        const char *name;
        view view;
    } all[] = {
        {"vectors", {s->index.vectors, n, d, 'f'}},
        {"examples", {s->index.examples, s->index.example_count, d, 'b'}},
        {"example_scales", {s->index.example_scales, s->index.example_count, 1, 'f'}},
        {"example_starts", {s->index.example_starts, n + 1, 1, 'u'}},
        {"example_twins", {s->index.example_twins, s->index.example_count, 1, 'f'}},
        {"label_tools", {s->label_tools, L, 1, 'i'}},
        {"centroids", {g->centroids, g->clusters, d, 'f'}},
        {"keys", {g->keys, g->rows, g->order + 2, 'i'}},
        {"graph_starts", {g->starts, g->rows + 1, 1, 'i'}},
        {"targets", {g->targets, s->has_head ? (uint32_t)g->starts[g->rows] : 0, 1, 'i'}},
        {"counts", {g->counts, s->has_head ? (uint32_t)g->starts[g->rows] : 0, 1, 'f'}},
        {"weights", {h->weights, L, d, 'b'}},
        {"weight_scales", {h->weight_scales, L, 1, 'f'}},
        {"bias", {h->bias, L, 1, 'f'}},
        {"starts", {h->starts, 2 * L + 1, 1, 'i'}},
        {"followers", {h->followers, s->has_head ? (uint32_t)h->starts[2 * L] : 0, 1, 'i'}},
        {"values", {h->values, s->has_head ? (uint32_t)h->starts[2 * L] : 0, 1, 'f'}},
        {"count", {h->count, h->count_rows, L, 'f'}},
        {"segment_weights", {h->segment_weights, h->stages, 3, 'f'}},
        {"spelling", {h->spelling, L, h->spelling_bytes, 'b'}},
        {"spelling_scales", {h->spelling_scales, L, 1, 'f'}},
        {"popular", {h->popular, n, 1, 'f'}},
        {"memory_vectors", {s->memory.vectors, s->memory.plans, d, 'f'}},
        {"memory_starts", {s->memory.starts, s->memory.plans + 1, 1, 'i'}},
        {"memory_calls", {s->memory.calls, s->has_memory ? (uint32_t)s->memory.starts[s->memory.plans] : 0, 1, 'i'}},
        {"familiar_tools", {f->tools, f->rows, 1, 'i'}},
        {"means", {f->means, f->rows, d, 'f'}},
        {"familiar_counts", {f->counts, f->rows, 1, 'f'}},
        {"map", {c->map, c->map_rows, 2, 'f'}},
        {"prior_map", {c->prior_map, c->prior_map_rows, 2, 'f'}},
        {"right", {c->right, c->right_count, 1, 'f'}},
        {"first_floors", {c->first_floors, 100, 1, 'f'}},
        {"later_floors", {c->later_floors, 100, 1, 'f'}},
        {"table_rows", {s->table ? s->table->rows : NULL, s->table ? s->table->tokens : 0, d, 'b'}},
        {"table_scales", {s->table ? s->table->scales : NULL, s->table ? s->table->tokens : 0, 1, 'f'}},
        {"pairs", {m->word_vectors.pairs, m->word_vectors.pieces, 32, 'b'}},
        {"piece_scales", {m->word_vectors.scales, m->word_vectors.pieces, 1, 'f'}},
        {"losses", {m->losses, m->cascade_count, 1, 'f'}},
        {"least", {m->least, m->cascade_count, 1, 'f'}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (!strcmp(all[i].name, name)) return *found = all[i].view, all[i].view.at != NULL;
    return 0;
}

/* Single numbers, in the order of test_load.py's NUMBERS; gives how many. */
int probe_numbers(const er_model *m, int small, double *into)
{
    const er_stage *s = stage_of(m, small);
    const er_graph *g = &s->graph;
    const er_calibration *c = &s->calibration;
    const double all[] = {
        s->spec.dimension, s->spec.max_tokens, s->has_head, s->has_memory, g->order, g->nearest, g->temperature, g->cluster_prior, g->global_prior,
        g->cluster_share, g->repeat_factor, s->head.description_weight, s->head.prior_weight, s->head.prior_steps, s->familiarity.no_tool,
        s->familiarity.edge, c->head_weight, c->graph_weight, c->memory_weight, c->later_head_weight, c->later_graph_weight, c->unseen_bias,
        c->added_bias, c->min_probability, m->cascade_nothing, m->cascade_declines, m->cascade_least, m->has_small, m->has_full};
    memcpy(into, all, sizeof all);
    return (int)(sizeof all / sizeof *all);
}

/* The prior's weights, in the order of er_prior. */
int probe_prior(const er_model *m, double *into)
{
    memcpy(into, &m->prior, sizeof m->prior);
    return (int)(sizeof m->prior / sizeof *into);
}

/* The row of a key, −1 for none: as graph.c looks it up. */
int64_t probe_row(const er_model *m, const int32_t *key)
{
    const er_graph *g = &m->full.graph;
    const er_span rows = er_graph_rows(g, key + 1);
    for (uint32_t row = rows.begin; row < rows.end; row++)
        if (g->keys[(size_t)row * (g->order + 2)] == key[0]) return row;
    return -1;
}

/* Name, description, parameters of a tool, and its risk. */
double probe_tool(const er_model *m, uint32_t tool, er_text *texts)
{
    const er_tool *t = &m->tools[tool];
    texts[0] = t->name, texts[1] = t->description, texts[2] = t->parameters;
    return t->confirm ? -1.0 - t->risk : t->risk;
}
