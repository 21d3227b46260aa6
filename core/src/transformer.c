/* An encoder's weights, found in its ONNX file by the places that the role `encoder-arrays` gives, or in that role's own file
   (section 5.4), and arranged as the CPU reads them fastest. What is behind each place was a graph's once; here it is numbers
   in ranges that are proved. */

#include "transformer_parts.h"

#include "msgpack.h"

#include "cpu.h"
#include "transform.h"

#define REMEDY "build the bundle again"

enum { BLOCK = 64, MOST_WIDTH = 16384, MOST_LAYERS = 256, MOST_TOKENS = 1 << 20, MOST_SEVEN = 64, MOST_BITS = 7, BOOK = 256 };

struct er_transformer {
    Transformer of;
    int64_t set;
    bool first, unit; /* how a text's vector is made of its tokens' */
};

/* ---- Where an array is ---- */

typedef struct {
    er_arena *arena;
    const uint8_t *onnx; /* NULL: arrays are in the maps themselves */
    size_t length;
    int64_t hidden, panel, largest;
} loader;

typedef struct {
    const uint8_t *at;
    int64_t rows, columns;
} array_at;

static bool wrong(const loader *l, const char *key, const char *what)
{
    return er_refuse(l->arena->error, ER_BAD_BUNDLE, "encoder-arrays: \"%s\" %s; " REMEDY, key, what);
}

static bool size_at(const er_pack *shape, uint32_t i, int64_t expected, int64_t most, int64_t *found)
{
    if (shape[i].kind != ER_PACK_WHOLE || shape[i].whole < 1 || shape[i].whole > most) return false;
    *found = shape[i].whole;
    return expected == ER_ANY || expected == *found;
}

/* An array of this type and shape (columns 0: of one dimension); a NULL `at` where it may be missing and is. */
static bool find(const loader *l, const er_fields *of, const char *key, const char *type, int64_t rows, int64_t columns, bool needed,
                 array_at *found)
{
    er_fields fields;
    er_text dtype;
    const er_pack *shape;
    int64_t at;
    *found = (array_at){NULL, 0, 1};
    const er_pack *value = er_pack_get(of->map, key);
    if (!needed && (!value || value->kind == ER_PACK_NIL)) return true;
    if (!l->onnx) {
        er_array array;
        if (!er_field_array(of, key, type, rows, columns, &array)) return false;
        *found = (array_at){array.at, array.rows, array.columns};
        return (array.rows && array.rows <= MOST_TOKENS && array.columns && array.columns <= 4 * MOST_WIDTH) || wrong(l, key, "is too small or too large");
    }
    if (!er_field_map(of, key, &fields) || !er_field_text(&fields, "dtype", &dtype) || !er_field_list(&fields, "shape", &shape) ||
        !er_field_whole(&fields, "at", 0, INT64_MAX, &at))
        return false;
    if (!er_is(dtype, type)) return wrong(l, key, "has another type than its place wants");
    if (shape->count != (columns ? 2u : 1u) || !size_at(shape->items, 0, rows, MOST_TOKENS, &found->rows) ||
        (columns && !size_at(shape->items, 1, columns, 4 * MOST_WIDTH, &found->columns)))
        return wrong(l, key, "has another shape than its place wants");
    const size_t size = (size_t)found->rows * (size_t)found->columns * (type[2] == '4' ? sizeof(float) : 1);
    if ((uint64_t)at > l->length || size > l->length - (size_t)at) return wrong(l, key, "lies outside of the encoder's file");
    found->at = l->onnx + at;
    return true;
}

/* Floats of the file, where they lie as a CPU reads them; all the same number where the array is missing. */
static bool floats(const loader *l, const char *key, const array_at *from, int64_t count, float missing, const float **found)
{
    float *copy = ER_TAKE(l->arena, float, count);
    if (!copy) return false;
    *found = copy;
    if (!from->at) {
        for (int64_t i = 0; i < count; i++) copy[i] = missing;
        return true;
    }
    memcpy(copy, from->at, (size_t)count * sizeof *copy); /* little-endian, as every CPU is that this runs on */
    bool finite = true;
    for (int64_t i = 0; i < count; i++) finite &= fabsf(copy[i]) <= 1e9f;
    return finite || wrong(l, key, "holds numbers that are not finite");
}

static bool read_row(const loader *l, const er_fields *of, const char *key, int64_t count, bool needed, float missing, const float **found)
{
    array_at from;
    return find(l, of, key, "<f4", count, 0, needed, &from) && floats(l, key, &from, count, missing, found);
}

