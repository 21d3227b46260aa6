/* What a schema surely takes, as JSON Schema has it. What has a keyword that is not known here may refuse anything, and takes
   nothing. And values: as they are shown, written and compared. Knows nothing of which words are meant. */

#include "arguments.h"
#include "format.h"
#include "overlay.h"
#include "regex.h"
#include "words.h"

#include <stdlib.h>

enum { MOST_CHARS = 2000, MOST_MATCHED = 200, LONGEST_PATTERN = 300, MOST_UNBOUNDED = 2 };

const er_json er_json_true = {.kind = ER_JSON_BOOLEAN, .truth = true, .raw = {"true", 4}};
const er_json er_json_false = {.kind = ER_JSON_BOOLEAN, .truth = false, .raw = {"false", 5}};

/* ---- Values ---- */

const er_json *er_json_text(er_arena *arena, er_text text)
{
    er_json *made = ER_TAKE(arena, er_json, 1);
    if (made) *made = (er_json){.kind = ER_JSON_TEXT, .text = text};
    return made;
}

/* The shortest digits that are this number, as Python writes it. */
static er_text digits_of(er_arena *arena, double number)
{
    char *made = ER_TAKE(arena, char, 40), digits[40];
    const char *e = NULL;
    int precision = -1, exponent = 0;
    if (!made) return (er_text){"0", 1};
    for (double back = NAN; back != fabs(number) && precision < 17;) {
        uint64_t whole = 0;
        er_format(digits, sizeof digits, "%.*e", ++precision, number);
        for (e = digits; *e && *e != 'e'; e++)
            if (*e >= '0' && *e <= '9') whole = whole * 10 + (uint64_t)(*e - '0');
        exponent = atoi(e + 1);
        back = er_decimal(whole, exponent - precision);
    }
    if (exponent < -4 || exponent >= 16) er_format(made, 40, "%s", digits);
    else er_format(made, 40, "%.*f", precision > exponent ? precision - exponent : 1, number);
    return (er_text){made, strlen(made)};
}

const er_json *er_json_number(er_arena *arena, double number, bool whole)
{
    er_json *made = ER_TAKE(arena, er_json, 1);
    if (!made) return NULL;
    *made = (er_json){.kind = ER_JSON_NUMBER, .whole = whole, .number = number};
    made->raw = digits_of(arena, number);
    if (whole && made->raw.length > 2 && er_is(er_cut(made->raw, made->raw.length - 2, made->raw.length), ".0")) made->raw.length -= 2;
    if (whole && memchr(made->raw.at, 'e', made->raw.length)) {
        char *at = ER_TAKE(arena, char, 40);
        if (at) made->raw = (er_text){at, er_format(at, 40, "%.0f", number)};
    }
    return made;
}

const er_json *er_json_list(er_arena *arena, const er_json *items, uint32_t count)
{
    er_json *made = ER_TAKE(arena, er_json, 1);
    if (made) *made = (er_json){.kind = ER_JSON_ARRAY, .items = items, .count = count};
    return made;
}

static bool is_numeric(const er_json *value) { return value->kind == ER_JSON_NUMBER || value->kind == ER_JSON_BOOLEAN; }
static double number_of(const er_json *value) { return value->kind == ER_JSON_BOOLEAN ? value->truth : value->number; }

bool er_json_same(const er_json *a, const er_json *b)
{
    if (is_numeric(a) && is_numeric(b)) {
        const bool both = a->kind == ER_JSON_NUMBER && b->kind == ER_JSON_NUMBER && a->whole && b->whole;
        return both && a->raw.length > 15 && b->raw.length > 15 ? er_same(a->raw, b->raw) : number_of(a) == number_of(b);
    }
    if (a->kind != b->kind) return false;
    if (a->kind == ER_JSON_TEXT) return er_same(a->text, b->text);
    if (a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t k = i;
        for (uint32_t n = 0; a->keys && n < b->count && !er_same(a->keys[i], b->keys[k]); n++) k = (k + 1) % b->count;
        if ((a->keys && !er_same(a->keys[i], b->keys[k])) || !er_json_same(&a->items[i], &b->items[k])) return false;
    }
    return true;
}

