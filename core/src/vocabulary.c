/* A tokenizer's vocabulary (section 5): read from JSON in one go, without a tree of values, and kept as a table. */

#include "tokenizer_parts.h"

#define REMEDY "build the bundle with a BERT-like tokenizer (docs/FORMAT.md, section 5)"

enum { MOST_LOOKS = 4096 };

/* ---- Where it is ---- */

static const char *behind_space(const char *at, const char *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t')) at++;
    return at;
}

/* Behind a text, from behind its first quotation mark. */
static const char *behind_text(const char *at, const char *end)
{
    for (; at < end && *at != '"'; at++)
        if (*at == '\\' && at + 1 < end) at++;
    return at < end ? at + 1 : end;
}

/* Behind an object or array; counts the texts in it. */
static const char *behind_value(const char *at, const char *end, uint32_t *texts)
{
    uint32_t depth = 0;
    while (at < end) {
        const char c = *at++;
        if (c == '"') {
            at = behind_text(at, end);
            ++*texts;
        } else if (c == '{' || c == '[') depth++;
        else if ((c == '}' || c == ']') && --depth == 0) return at;
    }
    return end;
}

/* Depth and keys are followed and nothing else is asked: what is around is read strictly afterwards, and with an empty
   value in this place; so both together are what the file says. */
er_text er_find_vocabulary(er_text json, uint32_t *texts)
{
    const char *at = json.at, *end = json.at + json.length;
    uint32_t depth = 0;
    bool model_is_next = false, in_model = false;
    *texts = 0;
    while (at < end) {
        const char c = *at++;
        if (c == '"') {
            const char *begin = at;
            at = behind_text(at, end);
            if (at == begin) break;
            const er_text key = {begin, (size_t)(at - 1 - begin)};
            const char *colon = behind_space(at, end);
            if (colon == end || *colon != ':') continue;
            if (depth == 1) model_is_next = er_is(key, "model");
            if (depth != 2 || !in_model || !er_is(key, "vocab")) continue;
            const char *value = behind_space(colon + 1, end);
            if (value == end || (*value != '{' && *value != '[')) break;
            return (er_text){value, (size_t)(behind_value(value, end, texts) - value)};
        }
        if (c == '{' || c == '[') {
            if (++depth == 2) in_model = model_is_next && c == '{';
            model_is_next = false;
        } else if ((c == '}' || c == ']') && depth) depth--;
    }
    return (er_text){json.at, 0};
}

/* ---- The table ---- */

static uint64_t mixed(uint64_t hash)
{
    hash ^= hash >> 32;
    hash *= 0x9e3779b97f4a7c15u;
    return hash ^ hash >> 29;
}

/* What is kept of a hash in a slot, beside the piece's number. */
static uint32_t tag_of(uint64_t hash) { return (uint32_t)hash & ~((1u << PIECE_BITS) - 1); }

uint32_t er_find_piece(const er_vocabulary *v, uint64_t hash, const char *text, size_t length)
{
    const uint64_t whole = mixed(hash);
    const uint32_t tag = tag_of(whole);
    for (uint32_t slot = (uint32_t)(whole >> v->shift);; slot = (slot + 1) & v->mask) {
        const uint32_t found = v->slots[slot];
        if (!found) return ER_MISSING;
        if ((found ^ tag) >> PIECE_BITS) continue;
        const uint32_t i = (found & ((1u << PIECE_BITS) - 1)) - 1;
        if (v->starts[i + 1] - v->starts[i] == length && !memcmp(v->texts + v->starts[i], text, length)) return v->ids[i];
    }
}

/* ---- Reading it ---- */

typedef struct {
    er_arena *arena;
    const char *at, *end;
    char *to; /* where texts are written */
} scan;

static bool wrong(const scan *s, const char *what)
{
    return er_refuse(s->arena->error, ER_BAD_BUNDLE, "tokenizer: the vocabulary %s; " REMEDY, what);
}

