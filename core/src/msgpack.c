#include "msgpack.h"

#include "distinct.h"
#include "utf8.h"

#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "arrays are used where they lie, in little-endian order"
#endif

enum { MOST_CONTAINERS = 100000, MOST_ITEMS = 2000000, MOST_NESTED = 1024 };

typedef struct {
    er_arena *arena;
    const char *where;
    const uint8_t *at, *end;
} reader;

static bool wrong(const reader *r, const char *what)
{
    return er_refuse(r->arena->error, ER_BAD_BUNDLE, "%s: not a msgpack map (%s); build the bundle again", r->where, what);
}

static uint64_t big_endian(const uint8_t *at, int bytes)
{
    uint64_t value = 0;
    for (int i = 0; i < bytes; i++) value = value << 8 | at[i];
    return value;
}

/* The next value without what an array or a map holds. */
static bool next_value(reader *r, er_pack *into)
{
    if (r->at == r->end) return wrong(r, "it ends too soon");
    const uint8_t c = *r->at++;
    uint64_t length = 0;
    int size = 0; /* of the number behind the first byte */
    into->count = 0;
    into->whole = 0;
    if (c < 0x80 || c >= 0xe0) into->kind = ER_PACK_WHOLE, into->whole = (int8_t)c;
    else if (c < 0x90) into->kind = ER_PACK_MAP, length = c & 15;
    else if (c < 0xa0) into->kind = ER_PACK_ARRAY, length = c & 15;
    else if (c < 0xc0) into->kind = ER_PACK_TEXT, length = c & 31;
    else if (c == 0xc0) into->kind = ER_PACK_NIL;
    else if (c == 0xc2 || c == 0xc3) into->kind = ER_PACK_BOOLEAN, into->truth = c == 0xc3;
    else if (c >= 0xc4 && c <= 0xc6) into->kind = ER_PACK_BYTES, size = 1 << (c - 0xc4);
    else if (c == 0xca || c == 0xcb) into->kind = ER_PACK_NUMBER, size = c == 0xca ? 4 : 8;
    else if (c >= 0xcc && c <= 0xcf) into->kind = ER_PACK_WHOLE, size = 1 << (c - 0xcc);
    else if (c >= 0xd0 && c <= 0xd3) into->kind = ER_PACK_WHOLE, size = 1 << (c - 0xd0);
    else if (c >= 0xd9 && c <= 0xdb) into->kind = ER_PACK_TEXT, size = 1 << (c - 0xd9);
    else if (c >= 0xdc) into->kind = c < 0xde ? ER_PACK_ARRAY : ER_PACK_MAP, size = c & 1 ? 4 : 2;
    else return wrong(r, "an extension type, which no file of ours has");
    if (r->end - r->at < size) return wrong(r, "it ends too soon");
    const uint64_t value = big_endian(r->at, size);
    r->at += size;
    if (into->kind == ER_PACK_WHOLE) {
        if (size && c <= 0xcf) into->whole = value > INT64_MAX ? INT64_MAX : (int64_t)value;
        else if (size) into->whole = (int64_t)(value << (64 - 8 * size)) >> (64 - 8 * size);
    } else if (into->kind == ER_PACK_NUMBER) {
        const uint32_t half = (uint32_t)value;
        float narrow;
        if (size == 8) memcpy(&into->number, &value, 8);
        else memcpy(&narrow, &half, 4), into->number = (double)narrow;
    } else {
        if (size) length = value;
        into->count = (uint32_t)length;
        if (into->kind == ER_PACK_TEXT || into->kind == ER_PACK_BYTES) {
            if ((uint64_t)(r->end - r->at) < length) return wrong(r, "it ends too soon");
            into->at = (const char *)r->at;
            r->at += length;
            if (into->kind == ER_PACK_TEXT && er_utf8_ends(er_pack_text(into)) < length) return wrong(r, "a text that is no UTF-8");
        }
    }
    return true;
}

static uint32_t entries(const er_pack *value)
{
    return value->kind == ER_PACK_ARRAY ? value->count : value->kind == ER_PACK_MAP ? 2 * value->count : 0;
}

/* Proves that the bytes are whole, and finds how many values there are. */
static bool count(reader *r, er_census *most, size_t *values)
{
    uint32_t left[MOST_NESTED], depth = 0;
    uint64_t containers = 0, items = 0, all = 0;
    do {
        er_pack value;
        if (!next_value(r, &value)) return false;
        all++;
        if (depth) left[depth - 1]--;
        if (value.kind >= ER_PACK_ARRAY) {
            containers++;
            items += value.count;
            if (containers > most->containers || items > most->items || (value.kind == ER_PACK_MAP && value.count > MOST_CONTAINERS))
                return wrong(r, "more maps and arrays, or entries of them, than it may have");
            if (entries(&value)) {
                if (depth == MOST_NESTED) return wrong(r, "nested too deeply");
                left[depth++] = entries(&value);
            }
        }
        while (depth && !left[depth - 1]) depth--;
    } while (depth);
    if (r->at < r->end) return wrong(r, "something behind its end");
    *values = (size_t)all;
    most->containers -= containers;
    most->items -= items;
    return true;
}

