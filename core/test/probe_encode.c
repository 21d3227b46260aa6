/* Encoders of a table or a transformer, for tests/core. */

#include <stdlib.h>

#include "encode.h"
#include "transformer_parts.h"

typedef struct {
    er_arena arena;
    er_error error;
    er_model model;
    er_table table;
} probe;

void probe_encoder_free(probe *p)
{
    er_give_back(&p->arena);
    free(p);
}

/* A model with this tokenizer and nothing else. */
void *probe_encoder(const char *json, size_t length, uint32_t dimension, uint32_t max_tokens, const char *prefix, char *why)
{
    probe *p = calloc(1, sizeof *p);
    p->arena.error = &p->error;
    p->model.full.spec = (er_spec){.dimension = dimension, .max_tokens = max_tokens, .query_prefix = {prefix, strlen(prefix)}};
    p->model.has_full = true;
    p->model.threads = 1;
    if (er_tokenizer_of(&p->arena, (er_text){json, length}, &p->model.tokenizer)) return p;
    memcpy(why, p->error.text, sizeof p->error.text);
    probe_encoder_free(p);
    return NULL;
}

void probe_table(probe *p, const int8_t *rows, const float *scales, uint32_t tokens)
{
    p->table = (er_table){rows, scales, tokens};
    p->model.full.table = &p->table;
}

void probe_words(probe *p, const uint8_t *pairs, const float *scales, uint32_t pieces) { p->model.word_vectors = (er_word_vectors){pairs, scales, pieces}; }

int probe_transformer(probe *p, const uint8_t *onnx, size_t length, const char *arrays, size_t arrays_length, char *why)
{
    p->error = (er_error){0};
    const bool fine = er_transformer_of(&p->arena, onnx, length, (er_text){arrays, arrays_length}, &p->model.full.spec, &p->model.full.transformer);
    if (!fine) memcpy(why, p->error.text, sizeof p->error.text);
    return fine;
}

void probe_threads(probe *p, int32_t threads) { p->model.threads = threads; }

size_t probe_encoder_bytes(const probe *p) { return p->arena.taken; }

/* A text's vector, segment means, tokens' vectors and places, for as many tokens as there is room; how many, or −1. */
int64_t probe_encode(const probe *p, const char *text, size_t length, float *vector, float *segments, float *tokens, uint32_t *places, size_t room,
                     char *why)
{
    er_error error = {0};
    er_arena arena = {.error = &error};
    er_points points;
    er_encoded found;
    const uint32_t d = p->model.full.spec.dimension;
    int64_t count = -1;
    if (er_points_of(&arena, (er_text){text, length}, &points) && er_encode_text(&arena, &p->model, &p->model.full, &points, NULL, &found)) {
        count = found.count;
        memcpy(vector, found.vector, d * sizeof *vector);
        er_segments(found.tokens, found.count, d, segments);
        for (uint32_t i = 0; i < found.count && i < room; i++) {
            memcpy(tokens + (size_t)i * d, found.tokens + (size_t)i * d, d * sizeof *tokens);
            places[2 * i] = found.spans[i].begin;
            places[2 * i + 1] = found.spans[i].end;
        }
    } else memcpy(why, error.text, sizeof error.text);
    er_give_back(&arena);
    return count;
}

void probe_word(const probe *p, const char *word, size_t length, float *vector) { er_word_vector(&p->model, (er_text){word, length}, vector); }
