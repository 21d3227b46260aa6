/* The head for arguments (8.4), arranged as the CPU reads it fastest: its arithmetic is argument_head_body.h's. */

#include "arguments.h"
#include "parts.h"

#include "argument_head.h"
#include "cpu.h"

enum { STEP = ER_ARG_STEP, PANEL = 64, PLACES = ER_ARG_WIDTH, MOST_SEVEN = 64 };
static const double MOST_NUMBER = 1e4;

/* Rows (outputs, inputs) as they lie in the bundle, with a scale each and a bias. */
typedef struct {
    const int8_t *rows;
    const float *scales, *bias;
} linear;

struct er_pointer {
    ArgumentHead head;
    int64_t set, levels;
    linear text, function, parameter, option;
    Norm text_norm;
    uint32_t dimension;
};

typedef struct {
    const er_fields *map;
    const er_pointer *to;
} reader;

static const char *joined(char *room, const char *name, const char *end)
{
    size_t n = strlen(name);
    memcpy(room, name, n);
    memcpy(room + n, end, strlen(end) + 1);
    return room;
}

static bool numbers_of(const reader *r, const char *name, const char *end, int64_t count, const float **found)
{
    er_array array;
    char key[48];
    if (!er_field_array(r->map, joined(key, name, end), "<f4", count, 0, &array)) return false;
    *found = array.at;
    for (uint32_t i = 0; i < array.rows; i++)
        if (!(fabs((double)(*found)[i]) <= MOST_NUMBER))
            return er_refuse(r->map->arena->error, ER_BAD_BUNDLE, "%s: \"%s\" holds numbers over 10000; build the bundle again", r->map->where, key);
    return true;
}

static bool bytes_of(const reader *r, const char *name, int64_t out, int64_t in, const int8_t **rows, const float **scales)
{
    er_array array;
    char key[48];
    if (!er_field_array(r->map, joined(key, name, ".weight"), "|i1", out, in, &array)) return false;
    *rows = array.at;
    return er_field_scales(r->map, joined(key, name, ".weight.scales"), (uint32_t)out, scales);
}

static bool linear_of(const reader *r, const char *name, int64_t out, int64_t in, linear *to)
{
    return bytes_of(r, name, out, in, &to->rows, &to->scales) && numbers_of(r, name, ".bias", out, &to->bias);
}

static bool norm_of(const reader *r, const char *name, Norm *to)
{
    to->epsilon = 1e-5;
    return numbers_of(r, name, ".weight", ER_ARG_WIDTH, &to->gain) && numbers_of(r, name, ".bias", ER_ARG_WIDTH, &to->bias);
}

static float *padded(er_arena *arena, const float *row, int64_t count, int64_t room, float rest)
{
    float *found = ER_TAKE(arena, float, room);
    for (int64_t i = 0; found && i < room; i++) found[i] = i < count ? row[i] : rest;
    return found;
}

static bool product_of(const reader *r, const char *name, int64_t out, int64_t in, Product *to)
{
    er_arena *arena = r->map->arena;
    linear of;
    if (!linear_of(r, name, out, in, &of)) return false;
    const int64_t rows = (in + STEP - 1) / STEP * STEP, columns = (out + PANEL - 1) / PANEL * PANEL;
    int8_t *packed = ER_TAKE(arena, int8_t, rows * columns);
    int32_t *sums = ER_TAKE(arena, int32_t, columns);
    float *shrink = ER_TAKE(arena, float, rows);
    to->scales = padded(arena, of.scales, out, columns, 0.0f);
    to->bias = padded(arena, of.bias, out, columns, 0.0f);
    if (!packed || !sums || !shrink || !to->scales || !to->bias) return false;
    const er_place place = er_mark(arena);
    int8_t *turned = ER_TAKE(arena, int8_t, rows * columns);
    if (!turned) return false;
    for (int64_t k = 0; k < out; k++)
        for (int64_t i = 0; i < in; i++) {
            const int8_t weight = of.rows[k * in + i];
            turned[i * columns + k] = weight < -127 ? -127 : weight;
        }
    er_pack_weights(turned, rows, columns, er_panel(r->to->set), packed, sums);
    er_release(arena, place);
    for (int64_t i = 0; i < rows; i++) shrink[i] = 1.0f;
    to->packed = packed;
    to->sums = sums;
    to->shrink = shrink;
    to->rows = rows;
    to->columns = columns;
    return true;
}

