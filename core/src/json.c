#include "json.h"

#include "distinct.h"
#include "utf8.h"

/* Two passes. The first finds how many entries each array and object can have at most, and refuses too many or too deep
   ones before anything is allocated for them; the second fills exactly that many places, and so never moves any. */

enum { MOST_NESTED = 64 };

typedef struct {
    er_arena *arena;
    const char *where;
    const char *at, *end, *begin;
    uint32_t most_nested;
    const uint32_t *room; /* entries that container i can have, in the order in which they open */
    uint32_t container, containers;
    er_json *values;      /* the next free ones */
    er_text *keys;
    char *texts;          /* where texts with escapes are written out; never longer than they stand in the file */
} reader;

static bool wrong(const reader *r, const char *what)
{
    return er_refuse(r->arena->error, ER_BAD_BUNDLE, "%s: not JSON (%s at byte %zu); build the bundle again", r->where, what,
                     (size_t)(r->at - r->begin));
}

/* ---- Before: counts ---- */

typedef struct {
    size_t values, keys, texts;
} needs;

static bool count(reader *r, uint32_t most_containers, needs *all)
{
    uint32_t depth = 0, most = 0;
    for (const char *c = r->at; c < r->end; c++) most += (*c == '[') | (*c == '{');
    if (most > most_containers)
        return er_refuse(r->arena->error, ER_BAD_BUNDLE, "%s: too many objects and arrays; build the bundle again", r->where);
    uint32_t *room = ER_TAKE(r->arena, uint32_t, most + 1);
    if (!room) return false;
    uint32_t open[MOST_NESTED + 1];
    bool object[MOST_NESTED + 1];
    uint64_t values = 1, keys = 0, texts = 0;
    for (; r->at < r->end; r->at++) {
        const char c = *r->at;
        if (c == '"') {
            const char *begin = ++r->at;
            bool escaped = false;
            for (; r->at < r->end && *r->at != '"'; r->at++)
                if (*r->at == '\\') {
                    escaped = true;
                    if (++r->at == r->end) break;
                }
            if (r->at >= r->end) return wrong(r, "a text without an end");
            if (escaped) texts += (size_t)(r->at - begin);
        } else if (c == '[' || c == '{') {
            if (depth == r->most_nested)
                return er_refuse(r->arena->error, ER_BAD_BUNDLE, "%s: more than %u objects and arrays inside each other; build the bundle again",
                                 r->where, r->most_nested);
            open[depth] = r->containers;
            object[depth++] = c == '{';
            room[r->containers++] = 1;
            values++;
            keys += c == '{';
        } else if (c == ']' || c == '}') {
            if (!depth) return wrong(r, "more ends than begins of objects and arrays");
            depth--;
        } else if (c == ',') {
            if (!depth) return wrong(r, "a comma outside of objects and arrays");
            room[open[depth - 1]]++;
            values++;
            keys += object[depth - 1];
        }
    }
    if (depth) return wrong(r, "an object or array without an end");
    r->at = r->begin;
    r->room = room;
    *all = (needs){(size_t)values, (size_t)keys, (size_t)texts};
    return true;
}

/* ---- Texts ---- */

static int hex(char c) { return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1; }

static bool four_digits(reader *r, uint32_t *found)
{
    uint32_t value = 0;
    if (r->end - r->at < 4) return wrong(r, "a wrong escape");
    for (int i = 0; i < 4; i++) {
        const int digit = hex(*r->at);
        if (digit < 0) return wrong(r, "a wrong escape");
        value = value << 4 | (uint32_t)digit;
        r->at++;
    }
    *found = value;
    return true;
}