/* As JSON has it: true is not 1. */
static bool equal(const er_json *a, const er_json *b) { return (a->kind == ER_JSON_BOOLEAN) == (b->kind == ER_JSON_BOOLEAN) && er_json_same(a, b); }

bool er_json_shown(er_arena *arena, const er_json *value, er_text *found)
{
    if (value->kind == ER_JSON_TEXT) *found = value->text;
    else if (value->kind == ER_JSON_BOOLEAN) *found = value->truth ? ER_TEXT("True") : ER_TEXT("False");
    else if (value->kind == ER_JSON_NULL) *found = ER_TEXT("None");
    else if (value->kind == ER_JSON_NUMBER && !value->whole) *found = digits_of(arena, value->number);
    else *found = value->raw;
    return found->at != NULL || !found->length;
}

static bool put_value(er_arena *arena, er_bytes *b, const er_json *value)
{
    er_text shown;
    switch (value->kind) {
    case ER_JSON_TEXT: return er_put_quoted(b, value->text), true;
    case ER_JSON_NULL: return er_put(b, "null", 4), true;
    case ER_JSON_BOOLEAN: return er_put(b, value->truth ? "true" : "false", value->truth ? 4 : 5), true;
    case ER_JSON_NUMBER: return er_json_shown(arena, value, &shown) && (er_put(b, shown.at, shown.length), true);
    default: break;
    }
    er_put(b, value->kind == ER_JSON_ARRAY ? "[" : "{", 1);
    for (uint32_t i = 0; i < value->count; i++) {
        if (i) er_put(b, ", ", 2);
        if (value->keys) er_put_quoted(b, value->keys[i]), er_put(b, ": ", 2);
        if (!put_value(arena, b, &value->items[i])) return false;
    }
    er_put(b, value->kind == ER_JSON_ARRAY ? "]" : "}", 1);
    return true;
}

bool er_json_write(er_arena *arena, const er_json *value, er_text *found)
{
    er_bytes b = {0};
    const bool fine = put_value(arena, &b, value);
    char *kept = fine && !b.failed ? ER_TAKE(arena, char, b.length + 1) : NULL;
    if (kept) memcpy(kept, b.at, b.length);
    *found = (er_text){kept, kept ? b.length : 0};
    if (b.failed) er_refuse(arena->error, ER_NO_MEMORY, "no memory");
    er_bytes_free(&b);
    return kept != NULL;
}

bool er_is_reference(er_text text, uint32_t *number)
{
    uint32_t found = 0;
    if (text.length < 6 || memcmp(text.at, "$out_", 5) || text.at[5] == '0') return false;
    for (size_t i = 5; i < text.length; i++) {
        if (text.at[i] < '0' || text.at[i] > '9') return false;
        if (found < 100000000) found = found * 10 + (uint32_t)(text.at[i] - '0');
    }
    if (number) *number = found;
    return true;
}

/* ---- Types and bounds ---- */

static bool is_truth(const er_json *schema, const char *key)
{
    const er_json *found = er_json_get(schema, key);
    return found && found->kind == ER_JSON_BOOLEAN && found->truth;
}

static bool is_known(const er_json *schema)
{
    static const char *const known = "$comment title description default examples deprecated readOnly writeOnly nullable example type enum const minimum "
                                     "maximum exclusiveMinimum exclusiveMaximum multipleOf minLength maxLength pattern format items minItems maxItems "
                                     "uniqueItems contentEncoding contentMediaType";
    if (schema->kind != ER_JSON_OBJECT) return false;
    for (uint32_t i = 0; i < schema->count; i++)
        if (!er_listed_in(schema->keys[i], known)) return false;
    const er_json *items = er_json_get(schema, "items");
    return !items || items->kind == ER_JSON_OBJECT || items->kind == ER_JSON_BOOLEAN;
}

static bool is_of(const er_json *value, const er_json *kind)
{
    if (kind->kind != ER_JSON_TEXT) return false;
    if (er_is(kind->text, "number")) return value->kind == ER_JSON_NUMBER;
    if (er_is(kind->text, "integer")) return value->kind == ER_JSON_NUMBER && value->number == floor(value->number);
    return (er_is(kind->text, "string") && value->kind == ER_JSON_TEXT) || (er_is(kind->text, "boolean") && value->kind == ER_JSON_BOOLEAN) ||
           (er_is(kind->text, "array") && value->kind == ER_JSON_ARRAY) || (er_is(kind->text, "object") && value->kind == ER_JSON_OBJECT);
}

