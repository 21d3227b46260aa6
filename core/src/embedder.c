/* The header's functions for an encoder without a bundle: files to vectors, for whoever builds one. Knows no tools and no text. */

#include "transformer_parts.h"

struct er_embedder {
    er_arena arena; /* which holds this itself */
    const er_transformer *transformer;
    uint32_t dimension;
};

er_status er_embedder_open(const er_embedder_options *given, er_embedder **made, er_error *error_given)
{
    er_error own, *error = er_clear(error_given, &own);
    er_embedder_options options;
    if (!made) return er_refuse(error, ER_BAD_INPUT, "er_embedder_open needs a place for the encoder"), ER_BAD_INPUT;
    *made = NULL;
    if (!given) return er_refuse(error, ER_BAD_INPUT, "er_embedder_open needs options: the encoder is in them"), ER_BAD_INPUT;
    if (!er_options(&options, sizeof options, given, sizeof given->size, "er_embedder_options", error)) return error->status;
    if (!options.arrays.at || !options.dimension || !options.max_tokens)
        return er_refuse(error, ER_BAD_INPUT, "an encoder needs its arrays, a dimension, and how many tokens it reads"), ER_BAD_INPUT;
    er_arena arena = {.error = error};
    const er_spec spec = {.dimension = options.dimension, .max_tokens = options.max_tokens};
    er_embedder *found = ER_TAKE(&arena, er_embedder, 1);
    if (!found || !er_transformer_of(&arena, options.encoder, options.length, options.arrays, &spec, &found->transformer))
        return er_give_back(&arena), er_status_of(error);
    found->dimension = options.dimension;
    found->arena = arena;
    found->arena.error = NULL;
    return *made = found, ER_OK;
}

er_status er_embed(const er_embedder *by, const int64_t *ids, size_t count, int32_t threads, float *tokens, float *vector, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!by || !ids || !tokens || !vector) return er_refuse(error, ER_BAD_INPUT, "er_embed needs an encoder, ids, and room for vectors"), ER_BAD_INPUT;
    if (!count || count > UINT32_MAX) return er_refuse(error, ER_BAD_INPUT, "a text without a single token has no vector; give one with words"), ER_BAD_INPUT;
    er_arena arena = {.error = error};
    const bool fine = er_transform(&arena, by->transformer, ids, (uint32_t)count, threads, tokens, vector);
    er_give_back(&arena);
    return fine ? ER_OK : er_status_of(error);
}

void er_embedder_close(er_embedder *by)
{
    if (!by) return;
    er_arena arena = by->arena;
    er_give_back(&arena);
}