static bool keys_hold(reader *r, const er_pack *map)
{
    const er_place place = er_mark(r->arena);
    er_text *keys = ER_TAKE(r->arena, er_text, map->count);
    if (!keys) return false;
    bool fine = true;
    int64_t alike = -1;
    for (uint32_t i = 0; i < map->count && fine; i++) {
        if (map->items[2 * i].kind != ER_PACK_TEXT) fine = wrong(r, "a key that is no text");
        else keys[i] = er_pack_text(&map->items[2 * i]);
    }
    if (fine) fine = er_first_alike(r->arena, keys, map->count, &alike);
    if (fine && alike >= 0) fine = wrong(r, "a map with a key twice");
    er_release(r->arena, place);
    return fine;
}

/* The values of an array or a map lie side by side; those inside of them come behind, as they are met. */
static bool fill(reader *r, er_pack *pool)
{
    struct {
        er_pack *next;
        uint32_t left;
    } open[MOST_NESTED + 1];
    er_pack *free_one = pool + 1;
    uint32_t depth = 1;
    open[0].next = pool;
    open[0].left = 1;
    while (depth) {
        er_pack *value = open[depth - 1].next++;
        open[depth - 1].left--;
        if (!next_value(r, value)) return false;
        while (depth && !open[depth - 1].left) depth--;
        if (value->kind < ER_PACK_ARRAY) continue;
        value->items = free_one;
        free_one += entries(value);
        if (!entries(value)) continue;
        open[depth].next = (er_pack *)value->items;
        open[depth++].left = entries(value);
    }
    for (er_pack *value = pool; value < free_one; value++)
        if (value->kind == ER_PACK_MAP && !keys_hold(r, value)) return false;
    return true;
}

bool er_pack_read(er_arena *arena, er_text bytes, const char *where, const er_pack **found)
{
    er_census most = {MOST_CONTAINERS, MOST_ITEMS};
    return er_pack_counted(arena, bytes, where, &most, found);
}

bool er_pack_counted(er_arena *arena, er_text bytes, const char *where, er_census *most, const er_pack **found)
{
    const uint8_t *begin = (const uint8_t *)bytes.at;
    reader r = {arena, where, begin, begin + bytes.length};
    if (!bytes.length) return wrong(&r, "it is empty");
    size_t values = 0;
    if (!count(&r, most, &values)) return false;
    er_pack *pool = ER_TAKE(arena, er_pack, values);
    if (!pool) return false;
    r.at = begin;
    if (!fill(&r, pool)) return false;
    if (pool->kind != ER_PACK_MAP) return wrong(&r, "expected a map");
    *found = pool;
    return true;
}

const er_pack *er_pack_get(const er_pack *map, const char *key)
{
    for (uint32_t i = 0; i < map->count; i++)
        if (er_is(er_pack_text(&map->items[2 * i]), key)) return &map->items[2 * i + 1];
    return NULL;
}

/* ---- Fields ---- */

static const char *kind_of(const er_pack *value)
{
    static const char *const names[] = {"nil", "a boolean", "an integer", "a number", "a text", "bytes", "an array", "a map"};
    return value ? names[value->kind] : "nothing";
}

static bool field(const er_fields *f, const char *key, er_pack_kind kind, const char *expected, const er_pack **found)
{
    *found = er_pack_get(f->map, key);
    if (*found && (*found)->kind == (uint32_t)kind) return true;
    return er_refuse(f->arena->error, ER_BAD_BUNDLE, "%s: \"%s\" must be %s, found %s; build the bundle again", f->where, key, expected,
                     kind_of(*found));
}

bool er_field_map(const er_fields *f, const char *key, er_fields *inner)
{
    const er_pack *found;
    if (!field(f, key, ER_PACK_MAP, "a map", &found)) return false;
    *inner = (er_fields){f->arena, found, f->where};
    return true;
}

bool er_field_list(const er_fields *f, const char *key, const er_pack **found) { return field(f, key, ER_PACK_ARRAY, "an array", found); }

bool er_field_text(const er_fields *f, const char *key, er_text *text)
{
    const er_pack *found;
    if (!field(f, key, ER_PACK_TEXT, "a text", &found)) return false;
    *text = er_pack_text(found);
    return true;
}

bool er_field_truth(const er_fields *f, const char *key, bool *truth)
{
    const er_pack *found;
    if (!field(f, key, ER_PACK_BOOLEAN, "true or false", &found)) return false;
    *truth = found->truth;
    return true;
}

bool er_field_whole(const er_fields *f, const char *key, int64_t low, int64_t high, int64_t *whole)
{
    const er_pack *found;
    if (!field(f, key, ER_PACK_WHOLE, "an integer", &found)) return false;
    *whole = found->whole;
    if (low <= *whole && *whole <= high) return true;
    return er_refuse(f->arena->error, ER_BAD_BUNDLE, "%s: \"%s\" must lie between %lld and %lld, found %lld; build the bundle again", f->where,
                     key, (long long)low, (long long)high, (long long)*whole);
}