static bool of_type(const er_json *value, const er_json *kinds)
{
    if (!kinds || kinds->kind == ER_JSON_NULL || kinds->kind == ER_JSON_TEXT) return !kinds || kinds->kind == ER_JSON_NULL || is_of(value, kinds);
    for (uint32_t i = 0; kinds->kind == ER_JSON_ARRAY && i < kinds->count; i++)
        if (is_of(value, &kinds->items[i])) return true;
    return false;
}

/* A number's digits as a whole one, and how many of them stand behind the point; false for what has more than 18, or an exponent. */
static bool decimal(er_text text, int64_t *mantissa, int *scale)
{
    bool behind = false, below = false;
    *mantissa = *scale = 0;
    int digits = 0;
    for (size_t i = 0; i < text.length; i++) {
        const char c = text.at[i];
        if (c == '-' && !i) below = true;
        else if (c == '.' && !behind) behind = true;
        else if (c >= '0' && c <= '9' && ++digits < 18) *mantissa = *mantissa * 10 + (c - '0'), *scale += behind;
        else return false;
    }
    if (below) *mantissa = -*mantissa;
    return true;
}

static bool is_multiple(er_arena *arena, const er_json *value, const er_json *step)
{
    int64_t a, b;
    int a_scale, b_scale;
    er_text one, other;
    if (step->kind != ER_JSON_NUMBER || !(step->number > 0)) return false;
    if (!er_json_shown(arena, value, &one) || !er_json_shown(arena, step, &other)) return false;
    if (decimal(one, &a, &a_scale) && decimal(other, &b, &b_scale) && b) {
        for (; a_scale < b_scale && llabs(a) < INT64_MAX / 10; a_scale++) a *= 10;
        for (; b_scale < a_scale && b < INT64_MAX / 10; b_scale++) b *= 10;
        if (a_scale == b_scale) return a % b == 0;
    }
    return fmod(value->number, step->number) == 0.0;
}

static bool number_fits(er_arena *arena, const er_json *value, const er_json *schema)
{
    static const char *const keys[] = {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"};
    const double x = value->number;
    for (int i = 0; i < 4; i++) {
        const er_json *bound = er_json_get(schema, keys[i]);
        if (!bound || bound->kind == ER_JSON_NULL) continue;
        if (bound->kind == ER_JSON_BOOLEAN) { /* draft 4: exclusive of the other bound */
            const er_json *other = er_json_get(schema, i == 2 ? "minimum" : "maximum");
            if (bound->truth && other && is_numeric(other) && x == number_of(other)) return false;
            continue;
        }
        if (bound->kind != ER_JSON_NUMBER) return false;
        const double y = bound->number;
        if (!(i == 0 ? x >= y : i == 1 ? x <= y : i == 2 ? x > y : x < y)) return false;
    }
    const er_json *step = er_json_get(schema, "multipleOf");
    return !step || step->kind == ER_JSON_NULL || is_multiple(arena, value, step);
}

/* Whether a count lies within two bounds, which are whole numbers where they are there. */
static bool within(const er_json *schema, const char *least, const char *most, double count, double standard)
{
    const er_json *low = er_json_get(schema, least), *high = er_json_get(schema, most);
    if ((low && !(low->kind == ER_JSON_NUMBER && low->whole)) || (high && !(high->kind == ER_JSON_NUMBER && high->whole))) return false;
    return (!low || low->number <= count) && count <= (high ? high->number : standard);
}

/* ---- Text ---- */

#define TIME "(?:[01]\\d|2[0-3]):[0-5]\\d(?::[0-5]\\d(?:\\.\\d+)?)?(?:Z|[+-][0-2]\\d:[0-5]\\d)?"
#define BYTE "(?:25[0-5]|2[0-4]\\d|1?\\d?\\d)"

static const struct {
    const char *names, *pattern;
    int flags;
} formats[] = {
    {"email idn-email", "[^\\s@<>()\",:;\\\\\\[\\]]+@[^\\W_](?:[\\w-]*[^\\W_])?(?:\\.[^\\W_](?:[\\w-]*[^\\W_])?)+", 0},
    {"uri iri url", "[a-z][a-z0-9+.-]*:[^\\s<>\"{}|\\\\^`]+", ER_REGEX_CASELESS},
    {"uri-reference iri-reference", "[^\\s<>\"{}|\\\\^`]+", 0},
    {"uuid", "[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}", 0},
    {"date", "\\d{4}-\\d\\d-\\d\\d", 0},
    {"time", TIME, 0},
    {"date-time", "\\d{4}-\\d\\d-\\d\\d[Tt ]" TIME, 0},
    {"duration", "P(?:\\d+W|(?:\\d+Y)?(?:\\d+M)?(?:\\d+D)?(?:T(?:\\d+H)?(?:\\d+M)?(?:\\d+S)?)?)", 0},
    {"ipv4", "(?:" BYTE "\\.){3}" BYTE, 0},
    {"hostname", "[A-Za-z0-9](?:[A-Za-z0-9-]{0,62})(?:\\.[A-Za-z0-9][A-Za-z0-9-]{0,62}){0,8}", 0},
};

bool er_has_format(er_arena *arena, const char *format, er_text text)
{
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        if (!er_listed_in((er_text){format, strlen(format)}, formats[i].names)) continue;
        const er_place place = er_mark(arena);
        er_points points;
        const er_regex *of = er_regex_of(arena, (er_text){formats[i].pattern, strlen(formats[i].pattern)}, formats[i].flags);
        const bool fine = of && er_points_of(arena, text, &points) && er_regex_full(of, &points);
        er_release(arena, place);
        return fine;
    }
    return true;
}

