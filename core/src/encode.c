/* Texts to vectors (section 5): tokens, in windows where a transformer reads them, and what their vectors make together. */

#include "encode.h"

#include "tokenizer_parts.h"
#include "transformer_parts.h"
#include "unicode.h"
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

/* Written so that NaN, which is neither near 1 nor far from it, is refused, too. */
static bool is_unit(er_arena *arena, const float *vector, uint32_t d)
{
    const double length = er_length(vector, d);
    return (length * length > 0.99 && length * length < 1.01) ||
           er_refuse(arena->error, ER_BAD_BUNDLE, "encoder: a vector must have length 1, found %.3g; build the bundle again", length);
}

/* The caller's encoder, whatever it gives. */
static bool by_caller(er_arena *arena, const er_encoder *by, const er_window *window)
{
    er_error error = {0};
    const er_status status = by->run(by->context, window, &error);
    error.text[sizeof error.text - 1] = 0;
    if (status != ER_OK)
        return er_refuse(arena->error, status > ER_OK && status <= ER_NOT_KEPT ? status : ER_NO_ENCODER, "%s",
                         error.text[0] ? error.text : "the encoder that was given at loading failed");
    for (size_t i = 0; i < (size_t)window->count * window->dimension; i++)
        if (!(fabsf(window->tokens[i]) < 1e9f)) return er_refuse(arena->error, ER_BAD_BUNDLE, "encoder: token vectors that are not finite");
    return is_unit(arena, window->vector, window->dimension);
}

/* How many tokens of a text are read at a time: 0 where special ones leave no room. */
static uint32_t at_once(const er_model *model, const er_stage *stage)
{
    const uint32_t *before, *behind, own = stage->outside ? stage->outside->max_tokens : 0;
    const uint32_t most = own && own < stage->spec.max_tokens ? own : stage->spec.max_tokens;
    uint32_t before_count, behind_count;
    er_special(&model->tokenizer, &before, &before_count, &behind, &behind_count);
    return before_count + behind_count < most ? most - before_count - behind_count : 0;
}

