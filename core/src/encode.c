/* Texts to vectors (section 5): tokens, in windows where a transformer reads them, and what their vectors make together. */

#include "encode.h"

#include "tokenizer_parts.h"
#include "transformer_parts.h"
#include "vectors.h"

/* ---- A table (5.1) ---- */

static bool by_table(er_arena *arena, const er_table *table, uint32_t d, const er_tokens_found *read, float *vector, float *tokens)
{
    for (uint32_t t = 0; t < read->count; t++) {
        const uint32_t id = read->ids[t];
        if (id >= table->tokens)
            return er_refuse(arena->error, ER_BAD_BUNDLE, "encoder: token %u, but a table of %u; build the bundle again", id, table->tokens);
        const int8_t *row = table->rows + (size_t)id * d;
        const float scale = table->scales[id];
        float *token = tokens + (size_t)t * d;
        for (uint32_t i = 0; i < d; i++) token[i] = (float)row[i] * scale;
        for (uint32_t i = 0; i < d; i++) vector[i] += token[i];
    }
    er_unit(vector, d, 1e-12);
    return true;
}

/* ---- A transformer, in windows ---- */

static bool by_windows(er_arena *arena, const er_model *model, const er_stage *stage, const er_tokens_found *read, float *vector, float *tokens)
{
    const uint32_t *before, *behind, most = stage->spec.max_tokens, d = stage->spec.dimension;
    uint32_t before_count, behind_count;
    er_special(&model->tokenizer, &before, &before_count, &behind, &behind_count);
    const uint32_t special = before_count + behind_count;
    if (special >= most)
        return er_refuse(arena->error, ER_BAD_BUNDLE, "tokenizer: %u special tokens leave no room for a word, the encoder reads %u tokens", special, most);
    const uint32_t step = most - special, windows = read->count ? (read->count + step - 1) / step : 1;
    const er_place place = er_mark(arena);
    int64_t *ids = ER_TAKE(arena, int64_t, most);
    float *found = ER_TAKE(arena, float, (size_t)(read->count < step ? read->count + special : most) * d), *whole = ER_TAKE(arena, float, d);
    if (!ids || !found || !whole) return false;
    for (uint32_t w = 0; w < windows; w++) {
        const uint32_t begin = w * step, rest = read->count - begin, count = rest < step ? rest : step;
        uint32_t n = 0;
        for (uint32_t i = 0; i < before_count; i++) ids[n++] = before[i];
        for (uint32_t i = 0; i < count; i++) ids[n++] = read->ids[begin + i];
        for (uint32_t i = 0; i < behind_count; i++) ids[n++] = behind[i];
        if (!n) return er_refuse(arena->error, ER_BAD_INPUT, "a text without a single token has no vector; give one with words");
        if (!er_transform(arena, stage->transformer, ids, n, model->threads, found, whole)) return false;
        memcpy(tokens + (size_t)begin * d, found + (size_t)before_count * d, (size_t)count * d * sizeof(float));
        if (windows == 1) memcpy(vector, whole, d * sizeof(float));
        else er_add(vector, (float)n, whole, d);
    }
    er_release(arena, place);
    if (windows > 1) er_unit(vector, d, 1e-12);
    return true;
}

/* ---- A query ---- */

/* A prefix and a text as one. */
static bool joined(er_arena *arena, er_text prefix, const er_points *text, er_points *found)
{
    char *both = ER_TAKE(arena, char, prefix.length + text->text.length);
    if (!both) return false;
    memcpy(both, prefix.at, prefix.length);
    memcpy(both + prefix.length, text->text.at, text->text.length);
    return er_points_of(arena, (er_text){both, prefix.length + text->text.length}, found);
}

bool er_encode_text(er_arena *arena, const er_model *model, const er_stage *stage, const er_points *query, er_watch *watch, er_encoded *found)
{
    return er_encode_behind(arena, model, stage, stage->spec.query_prefix, query, watch, found);
}