/* ---- Parts ---- */

static bool read_norm(const loader *l, const er_fields *of, const char *key, Norm *norm)
{
    er_fields fields;
    return er_field_map(of, key, &fields) && er_field_number(&fields, "epsilon", 0.0, 1.0, &norm->epsilon) &&
           read_row(l, &fields, "gain", l->hidden, true, 1.0f, &norm->gain) && read_row(l, &fields, "bias", l->hidden, true, 0.0f, &norm->bias);
}

/* Weights (rows, columns) as er_pack_weights arranges them, in a tenth of its time: panel after panel of columns, of each four
   rows of every column; and the `sums` of their columns. Gives the largest weight without its sign. */
static int64_t pack(const int8_t *weights, int64_t rows, int64_t columns, int64_t panel, int8_t *restrict packed, int32_t *restrict sums)
{
    int32_t largest = 0;
    for (int64_t k = 0; k < rows; k += 4) {
        const int8_t *a = weights + k * columns, *b = a + columns, *c = b + columns, *d = c + columns;
        int8_t least = 0, most = 0;
        for (int64_t i = 0; i < columns; i++) {
            const int8_t low = a[i] < b[i] ? a[i] : b[i], other_low = c[i] < d[i] ? c[i] : d[i];
            const int8_t high = a[i] > b[i] ? a[i] : b[i], other_high = c[i] > d[i] ? c[i] : d[i];
            sums[i] += a[i] + b[i] + c[i] + d[i];
            least = low < least ? low : least;
            least = other_low < least ? other_low : least;
            most = high > most ? high : most;
            most = other_high > most ? other_high : most;
        }
        largest = most > largest ? most : largest;
        largest = -least > largest ? -least : largest;
        for (int64_t at = 0; at < columns; at += panel)
            for (int64_t i = at; i < at + panel; i++) {
                const uint32_t four = (uint8_t)a[i] | (uint32_t)(uint8_t)b[i] << 8 | (uint32_t)(uint8_t)c[i] << 16 | (uint32_t)(uint8_t)d[i] << 24;
                memcpy(packed + at * rows + k * panel + 4 * (i - at), &four, sizeof four);
            }
    }
    return largest;
}

/* How many bits a code of a product has: 0 where it has no book. */
static bool bits_of(const loader *l, const er_fields *of, array_at *book, int *bits)
{
    *bits = 0;
    if (!find(l, of, "book", "|i1", ER_ANY, 0, false, book) || !book->at) return !book->at;
    while (*bits < MOST_BITS && (int64_t)1 << *bits < book->rows) ++*bits;
    return (*bits && (int64_t)1 << *bits == book->rows) || wrong(l, "book", "must have 2, 4, 8 … or 128 numbers");
}

/* Codes (rows, columns · bits / 8), of a row one after the other from the lowest bit on, as the numbers of the book. */
static void decode(const uint8_t *codes, int64_t count, int bits, const int8_t *book, int8_t *restrict weights)
{
    for (int64_t i = 0; i < count; i += 8, codes += bits) {
        uint64_t eight = 0;
        for (int b = 0; b < bits; b++) eight |= (uint64_t)codes[b] << 8 * b;
        for (int k = 0; k < 8; k++, eight >>= bits) weights[i + k] = book[eight & ((1u << bits) - 1)];
    }
}

static bool read_product(loader *l, const er_fields *of, const char *key, int64_t rows, int64_t columns, Product *product)
{
    er_fields fields;
    array_at weights, book;
    int bits;
    if (!er_field_map(of, key, &fields) || !bits_of(l, &fields, &book, &bits)) return false;
    if (bits && columns != ER_ANY) columns = columns * bits / 8;
    if (!find(l, &fields, "weights", bits ? "|u1" : "|i1", rows, columns, true, &weights)) return false;
    rows = weights.rows;
    columns = bits ? weights.columns * 8 / bits : weights.columns;
    if (bits && columns * bits != weights.columns * 8) return wrong(l, key, "has codes that end within a byte");
    if (rows % BLOCK || columns % BLOCK || rows > MOST_WIDTH) return wrong(l, key, "has a width that is no multiple of 64, or more than 16,384");
    if (!read_row(l, &fields, "scales", columns, true, 0.0f, &product->scales) || !read_row(l, &fields, "bias", columns, false, 0.0f, &product->bias) ||
        !read_row(l, &fields, "shrink", rows, false, 1.0f, &product->shrink))
        return false;
    int8_t *packed = ER_TAKE(l->arena, int8_t, rows * columns);
    int32_t *sums = ER_TAKE(l->arena, int32_t, columns);
    if (!packed || !sums) return false;
    const er_place here = er_mark(l->arena);
    const int8_t *whole = (const int8_t *)weights.at;
    if (bits) {
        int8_t *decoded = ER_TAKE(l->arena, int8_t, rows * columns);
        if (!decoded) return false;
        decode(weights.at, rows * columns, bits, (const int8_t *)book.at, decoded);
        whole = decoded;
    }
    const int64_t largest = pack(whole, rows, columns, l->panel, packed, sums);
    er_release(l->arena, here);
    l->largest = largest > l->largest ? largest : l->largest;
    product->packed = packed;
    product->sums = sums;
    product->rows = rows;
    product->columns = columns;
    return true;
}