static bool escape(reader *r)
{
    static const char short_ones[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char c = *r->at++;
    const char *found = c ? strchr(short_ones, c) : NULL;
    if (found) {
        *r->texts++ = meant[found - short_ones];
        return true;
    }
    uint32_t point, low;
    if (c != 'u') return r->at--, wrong(r, "a wrong escape");
    if (!four_digits(r, &point)) return false;
    if (point >= 0xd800 && point < 0xe000) {
        if (point >= 0xdc00 || r->end - r->at < 6 || r->at[0] != '\\' || r->at[1] != 'u') return wrong(r, "half of a surrogate pair");
        r->at += 2;
        if (!four_digits(r, &low)) return false;
        if (low < 0xdc00 || low >= 0xe000) return wrong(r, "half of a surrogate pair");
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    if (point < 0x80) *r->texts++ = (char)point;
    else if (point < 0x800) {
        *r->texts++ = (char)(0xc0 | point >> 6);
        *r->texts++ = (char)(0x80 | (point & 0x3f));
    } else {
        if (point < 0x10000) *r->texts++ = (char)(0xe0 | point >> 12);
        else {
            *r->texts++ = (char)(0xf0 | point >> 18);
            *r->texts++ = (char)(0x80 | (point >> 12 & 0x3f));
        }
        *r->texts++ = (char)(0x80 | (point >> 6 & 0x3f));
        *r->texts++ = (char)(0x80 | (point & 0x3f));
    }
    return true;
}

/* From the quotation mark on. */
static bool read_text(reader *r, er_text *found)
{
    const char *begin = ++r->at;
    while (*r->at != '"') { /* the first pass proved that there is one */
        if (*r->at == '\\') break;
        if ((unsigned char)*r->at < 0x20) return wrong(r, "a control character in a text");
        r->at++;
    }
    if (*r->at == '"') {
        *found = (er_text){begin, (size_t)(r->at++ - begin)};
        return true;
    }
    char *written = r->texts;
    memcpy(r->texts, begin, (size_t)(r->at - begin));
    r->texts += r->at - begin;
    while (*r->at != '"') {
        if ((unsigned char)*r->at < 0x20) return wrong(r, "a control character in a text");
        if (*r->at != '\\') *r->texts++ = *r->at++;
        else if (r->at++, !escape(r)) return false;
    }
    r->at++;
    *found = (er_text){written, (size_t)(r->texts - written)};
    return true;
}

/* ---- Numbers ---- */

/* A sum of two doubles, twice as exact as one. */
typedef struct {
    double high, low;
} pair;

static void split(double a, double *high, double *low)
{
    const double wide = 134217729.0 * a; /* 2^27 + 1 */
    const double rest = wide - a;
    *high = wide - rest;
    *low = a - *high;
}

static double error_of(double a, double b, double product)
{
    double ah, al, bh, bl;
    split(a, &ah, &al);
    split(b, &bh, &bl);
    return ((ah * bh - product) + ah * bl + al * bh) + al * bl;
}

static pair times(pair a, double b)
{
    const double high = a.high * b;
    const double low = error_of(a.high, b, high) + a.low * b;
    const double sum = high + low;
    return (pair){sum, low - (sum - high)};
}

static pair over(pair a, double b)
{
    const double high = a.high / b;
    const double back = high * b;
    const double low = ((a.high - back) - error_of(high, b, back) + a.low) / b;
    const double sum = high + low;
    return (pair){sum, low - (sum - high)};
}

/* No strtod: that one heeds the locale. Right to the last bit wherever `digits` are all there were,
   but for what lies within 2^-40 of the middle between two doubles, and below 1e-307. */
double er_decimal(uint64_t digits, int64_t exponent)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (!digits || exponent < -400) return 0.0;
    if (exponent > 310) return HUGE_VAL;
    /* On the way by so much smaller or larger that nothing between here and there is near an end of what doubles are. */
    const int aside = exponent > 0 ? -200 : 600;
    const double upper = ldexp((double)(digits >> 32), 32), lower = (double)(uint32_t)digits;
    pair value = {upper + lower, 0.0};
    value.low = ldexp(lower - (value.high - upper), aside);
    value.high = ldexp(value.high, aside);
    for (; exponent > 22; exponent -= 22) value = times(value, 1e22);
    for (; exponent < -22; exponent += 22) value = over(value, 1e22);
    value = exponent < 0 ? over(value, powers[-exponent]) : times(value, powers[exponent]);
    return ldexp(value.high, -aside);
}

static bool digit(const reader *r) { return r->at < r->end && *r->at >= '0' && *r->at <= '9'; }

static bool read_number(reader *r, er_json *into)
{
    uint64_t digits = 0;
    int64_t exponent = 0;
    const bool negative = *r->at == '-';
    r->at += negative;
    if (!digit(r)) return wrong(r, "something else than a value");
    if (*r->at == '0' && r->at + 1 < r->end && r->at[1] >= '0' && r->at[1] <= '9') return wrong(r, "a number that begins with 0");
    into->whole = true;
    for (bool behind = false;; r->at++) {
        if (digit(r)) {
            const bool fits = digits < 1000000000000000000u; /* 18 digits and this one */
            if (fits) digits = digits * 10 + (uint64_t)(*r->at - '0');
            exponent += !fits;
            exponent -= behind;
        } else if (!behind && r->at < r->end && *r->at == '.') {
            behind = true;
            into->whole = false;
            r->at++;
            if (!digit(r)) return wrong(r, "a number without digits behind its point");
            r->at--;
        } else break;
    }
    if (r->at < r->end && (*r->at == 'e' || *r->at == 'E')) {
        into->whole = false;
        r->at++;
        const bool below = r->at < r->end && *r->at == '-';
        if (r->at < r->end && (*r->at == '-' || *r->at == '+')) r->at++;
        if (!digit(r)) return wrong(r, "a number without an exponent");
        int64_t power = 0;
        for (; digit(r); r->at++)
            if (power < (INT64_C(1) << 40)) power = power * 10 + (*r->at - '0');
        exponent += below ? -power : power;
    }
    const double value = er_decimal(digits, exponent);
    if (!(value <= 1.7976931348623157e308)) return wrong(r, "a number that is too large");
    into->kind = ER_JSON_NUMBER;
    into->number = negative ? -value : value;
    return true;
}

/* ---- Values ---- */

static void skip(reader *r)
{
    while (r->at < r->end && (*r->at == ' ' || *r->at == '\n' || *r->at == '\r' || *r->at == '\t')) r->at++;
}

static bool next_is(reader *r, char c) { return r->at < r->end && *r->at == c; }

static bool read_value(reader *r, uint32_t depth, er_json *into);

/* No deeper than the first pass allowed. */
static bool read_entries(reader *r, uint32_t depth, er_json *into)
{
    const bool object = *r->at == '{';
    const char end = object ? '}' : ']';
    const uint32_t room = r->room[r->container++];
    er_json *items = r->values;
    er_text *keys = object ? r->keys : NULL;
    r->values += room;
    if (object) r->keys += room;
    uint32_t count = 0;
    r->at++;
    skip(r);
    if (!next_is(r, end))
        for (;; r->at++) {
            skip(r);
            if (object) {
                if (!next_is(r, '"')) return wrong(r, "no key");
                if (!read_text(r, &keys[count])) return false;
                skip(r);
                if (!next_is(r, ':')) return wrong(r, "no colon behind a key");
                r->at++;
                skip(r);
            }
            if (!read_value(r, depth + 1, &items[count])) return false;
            count++;
            skip(r);
            if (next_is(r, end)) break;
            if (!next_is(r, ',') || count == room) return wrong(r, "no comma between two entries");
        }
    r->at++;
    into->kind = object ? ER_JSON_OBJECT : ER_JSON_ARRAY;
    into->items = items;
    into->keys = keys;
    into->count = count;
    int64_t alike = -1;
    if (object && !er_first_alike(r->arena, keys, count, &alike)) return false;
    return alike < 0 || wrong(r, "an object with a key twice");
}

static bool read_word(reader *r, const char *word)
{
    const size_t length = strlen(word);
    if ((size_t)(r->end - r->at) < length || memcmp(r->at, word, length)) return wrong(r, "something else than a value");
    r->at += length;
    return true;
}

static bool read_value(reader *r, uint32_t depth, er_json *into)
{
    const char *begin = r->at;
    const char c = r->at < r->end ? *r->at : 0;
    bool fine;
    if (c == '{' || c == '[') fine = depth < r->most_nested && read_entries(r, depth, into);
    else if (c == '"') into->kind = ER_JSON_TEXT, fine = read_text(r, &into->text);
    else if (c == 't' || c == 'f') {
        into->kind = ER_JSON_BOOLEAN;
        into->truth = c == 't';
        fine = read_word(r, c == 't' ? "true" : "false");
    } else if (c == 'n') fine = read_word(r, "null");
    else fine = read_number(r, into);
    into->raw = (er_text){begin, (size_t)(r->at - begin)};
    return fine;
}

bool er_json_read(er_arena *arena, er_text text, uint32_t most_nested, uint32_t most_containers, const char *where, const er_json **found)
{
    if (most_nested > MOST_NESTED) most_nested = MOST_NESTED;
    reader r = {.arena = arena, .where = where, .at = text.at, .begin = text.at, .end = text.at + text.length, .most_nested = most_nested};
    if (!text.length) return wrong(&r, "nothing");
    if (text.length > UINT32_MAX / 2) return wrong(&r, "too much");
    const size_t fine = er_utf8_ends(text);
    if (fine < text.length) return r.at += fine, wrong(&r, "something else than UTF-8");
    needs all = {0};
    if (!count(&r, most_containers, &all)) return false;
    er_json *values = ER_TAKE(arena, er_json, all.values);
    r.keys = ER_TAKE(arena, er_text, all.keys);
    r.texts = ER_TAKE(arena, char, all.texts);
    if (!values || !r.keys || !r.texts) return false;
    r.values = values + 1;
    skip(&r);
    if (!read_value(&r, 0, values)) return false;
    skip(&r);
    if (r.at < r.end) return wrong(&r, "something behind the end");
    *found = values;
    return true;
}

const er_json *er_json_get(const er_json *of, const char *key)
{
    if (!of || of->kind != ER_JSON_OBJECT) return NULL;
    for (uint32_t i = 0; i < of->count; i++)
        if (er_is(of->keys[i], key)) return &of->items[i];
    return NULL;
}