bool er_encode_behind(er_arena *arena, const er_model *model, const er_stage *stage, er_text prefix, const er_points *query, er_watch *watch,
    er_encoded *found)
{
    er_points text = *query;
    er_tokens_found read;
    if (!stage->table && !stage->transformer)
        return er_refuse(arena->error, ER_NO_ENCODER, "the bundle's encoder does not run here; give vectors of another one to er_begin_with");
    if (prefix.length && !joined(arena, prefix, query, &text)) return false;
    if (!er_tokenize(arena, &model->tokenizer, &text, &read)) return false;
    er_lap(watch, ER_AT_TOKENIZE);
    if (!read.count && stage->table) return er_refuse(arena->error, ER_BAD_INPUT, "a text without a single token has no vector; give one with words");
    const uint32_t d = stage->spec.dimension;
    float *vector = ER_TAKE(arena, float, d), *tokens = vector ? ER_TAKE(arena, float, (size_t)read.count * d + 1) : NULL;
    if (!tokens) return false;
    *found = (er_encoded){vector, tokens, read.spans, read.count, text.count - query->count};
    const bool fine = stage->table ? by_table(arena, stage->table, d, &read, vector, tokens) : by_windows(arena, model, stage, &read, vector, tokens);
    er_lap(watch, ER_AT_ENCODE);
    if (!fine || stage->table) return fine;
    const double length = er_length(vector, d);
    /* Written so that NaN, which is neither near 1 nor far from it, is refused, too. */
    return (length * length > 0.99 && length * length < 1.01) ||
           er_refuse(arena->error, ER_BAD_BUNDLE, "encoder: a vector must have length 1, found %.3g; build the bundle again", length);
}

void er_segments(const float *tokens, uint32_t count, uint32_t dimension, float *segments)
{
    enum { SEGMENTS = 3 };
    memset(segments, 0, SEGMENTS * (size_t)dimension * sizeof *segments);
    for (uint32_t t = 0; t < count; t++)
        er_add(segments + (size_t)((uint64_t)t * SEGMENTS / count) * dimension, 1.0f, tokens + (size_t)t * dimension, dimension);
    for (uint32_t s = 0; s < SEGMENTS; s++) er_unit(segments + (size_t)s * dimension, dimension, 1e-12);
}

/* ---- Words (5.2) ---- */

enum { WORD_NUMBERS = 64 };

static void add_pieces(const er_word_vectors *vectors, const uint32_t *ids, uint32_t count, float *vector)
{
    for (uint32_t t = 0; t < count; t++) {
        if (ids[t] >= vectors->pieces) continue;
        const uint8_t *pairs = vectors->pairs + (size_t)ids[t] * WORD_NUMBERS / 2;
        const float scale = vectors->scales[ids[t]];
        for (int i = 0; i < WORD_NUMBERS / 2; i++) { /* the lower half is the first of two; both have a sign */
            vector[2 * i] += (float)((pairs[i] & 15) - ((pairs[i] & 8) << 1)) * scale;
            vector[2 * i + 1] += (float)((pairs[i] >> 4) - ((pairs[i] & 0x80) >> 3)) * scale;
        }
    }
}

void er_word_vector(const void *of, er_text word, float vector[WORD_NUMBERS])
{
    enum { SHORT = 64 };
    const er_model *model = of;
    uint32_t ids[SHORT];
    er_span spans[SHORT];
    memset(vector, 0, WORD_NUMBERS * sizeof *vector);
    const er_tokenizer_parts *parts = model->tokenizer.parts;
    const bool quick = parts->quick && word.length <= SHORT;
    const uint32_t count = quick ? er_quick_tokens(parts, word.at, (uint32_t)word.length, ids, spans) : ER_MISSING;
    if (count != ER_MISSING) add_pieces(&model->word_vectors, ids, count, vector);
    else {
        er_error error = {0};
        er_arena arena = {.error = &error};
        er_points points;
        er_tokens_found read;
        if (er_points_of(&arena, word, &points) && er_tokenize(&arena, &model->tokenizer, &points, &read)) {
            const uint32_t most = model->has_full ? model->full.spec.max_tokens : model->small.spec.max_tokens;
            add_pieces(&model->word_vectors, read.ids, read.count < most ? read.count : most, vector);
        } else if (error.status == ER_NO_MEMORY) er_refuse(model->arena.error, ER_NO_MEMORY, "%s", error.text); /* who loads is told */
        er_give_back(&arena);
    }
    const double length = er_length(vector, WORD_NUMBERS);
    if (length < 1e-6) memset(vector, 0, WORD_NUMBERS * sizeof *vector);
    else er_unit(vector, WORD_NUMBERS, 1e-6);
}