/* Whether a pattern says the same here as in JavaScript, and no text can make it take long. */
static bool is_safe(er_text p)
{
    uint32_t unbounded = 0;
    bool class = false;
    if (er_length_of(p) > LONGEST_PATTERN) return false;
    for (size_t i = 0; i < p.length; i++) {
        const char c = p.at[i], next = i + 1 < p.length ? p.at[i + 1] : 0, later = i + 2 < p.length ? p.at[i + 2] : 0;
        if (c == '\\' && ((next >= '1' && next <= '9') || (next && strchr("kpPAZG", next)))) return false;
        if ((c == '(' && next == '?' && later != ':') || (c == ')' && next && strchr("*+{", next)) || (c && strchr("*+}", c) && next == '+')) return false;
        if ((c == '[' && next == '[') || (c == '&' && next == '&') || (c == '-' && next == '-')) return false;
    }
    for (size_t i = 0; i < p.length; i++) {
        const char c = p.at[i];
        if (c == '\\') i++;
        else if (class) class = c != ']';
        else if (c == '[') class = true;
        else if (c == '*' || c == '+') unbounded++;
        else if (c == '{') {
            size_t k = i + 1;
            uint32_t number = 0;
            for (; k < p.length && ((p.at[k] >= '0' && p.at[k] <= '9') || p.at[k] == ','); k++) {
                number = p.at[k] == ',' ? 0 : number < 10000 ? number * 10 + (uint32_t)(p.at[k] - '0') : number;
                if (number > MOST_MATCHED) return false;
            }
            unbounded += k < p.length && p.at[k] == '}' && p.at[k - 1] == ',';
        }
    }
    return unbounded <= MOST_UNBOUNDED;
}

static bool pattern_fits(er_arena *arena, er_text value, const er_json *pattern)
{
    if (pattern->kind != ER_JSON_TEXT || !is_safe(pattern->text) || er_length_of(value) > MOST_MATCHED) return false;
    const er_place place = er_mark(arena);
    er_points points;
    er_span span;
    const er_regex *of = er_regex_of(arena, pattern->text, ER_REGEX_ASCII);
    const bool fine = of && er_points_of(arena, value, &points) && er_regex_search(of, &points, 0, &span, NULL);
    er_release(arena, place);
    return fine;
}