static const float *floats_of(const reader *r, const char *name, int64_t out, int64_t in)
{
    const int8_t *rows;
    const float *scales;
    float *found = ER_TAKE(r->map->arena, float, out * in);
    if (!found || !bytes_of(r, name, out, in, &rows, &scales)) return NULL;
    for (int64_t i = 0; i < out * in; i++) found[i] = (float)rows[i] * scales[i / in];
    return found;
}

static bool layer_of(const reader *r, int number, Layer *to)
{
    const int64_t d = ER_ARG_WIDTH;
    char name[16];
    const char end[2] = {(char)('0' + number), 0};
    return product_of(r, joined(name, "together", end), 3 * d, d, &to->together) && product_of(r, joined(name, "attended", end), d, d, &to->attended) &&
           product_of(r, joined(name, "wide", end), ARG_INNER, d, &to->wide) && product_of(r, joined(name, "narrow", end), d, ARG_INNER, &to->narrow) &&
           norm_of(r, joined(name, "norm_a", end), &to->between) && norm_of(r, joined(name, "norm_b", end), &to->behind);
}

bool er_pointer_of(const er_fields *map, uint32_t dimension, const er_pointer **made)
{
    er_arena *arena = map->arena;
    const int64_t d = ER_ARG_WIDTH, in = dimension;
    er_pointer *to = ER_TAKE(arena, er_pointer, 1);
    Layer *layers = ER_TAKE(arena, Layer, ARG_LAYERS);
    if (!to || !layers) return false;
    const reader r = {map, to};
    to->dimension = dimension;
    to->set = er_widest_set();
    if (!er_panel(to->set) || dimension % STEP) to->set = GENERIC;
    to->levels = to->set == AVX2 || to->set == AVX512 ? 127 : 255; /* these add two products in 16 bits */
    ArgumentHead *head = &to->head;
    if (!product_of(&r, "word", d, in, &head->word) || !product_of(&r, "unit", d, FEATURES + RELATIONS, &head->unit) ||
        !norm_of(&r, "unit_norm", &head->unit_norm) || !product_of(&r, "beside", d, 3 * d, &head->beside) ||
        !linear_of(&r, "text", d, in, &to->text) || !linear_of(&r, "function", d, in, &to->function) ||
        !linear_of(&r, "parameter", d, ER_ARG_PARAMETER_FEATURES, &to->parameter) || !norm_of(&r, "text_norm", &to->text_norm))
        return false;
    for (int i = 0; i < ARG_LAYERS; i++)
        if (!layer_of(&r, i, &layers[i])) return false;
    head->layers = layers;
    head->near = head->said = NULL;
    if (!norm_of(&r, "norm", &head->norm) || !product_of(&r, "ask", 4 * d, d, &head->ask) || !product_of(&r, "answer", 3 * d, d, &head->answer) ||
        !product_of(&r, "small", LONGEST + KINDS + 3, d, &head->small) || !linear_of(&r, "option", 2 * d, in, &to->option))
        return false;
    head->near = floats_of(&r, "near", 2, 2 * BEFORE * RELATIONS);
    head->said = floats_of(&r, "said", 1, OPTION_FEATURES);
    *made = to;
    return head->near && head->said;
}

/* ---- A tool ---- */

/* One output: a row of bytes with a vector. */
static float apply(const linear *of, int64_t out, const float *vector, int64_t in)
{
    float sums[16] = {0}, sum = 0.0f;
    const int8_t *row = of->rows + out * in;
    int64_t i = 0;
    for (; i + 16 <= in; i += 16)
        for (int k = 0; k < 16; k++) sums[k] += (float)row[i + k] * vector[i + k];
    for (; i < in; i++) sum += (float)row[i] * vector[i];
    for (int k = 0; k < 16; k++) sum += sums[k];
    return sum * of->scales[out] + of->bias[out];
}