static bool by_windows(er_arena *arena, const er_model *model, const er_stage *stage, const er_tokens_found *read, float *vector, float *tokens)
{
    const er_encoder *outside = stage->outside;
    const uint32_t *before, *behind, step = at_once(model, stage), d = stage->spec.dimension;
    uint32_t before_count, behind_count;
    er_special(&model->tokenizer, &before, &before_count, &behind, &behind_count);
    const uint32_t special = before_count + behind_count;
    if (!step)
        return er_refuse(arena->error, ER_BAD_BUNDLE, "tokenizer: %u special tokens leave the encoder no room for a word", special);
    const uint32_t windows = read->count ? (read->count + step - 1) / step : 1, most = (read->count < step ? read->count : step) + special;
    const er_place place = er_mark(arena);
    int64_t *ids = ER_TAKE(arena, int64_t, most);
    float *found = ER_TAKE(arena, float, (size_t)most * d), *whole = ER_TAKE(arena, float, d);
    if (!ids || !found || !whole) return false;
    for (uint32_t w = 0; w < windows; w++) {
        const uint32_t begin = w * step, rest = read->count - begin, count = rest < step ? rest : step;
        uint32_t n = 0;
        for (uint32_t i = 0; i < before_count; i++) ids[n++] = before[i];
        for (uint32_t i = 0; i < count; i++) ids[n++] = read->ids[begin + i];
        for (uint32_t i = 0; i < behind_count; i++) ids[n++] = behind[i];
        if (!n) return er_refuse(arena->error, ER_BAD_INPUT, "a text without a single token has no vector; give one with words");
        const er_window window = {sizeof window, ids, n, d, whole, found};
        if (outside ? !by_caller(arena, outside, &window) : !er_transform(arena, stage->transformer, ids, n, model->threads, found, whole))
            return false;
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

static bool encode(er_arena *arena, const er_model *model, const er_stage *stage, er_text prefix, const er_points *given, bool first, er_watch *watch,
    er_encoded *found)
{
    er_points text = *given;
    er_tokens_found read;
    if (!er_encodes(stage))
        return er_refuse(arena->error, ER_NO_ENCODER, "the bundle's encoder does not run here; load it with one of your own, or give its vectors to er_begin_with");
    if (prefix.length && !joined(arena, prefix, given, &text)) return false;
    if (!er_tokenize(arena, &model->tokenizer, &text, &read)) return false;
    er_lap(watch, ER_AT_TOKENIZE);
    if (!read.count && stage->table) return er_refuse(arena->error, ER_BAD_INPUT, "a text without a single token has no vector; give one with words");
    const uint32_t step = at_once(model, stage);
    if (first && !stage->table && read.count > step) read.count = step;
    const uint32_t d = stage->spec.dimension;
    float *vector = ER_TAKE(arena, float, d), *tokens = vector ? ER_TAKE(arena, float, (size_t)read.count * d + 1) : NULL;
    if (!tokens) return false;
    *found = (er_encoded){vector, tokens, read.spans, read.count, text.count - given->count};
    const bool fine = stage->table ? by_table(arena, stage->table, d, &read, vector, tokens)
                                   : by_windows(arena, model, stage, &read, vector, tokens) && is_unit(arena, vector, d);
    er_lap(watch, ER_AT_ENCODE);
    return fine;
}

bool er_encode_text(er_arena *arena, const er_model *model, const er_stage *stage, const er_points *query, er_watch *watch, er_encoded *found)
{
    return encode(arena, model, stage, stage->spec.query_prefix, query, false, watch, found);
}

bool er_encode_tool(er_arena *arena, const er_model *model, const er_stage *stage, const er_points *text, er_encoded *found)
{
    return encode(arena, model, stage, stage->spec.tool_prefix, text, true, NULL, found);
}

bool er_encoder_works(er_arena *arena, const er_model *model, const er_stage *stage, const er_pack *golden, const char *shown)
{
    enum { MOST_SAMPLE = 1000 };
    er_text sample = ER_TEXT("find a file and send it");
    if (!er_encodes(stage)) return true;
    const er_pack *queries = golden && golden->kind == ER_PACK_MAP ? er_pack_get(golden, "queries") : NULL;
    const er_place place = er_mark(arena);
    er_points points;
    er_encoded encoded;
    if (queries && queries->kind == ER_PACK_ARRAY && queries->count && queries->items->kind == ER_PACK_TEXT) {
        const er_text first = er_pack_text(queries->items);
        if (!er_points_of(arena, first, &points)) return false;
        bool blank = true;
        for (uint32_t i = 0; i < points.count && blank; i++) blank = er_is_space(points.points[i]);
        if (!blank) sample = er_cut(first, 0, points.starts[points.count < MOST_SAMPLE ? points.count : MOST_SAMPLE]);
    }
    if (!er_points_of(arena, sample, &points) || !er_encode_text(arena, model, stage, &points, NULL, &encoded)) return false;
    const double length = er_length(encoded.vector, stage->spec.dimension); /* a table's may be 0 */
    er_release(arena, place);
    return fabs(length * length - 1.0) < 0.01 ||
           er_refuse(arena->error, ER_BAD_BUNDLE, "%s: its encoder gives no vectors of length 1; build the bundle again", shown);
}

void er_segments(const float *tokens, uint32_t count, uint32_t dimension, float *segments)
{
    enum { SEGMENTS = 3 };
    memset(segments, 0, SEGMENTS * (size_t)dimension * sizeof *segments);
    for (uint32_t t = 0; t < count; t++)
        er_add(segments + (size_t)((uint64_t)t * SEGMENTS / count) * dimension, 1.0f, tokens + (size_t)t * dimension, dimension);
    for (uint32_t s = 0; s < SEGMENTS; s++) er_unit(segments + (size_t)s * dimension, dimension, 1e-12);
}

void er_mean_of_tokens(const er_encoding *of, uint32_t begin, uint32_t end, float *mean)
{
    const uint32_t d = of->dimension;
    uint32_t count = 0;
    for (uint32_t t = 0; t < of->count; t++) {
        if (of->ends[t] <= begin || of->begins[t] >= end) continue;
        count++;
        er_add(mean, 1.0f, of->tokens + (size_t)t * d, d);
    }
    for (uint32_t i = 0; i < d && count > 1; i++) mean[i] /= (float)count;
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