static int digit_of(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

static bool four_digits(scan *s, uint32_t *found)
{
    *found = 0;
    for (int i = 0; i < 4; i++, s->at++) {
        const int digit = s->at < s->end ? digit_of(*s->at) : -1;
        if (digit < 0) return wrong(s, "has a wrong escape");
        *found = *found << 4 | (uint32_t)digit;
    }
    return true;
}

static bool unescape(scan *s)
{
    static const char letters[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
    const char c = ++s->at < s->end ? *s->at++ : 0;
    const char *found = c ? strchr(letters, c) : NULL;
    if (found) return *s->to++ = meant[found - letters], true;
    uint32_t point, low;
    if (c != 'u') return wrong(s, "has a wrong escape");
    if (!four_digits(s, &point)) return false;
    if (point >= 0xd800 && point < 0xe000) {
        if (point >= 0xdc00 || s->end - s->at < 2 || s->at[0] != '\\' || s->at[1] != 'u') return wrong(s, "has half of a surrogate pair");
        s->at += 2;
        if (!four_digits(s, &low)) return false;
        if (low < 0xdc00 || low >= 0xe000) return wrong(s, "has half of a surrogate pair");
        point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
    }
    s->to += er_put_point(s->to, point);
    return true;
}

/* Copies one character of more than one byte, if it is UTF-8. */
static bool copy_long(scan *s)
{
    const unsigned char *c = (const unsigned char *)s->at;
    const ptrdiff_t length = *c >= 0xc2 && *c < 0xe0 ? 2 : *c >= 0xe0 && *c < 0xf0 ? 3 : *c >= 0xf0 && *c < 0xf5 ? 4 : 0;
    bool fine = length && s->end - s->at >= length;
    for (ptrdiff_t i = 1; fine && i < length; i++) fine = (c[i] & 0xc0) == 0x80;
    /* Overlong forms, halves of surrogate pairs, and what is above U+10FFFF. */
    if (!fine || (*c == 0xe0 && c[1] < 0xa0) || (*c == 0xed && c[1] > 0x9f) || (*c == 0xf0 && c[1] < 0x90) || (*c == 0xf4 && c[1] > 0x8f))
        return wrong(s, "is no UTF-8");
    memcpy(s->to, s->at, (size_t)length);
    s->to += length;
    s->at += length;
    return true;
}

/* From the quotation mark on. */
static bool read_text(scan *s)
{
    if (s->at == s->end || *s->at != '"') return wrong(s, "lacks a text");
    for (s->at++;;) {
        if (s->at == s->end) return wrong(s, "has a text without an end");
        const unsigned char c = (unsigned char)*s->at;
        if (c == '"') return s->at++, true;
        if (c < 0x20) return wrong(s, "has a control character in a text");
        if (c == '\\') {
            if (!unescape(s)) return false;
        } else if (c < 0x80) *s->to++ = *s->at++;
        else if (!copy_long(s)) return false;
    }
}

static bool mark(scan *s, char c)
{
    s->at = behind_space(s->at, s->end);
    if (s->at == s->end || *s->at != c) return wrong(s, "is not JSON, or of another kind than the model");
    s->at = behind_space(s->at + 1, s->end);
    return true;
}

static bool at_digit(const scan *s) { return s->at < s->end && *s->at >= '0' && *s->at <= '9'; }

/* digits · 10^power as the nearest double: up to 10^22 by one division that is exact to twice its length. */
static double decimal(uint64_t digits, int power)
{
    static const double powers[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                    1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const double high = (double)digits;
    double low = high >= 18446744073709551616.0 ? -(double)(0 - digits) : (double)(int64_t)(digits - (uint64_t)high);
    if (power > 22) return digits ? HUGE_VAL : 0.0;
    if (power >= 0) return high * powers[power] + low * powers[power];
    double value = high;
    for (; power < -22; power += 22) {
        if (power < -400) return 0.0;
        value /= 1e22; /* no score of a model; its last bit may differ */
        low /= 1e22;
    }
    const double by = powers[-power], quotient = value / by;
    return quotient + (fma(-quotient, by, value) + low) / by;
}

/* A JSON number; `whole` if it has neither a point nor an exponent. */
static bool read_number(scan *s, double *found, bool *whole)
{
    uint64_t digits = 0;
    int64_t power = 0;
    const bool negative = s->at < s->end && *s->at == '-';
    s->at += negative;
    if (!at_digit(s)) return wrong(s, "lacks a number");
    if (*s->at == '0' && s->end - s->at > 1 && s->at[1] >= '0' && s->at[1] <= '9') return wrong(s, "has a number that begins with 0");
    *whole = true;
    for (int behind = 0;; s->at++) {
        if (at_digit(s)) {
            const bool fits = digits < UINT64_C(1000000000000000000);
            if (fits) digits = digits * 10 + (uint64_t)(*s->at - '0');
            power += !fits - behind;
        } else if (!behind && s->at < s->end && *s->at == '.') {
            behind = 1;
            *whole = false;
            if (s->end - s->at < 2 || s->at[1] < '0' || s->at[1] > '9') return wrong(s, "has a number without digits behind its point");
        } else break;
    }
    if (s->at < s->end && (*s->at == 'e' || *s->at == 'E')) {
        *whole = false;
        s->at++;
        const bool below = s->at < s->end && *s->at == '-';
        if (s->at < s->end && (*s->at == '-' || *s->at == '+')) s->at++;
        if (!at_digit(s)) return wrong(s, "has a number without an exponent");
        int64_t exponent = 0;
        for (; at_digit(s); s->at++)
            if (exponent < 100000000) exponent = exponent * 10 + (*s->at - '0');
        power += below ? -exponent : exponent;
    }
    for (; power > 0 && digits && digits < UINT64_C(100000000000000000); power--) digits *= 10;
    const double value = decimal(digits, power > 1000 ? 1000 : power < -1000 ? -1000 : (int)power);
    *found = negative ? -value : value;
    return true;
}

/* Not to be known before the whole vocabulary is, so that nobody makes pieces that all meet in one place. */
static uint64_t seed_of(er_text text)
{
    uint64_t hash = 0xcbf29ce484222325u ^ text.length, eight;
    for (size_t i = 0; i < text.length; i += 8) {
        eight = 0;
        memcpy(&eight, text.at + i, text.length - i < 8 ? text.length - i : 8);
        hash = (hash ^ eight) * 0x9e3779b97f4a7c15u;
        hash ^= hash >> 32;
    }
    return hash;
}

static bool insert(er_arena *arena, const er_vocabulary *v, uint32_t *slots, uint64_t hash, uint32_t i)
{
    const uint64_t whole = mixed(hash);
    const uint32_t tag = tag_of(whole), begin = v->starts[i], length = v->starts[i + 1] - begin;
    uint32_t slot = (uint32_t)(whole >> v->shift);
    for (uint32_t looked = 0; slots[slot]; slot = (slot + 1) & v->mask) {
        const uint32_t other = (slots[slot] & ((1u << PIECE_BITS) - 1)) - 1;
        if (looked++ == MOST_LOOKS) return er_refuse(arena->error, ER_BAD_BUNDLE, "tokenizer: a vocabulary made to take long; " REMEDY);
        if (!((slots[slot] ^ tag) >> PIECE_BITS) && v->starts[other + 1] - v->starts[other] == length &&
            !memcmp(v->texts + v->starts[other], v->texts + begin, length))
            return er_refuse(arena->error, ER_BAD_BUNDLE, "tokenizer: the vocabulary has the piece %s twice; " REMEDY,
                             er_show((er_text){v->texts + begin, length}).at);
    }
    slots[slot] = tag | (i + 1);
    return true;
}

/* One entry behind another, with `scored` a text and its score, otherwise a text and its number. */
static bool read_entry(scan *s, bool scored, double *number, bool *whole)
{
    return (!scored || mark(s, '[')) && read_text(s) && mark(s, scored ? ',' : ':') && read_number(s, number, whole) &&
           (!scored || mark(s, ']'));
}

static uint32_t characters(const char *text, uint32_t length)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < length; i++) n += ((unsigned char)text[i] & 0xc0) != 0x80;
    return n;
}

static uint32_t reach_of(const char *text)
{
    uint32_t four;
    memcpy(&four, text, 4);
    return four * 0x9e3779b1u >> 16;
}

uint32_t er_reach(const er_vocabulary *v, const char *text, size_t length)
{
    return length < 4 ? (uint32_t)length : v->reaches[reach_of(text)] > 3 ? v->reaches[reach_of(text)] : 3;
}

bool er_vocabulary_of(er_arena *arena, er_text json, uint32_t texts, bool scored, er_vocabulary *v)
{
    enum { MOST_CHARACTERS = 64 }; /* of a scored piece, */
    const double most_score = 10000.0; /* and its score */
    if (!texts || texts > MOST_PIECES)
        return er_refuse(arena->error, ER_BAD_BUNDLE, "tokenizer: expected a vocabulary of 1 to %d tokens, found %u; " REMEDY, MOST_PIECES, texts);
    uint32_t bits = 4;
    while ((1u << bits) < 2 * texts) bits++;
    char *pool = ER_TAKE(arena, char, json.length + 4);
    uint32_t *starts = ER_TAKE(arena, uint32_t, (size_t)texts + 1), *ids = ER_TAKE(arena, uint32_t, texts);
    uint32_t *slots = ER_TAKE(arena, uint32_t, (size_t)1 << bits);
    double *scores = scored ? ER_TAKE(arena, double, texts) : NULL;
    uint16_t *reaches = scored ? ER_TAKE(arena, uint16_t, REACHES) : NULL;
    const er_place place = er_mark(arena);
    bool *seen = ER_TAKE(arena, bool, texts);
    if (!pool || !starts || !ids || !slots || !seen || (scored && (!scores || !reaches))) return false;
    *v = (er_vocabulary){.texts = pool, .starts = starts, .ids = ids, .slots = slots, .shift = 64 - bits, .mask = (1u << bits) - 1,
                         .count = texts, .seed = seed_of(json), .scores = scores, .reaches = reaches};
    scan s = {arena, json.at, json.at + json.length, pool};
    if (!mark(&s, scored ? '[' : '{')) return false;
    for (uint32_t i = 0; i < texts; i++) {
        double number = 0;
        bool whole = false;
        if ((i && !mark(&s, ',')) || !read_entry(&s, scored, &number, &whole)) return false;
        const uint32_t begin = starts[i], length = (uint32_t)(s.to - pool) - begin;
        starts[i + 1] = begin + length;
        v->longest = length > v->longest ? length : v->longest;
        if (scored) {
            const uint32_t size = characters(pool + begin, length);
            if (!size || size > MOST_CHARACTERS) return wrong(&s, "has a piece that has not 1 to 64 characters");
            if (!(number >= -most_score && number <= most_score)) return wrong(&s, "has a score that is not between -10000 and 10000");
            scores[i] = number;
            ids[i] = i;
            uint16_t *reach = length < 4 ? NULL : reaches + reach_of(pool + begin);
            if (reach && *reach < length) *reach = (uint16_t)length;
        } else {
            if (!whole || !(number >= 0 && number < texts) || seen[(uint32_t)number]) return wrong(&s, "must have numbers from 0 on, each once");
            ids[i] = (uint32_t)number;
            seen[ids[i]] = true;
        }
        uint64_t hash = v->seed;
        for (uint32_t k = begin; k < begin + length; k++) hash = er_hashed(hash, pool[k]);
        if (!insert(arena, v, slots, hash, i)) return false;
    }
    er_release(arena, place);
    return mark(&s, scored ? ']' : '}') && (s.at == s.end || wrong(&s, "has something behind its end"));
}