static bool text_fits(er_arena *arena, er_text value, const er_json *schema)
{
    const double length = er_length_of(value);
    const er_text format = er_schema_text(schema, "format");
    const er_json *pattern = er_json_get(schema, "pattern");
    char name[24];
    er_day day;
    if (er_is_blank_text(value) || length > MOST_CHARS || !within(schema, "minLength", "maxLength", length, MOST_CHARS)) return false;
    if (format.length && format.length < sizeof name) {
        memcpy(name, format.at, format.length);
        name[format.length] = 0;
        if (!er_has_format(arena, name, value)) return false;
        if (er_is(format, "duration") && (value.at[value.length - 1] == 'P' || value.at[value.length - 1] == 'T')) return false;
        if (er_is(format, "date") && !er_day_of(arena, value, NULL, false, &day)) return false;
        if (er_is(format, "date-time") && !er_day_of(arena, er_cut(value, 0, 10), NULL, false, &day)) return false;
    }
    return !pattern || pattern_fits(arena, value, pattern);
}

/* ---- The whole ---- */

static bool list_fits(er_arena *arena, const er_json *value, const er_json *schema, const er_json *items)
{
    if (!within(schema, "minItems", "maxItems", value->count, value->count)) return false;
    const er_json *unique = er_json_get(schema, "uniqueItems");
    for (uint32_t i = 0; unique && unique->kind == ER_JSON_BOOLEAN && unique->truth && i < value->count; i++)
        for (uint32_t k = 0; k < i; k++)
            if (equal(&value->items[i], &value->items[k])) return false;
    if (items && items->kind == ER_JSON_BOOLEAN) return items->truth || !value->count;
    for (uint32_t i = 0; items && i < value->count; i++)
        if (!er_fits(arena, &value->items[i], items)) return false;
    return true;
}

bool er_fits(er_arena *arena, const er_json *value, const er_json *schema)
{
    if (value->kind == ER_JSON_TEXT && er_is_reference(value->text, NULL)) return true; /* nobody knows it yet */
    if (!is_known(schema)) return false;
    if (value->kind == ER_JSON_NULL) return is_truth(schema, "nullable") || er_is(er_schema_text(schema, "type"), "null");
    if (!of_type(value, er_json_get(schema, "type"))) return false;
    const er_json *choices = er_json_get(schema, "enum"), *only = er_json_get(schema, "const");
    bool among = !choices;
    for (uint32_t i = 0; choices && choices->kind == ER_JSON_ARRAY && i < choices->count && !among; i++) among = equal(value, &choices->items[i]);
    if (!among || (only && !equal(value, only))) return false;
    if (value->kind == ER_JSON_TEXT) return text_fits(arena, value->text, schema);
    if (value->kind == ER_JSON_NUMBER) return number_fits(arena, value, schema);
    if (value->kind == ER_JSON_ARRAY) return list_fits(arena, value, schema, er_json_get(schema, "items"));
    return value->kind != ER_JSON_OBJECT;
}

const er_json *er_several(er_arena *arena, const er_json *const *values, uint32_t count, const er_parameter *one)
{
    er_json *found = ER_TAKE(arena, er_json, count + 1);
    uint32_t n = 0;
    if (!found) return NULL;
    for (uint32_t i = 0; i < count; i++) {
        bool there = false;
        for (uint32_t k = 0; k < n && !there; k++) there = er_json_same(values[i], &found[k]);
        if (!there) found[n++] = *values[i];
    }
    const er_json *whole = er_plain_schema(arena, one->whole), *list = er_json_list(arena, found, n);
    if (!n || !whole || !list || !is_known(whole) || !of_type(list, er_json_get(whole, "type")) || er_json_get(whole, "enum") ||
        er_json_get(whole, "const") || !list_fits(arena, list, whole, one->inside.length ? one->schema : er_json_get(whole, "items")))
        return NULL;
    if (!one->inside.length) return list;
    er_json *objects = ER_TAKE(arena, er_json, n);
    er_text *key = ER_TAKE(arena, er_text, 1);
    if (!objects || !key) return NULL;
    *key = one->inside;
    for (uint32_t i = 0; i < n; i++) objects[i] = (er_json){.kind = ER_JSON_OBJECT, .items = &found[i], .keys = key, .count = 1};
    return er_json_list(arena, objects, n);
}

bool er_takes(er_arena *arena, const er_parameter *one, const er_json *value)
{
    if (!one->many) return er_fits(arena, value, one->schema);
    if (value->kind != ER_JSON_ARRAY) return false;
    const er_json **values = ER_TAKE(arena, const er_json *, value->count + 1);
    for (uint32_t i = 0; values && i < value->count; i++) values[i] = &value->items[i];
    return values && er_several(arena, values, value->count, one) != NULL;
}