static void normalise(float *row, const Norm *by)
{
    double mean = 0.0, square = 0.0;
    for (int i = 0; i < ER_ARG_WIDTH; i++) mean += (double)row[i];
    mean /= ER_ARG_WIDTH;
    for (int i = 0; i < ER_ARG_WIDTH; i++) square += ((double)row[i] - mean) * ((double)row[i] - mean);
    const double by_length = 1.0 / sqrt(square / ER_ARG_WIDTH + by->epsilon);
    for (int i = 0; i < ER_ARG_WIDTH; i++) row[i] = (float)(((double)row[i] - mean) * by_length) * by->gain[i] + by->bias[i];
}

bool er_pointer_ask(er_arena *arena, const er_pointer *of, const float *texts, const float *features, er_pointed *tool)
{
    const int64_t d = ER_ARG_WIDTH, in = of->dimension, n = tool->count, m = tool->options;
    float *rows = ER_TAKE(arena, float, (1 + n) * d), *own = ER_TAKE(arena, float, (m + 1) * d), *by = ER_TAKE(arena, float, (m + 1) * d);
    if (!rows || !own || !by) return false;
    for (int64_t p = 0; p <= n; p++) {
        float *row = rows + p * d;
        const float *text = texts + p * in;
        for (int64_t i = 0; i < d; i++)
            row[i] = p ? apply(&of->text, i, text, in) + apply(&of->parameter, i, features + (p - 1) * ER_ARG_PARAMETER_FEATURES, ER_ARG_PARAMETER_FEATURES)
                       : apply(&of->function, i, text, in);
        normalise(row, &of->text_norm);
    }
    for (int64_t o = 0; o < m; o++)
        for (int64_t i = 0; i < d; i++) {
            own[o * d + i] = apply(&of->option, i, texts + (1 + n + o) * in, in);
            by[o * d + i] = apply(&of->option, d + i, texts + (1 + n + o) * in, in);
        }
    tool->rows = rows;
    tool->own = own;
    tool->by = by;
    return true;
}

/* ---- A call ---- */

bool er_point_units(er_arena *arena, const er_pointer *of, const float *vectors, uint32_t count, const float **found)
{
    float *words = er_take_any(arena, (size_t)count * ER_ARG_WIDTH, sizeof *words);
    const er_place place = er_mark(arena);
    float *room = er_take_any(arena, (size_t)er_point_words(&of->head, NULL, count, of->levels, of->set, NULL, NULL), sizeof *room);
    if (!words || !room) return false;
    er_point_words(&of->head, vectors, count, of->levels, of->set, room, words);
    er_release(arena, place);
    *found = words;
    return true;
}

bool er_point_call(er_arena *arena, const er_pointer *of, const er_pointed *tool, const er_pointing *at, er_log_shares *found)
{
    const int64_t n = tool->count;
    float *spans = ER_TAKE(arena, float, n * at->units * LONGEST), *options = ER_TAKE(arena, float, tool->options + 1), *absent = ER_TAKE(arena, float, n);
    if (!spans || !options || !absent) return false;
    const ArgumentCall call = {.words = at->words, .features = at->features, .relations = at->relations, .chunks = at->places,
                               .rows = tool->rows, .counts = tool->counts, .boolean = tool->boolean, .own = tool->own, .by = tool->by,
                               .told = at->told, .units = at->units, .parameters = n, .options = tool->options,
                               .chunk_count = at->place_count, .levels = of->levels};
    const ArgumentShares shares = {spans, options, absent};
    const er_place place = er_mark(arena);
    float *room = er_take_any(arena, (size_t)er_point(&of->head, &call, of->set, NULL, NULL), sizeof *room);
    if (!room) return false;
    er_point(&of->head, &call, of->set, room, &shares);
    er_release(arena, place);
    *found = (er_log_shares){spans, options, absent};
    return true;
}