static bool read_layer(loader *l, const er_fields *of, Layer *layer)
{
    const int64_t hidden = l->hidden;
    return read_product(l, of, "together", hidden, 3 * hidden, &layer->together) && read_product(l, of, "attended", hidden, hidden, &layer->attended) &&
           read_product(l, of, "wide", hidden, ER_ANY, &layer->wide) && read_product(l, of, "narrow", layer->wide.columns, hidden, &layer->narrow) &&
           read_norm(l, of, "between", &layer->between) && read_norm(l, of, "behind", &layer->behind);
}

/* Rows of bytes with a scale each, or of numbers, which then are copied; `rows` and `scales` are names. */
static bool read_rows(const loader *l, const er_fields *of, const char *rows, const char *scales, array_at *found, const float **by, const float **plain)
{
    const er_pack *told = er_pack_get(of->map, scales);
    const bool bytes = told && told->kind != ER_PACK_NIL;
    *by = *plain = NULL;
    if (!find(l, of, rows, bytes ? "|i1" : "<f4", ER_ANY, l->hidden, true, found)) return false;
    return bytes ? read_row(l, of, scales, found->rows, true, 0.0f, by) : floats(l, rows, found, found->rows * l->hidden, 0.0f, plain);
}

/* Words as codes: of each piece of a row one of the 256 vectors in its book. */
static bool read_codes(const loader *l, const er_fields *of, Transformer *to)
{
    array_at codes, books;
    const float *scales;
    if (!find(l, of, "words", "|u1", ER_ANY, ER_ANY, true, &codes)) return false;
    if (codes.columns > l->hidden || l->hidden % codes.columns) return wrong(l, "words", "have pieces that are no part of the encoder's dimension");
    const int64_t width = l->hidden / codes.columns;
    if (!find(l, of, "books", "|i1", codes.columns * BOOK, width, true, &books) || !read_row(l, of, "book_scales", codes.columns, true, 0.0f, &scales))
        return false;
    float *numbers = ER_TAKE(l->arena, float, BOOK * l->hidden);
    if (!numbers) return false;
    for (int64_t i = 0; i < BOOK * l->hidden; i++) numbers[i] = (float)((const int8_t *)books.at)[i] * scales[i / (BOOK * width)];
    to->tokens = codes.rows;
    to->codes = codes.at;
    to->pieces = codes.columns;
    to->plain = numbers;
    return true;
}

/* Words' rows or codes stay in the file; places get what the first type of token adds. */
static bool read_embedding(const loader *l, const er_fields *of, uint32_t max_tokens, Transformer *to)
{
    array_at words, places;
    const float *first, *table, *scales;
    const er_pack *books = er_pack_get(of->map, "books");
    if (books && books->kind != ER_PACK_NIL) {
        if (!read_codes(l, of, to)) return false;
    } else {
        if (!read_rows(l, of, "words", "word_scales", &words, &to->word_scales, &to->plain)) return false;
        to->tokens = words.rows;
        if (to->word_scales) to->words = (const int8_t *)words.at;
    }
    if (!read_rows(l, of, "places", "place_scales", &places, &scales, &table) || !read_row(l, of, "type", l->hidden, false, 0.0f, &first)) return false;
    if (places.rows < max_tokens) return wrong(l, "places", "are fewer than the encoder reads tokens");
    float *sums = scales ? ER_TAKE(l->arena, float, places.rows * l->hidden) : (float *)(uintptr_t)table; /* made here, and nobody else's yet */
    if (!sums) return false;
    for (int64_t i = 0; i < places.rows; i++)
        for (int64_t k = 0, at = i * l->hidden; k < l->hidden; k++, at++)
            sums[at] = (scales ? (float)((const int8_t *)places.at)[at] * scales[i] : table[at]) + first[k];
    to->places = sums;
    to->positions = places.rows;
    return read_norm(l, of, "embedded", &to->embedded);
}