bool er_field_number(const er_fields *f, const char *key, double low, double high, double *number)
{
    const er_pack *found = er_pack_get(f->map, key);
    if (!found || (found->kind != ER_PACK_WHOLE && found->kind != ER_PACK_NUMBER))
        return er_refuse(f->arena->error, ER_BAD_BUNDLE, "%s: \"%s\" must be a number, found %s; build the bundle again", f->where, key,
                         kind_of(found));
    *number = found->kind == ER_PACK_WHOLE ? (double)found->whole : found->number;
    if (low <= *number && *number <= high) return true; /* NaN is not */
    return er_refuse(f->arena->error, ER_BAD_BUNDLE, "%s: \"%s\" must lie between %g and %g, found %g; build the bundle again", f->where, key, low,
                     high, *number);
}

bool er_field_texts(const er_fields *f, const char *key, const er_text **texts, uint32_t *number)
{
    const er_pack *list;
    if (!er_field_list(f, key, &list)) return false;
    er_text *found = ER_TAKE(f->arena, er_text, list->count);
    if (!found) return false;
    for (uint32_t i = 0; i < list->count; i++) {
        if (list->items[i].kind != ER_PACK_TEXT)
            return er_refuse(f->arena->error, ER_BAD_BUNDLE, "%s: \"%s\" must hold texts only; build the bundle again", f->where, key);
        found[i] = er_pack_text(&list->items[i]);
    }
    *texts = found;
    *number = list->count;
    return true;
}

/* ---- Arrays of numbers ---- */

static bool all_finite(const float *numbers, size_t count)
{
    uint32_t bad = 0;
    for (size_t i = 0; i < count; i++) bad |= !(fabsf(numbers[i]) <= 1e9f); /* NaN is not */
    return !bad;
}

bool er_field_refuse(const er_fields *f, const char *what)
{
    return er_refuse(f->arena->error, ER_BAD_BUNDLE, "%s: %s; build the bundle again", f->where, what);
}

static bool no_array(const er_fields *f, const char *key, const char *what)
{
    return er_refuse(f->arena->error, ER_BAD_BUNDLE, "%s: \"%s\" %s; build the bundle again", f->where, key, what);
}

bool er_field_array(const er_fields *f, const char *key, const char *type, int64_t rows, int64_t columns, er_array *array)
{
    er_fields of;
    if (!er_field_map(f, key, &of)) return false;
    const er_pack *found_type = er_pack_get(of.map, "dtype"), *shape = er_pack_get(of.map, "shape"), *data = er_pack_get(of.map, "data");
    if (!found_type || found_type->kind != ER_PACK_TEXT || !er_is(er_pack_text(found_type), type) || !shape || shape->kind != ER_PACK_ARRAY ||
        !data || data->kind != ER_PACK_BYTES)
        return er_refuse(f->arena->error, ER_BAD_BUNDLE, "%s: \"%s\" must be an array of %s; build the bundle again", f->where, key, type);
    const uint32_t dimensions = columns ? 2 : 1;
    int64_t sizes[2] = {0, 1};
    bool fits = shape->count == dimensions;
    for (uint32_t i = 0; fits && i < dimensions; i++) {
        const er_pack *size = &shape->items[i];
        const int64_t wanted = i ? columns : rows;
        fits = size->kind == ER_PACK_WHOLE && size->whole >= 0 && size->whole < (int64_t)1 << 31 && (wanted == ER_ANY || wanted == size->whole);
        sizes[i] = size->whole;
    }
    const uint32_t each = (uint32_t)(type[2] - '0');
    fits = fits && data->count % each == 0 && (uint64_t)sizes[0] * (uint64_t)sizes[1] == data->count / each;
    if (!fits) return no_array(f, key, "has another shape than it must have, or other bytes than its shape tells");
    *array = (er_array){data->at, (uint32_t)sizes[0], (uint32_t)sizes[1]};
    if ((uintptr_t)data->at % each) {
        void *copy = er_take(f->arena, data->count, 1);
        if (!copy) return false;
        array->at = memcpy(copy, data->at, data->count);
    }
    if (!strcmp(type, "<f4") && !all_finite(array->at, data->count / 4)) return no_array(f, key, "holds numbers that are not finite, or too large");
    return true;
}

float er_of_half(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, exponent = half >> 10 & 31, fraction = half & 1023;
    if (!exponent) return ldexpf((float)fraction, -24) * (sign ? -1.0f : 1.0f);
    const uint32_t bits = sign | (exponent == 31 ? 0xffu << 23 : (exponent + 112) << 23) | fraction << 13;
    float wide;
    memcpy(&wide, &bits, sizeof wide);
    return wide;
}

bool er_field_halves(const er_fields *f, const char *key, int64_t rows, int64_t columns, er_array *array)
{
    if (!er_field_array(f, key, "<f2", rows, columns, array)) return false;
    const size_t n = (size_t)array->rows * array->columns;
    const uint16_t *halves = array->at;
    float *wide = ER_TAKE(f->arena, float, n);
    if (!wide) return false;
    for (size_t i = 0; i < n; i++) wide[i] = er_of_half(halves[i]);
    array->at = wide;
    return all_finite(wide, n) || no_array(f, key, "holds numbers that are not finite, or too large");
}