static bool read_all(loader *l, const er_fields *of, const er_spec *spec, er_transformer *found)
{
    const er_pack *layers;
    er_text pooling;
    Transformer *to = &found->of;
    if (!er_field_whole(of, "heads", 1, MOST_WIDTH, &to->heads) || !er_field_text(of, "pooling", &pooling) ||
        !er_field_truth(of, "normalised", &found->unit) || !er_field_list(of, "layers", &layers))
        return false;
    if (!er_is(pooling, "mean") && !er_is(pooling, "cls")) return wrong(l, "pooling", "must be mean or cls");
    if (l->hidden % BLOCK || l->hidden > MOST_WIDTH || l->hidden % to->heads || l->hidden / to->heads % (BLOCK / 4))
        return wrong(l, "heads", "do not share the encoder's dimension in multiples of 16");
    if (!layers->count || layers->count > MOST_LAYERS) return wrong(l, "layers", "must be 1 to 256");
    found->first = er_is(pooling, "cls");
    to->hidden = l->hidden;
    to->count = layers->count;
    Layer *all = ER_TAKE(l->arena, Layer, layers->count);
    if (!all || !read_embedding(l, of, spec->max_tokens, to)) return false;
    for (uint32_t i = 0; i < layers->count; i++) {
        const er_fields layer = {l->arena, &layers->items[i], of->where};
        if (layer.map->kind != ER_PACK_MAP) return wrong(l, "layers", "must be maps");
        if (!read_layer(l, &layer, &all[i])) return false;
    }
    to->layers = all;
    return true;
}

const char *er_instruction_set(void)
{
    static const char *const names[SETS] = {"generic", "avx2", "avx_vnni", "avx512", "avx512_vnni", "arm64_dotprod"};
    const int64_t set = er_widest_set();
    return names[er_panel(set) ? set : GENERIC]; /* else not compiled here */
}

bool er_transformer_of(er_arena *arena, const uint8_t *onnx, size_t length, er_text arrays, const er_spec *spec, const er_transformer **transformer)
{
    const er_pack *map;
    er_transformer *found = ER_TAKE(arena, er_transformer, 1);
    if (!found || !er_pack_read(arena, arrays, "encoder-arrays", &map)) return false;
    const er_fields fields = {arena, map, "encoder-arrays"};
    found->set = er_widest_set();
    for (;;) {
        loader l = {arena, onnx, length, spec->dimension, er_panel(found->set), 0};
        if (!l.panel) found->set = GENERIC; /* not compiled here */
        l.panel = er_panel(found->set);
        if (!read_all(&l, &fields, spec, found)) return false;
        /* These add two products in 16 bits, where weights of 8 bits could overflow. */
        if (l.largest <= MOST_SEVEN || (found->set != AVX2 && found->set != AVX512)) break;
        found->set = GENERIC;
    }
    *transformer = found;
    return true;
}

bool er_transform(er_arena *arena, const er_transformer *by, const int64_t *ids, uint32_t count, int32_t threads, float *tokens, float *vector)
{
    const int64_t ends[1] = {count}, workers = threads > 1 ? threads : 1;
    if (count > by->of.positions)
        return er_refuse(arena->error, ER_BAD_INPUT, "a text of %u tokens at once, the encoder reads %u", count, (unsigned)by->of.positions);
    const er_place here = er_mark(arena);
    float *room = ER_TAKE(arena, float, er_transform_room(&by->of, count, count, workers));
    if (!room) return false;
    const int64_t failed = er_transform_texts(&by->of, by->set, ids, ends, 1, workers, by->first, by->unit, room, tokens, vector);
    if (failed & 4) er_transform_left(room, 1); /* a worker is late, and in the room */
    er_release(arena, here);
    if ((failed & 3) == 1) return er_refuse(arena->error, ER_BAD_BUNDLE, "encoder: a token that it does not know; " REMEDY);
    return !(failed & 3) || er_refuse(arena->error, ER_BAD_BUNDLE, "encoder: vectors with numbers that are not finite; " REMEDY);
}
