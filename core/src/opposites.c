/* 16.10, and what 16.11 adds to it: on which sides of opposites a text is. */

#include "said.h"
#include "unicode.h"

/* ---- Sets of stems ---- */

typedef struct {
    er_text *stems;
    uint32_t *slots; /* place + 1 by hash, 0: none */
    uint32_t mask, count;
} stem_set;

static bool stem_set_of(er_arena *arena, uint32_t most, stem_set *set)
{
    uint32_t slots = 8;
    while (slots < 2 * most) slots *= 2;
    *set = (stem_set){ER_TAKE(arena, er_text, most), ER_TAKE(arena, uint32_t, slots), slots - 1, 0};
    return set->stems && set->slots;
}

static uint32_t slot_of(const stem_set *set, er_text stem)
{
    uint32_t hash = 2166136261u;
    for (size_t i = 0; i < stem.length; i++) hash = (hash ^ (unsigned char)stem.at[i]) * 16777619u;
    uint32_t slot = (hash ^ hash >> 15) & set->mask;
    while (set->slots[slot] && !er_same(set->stems[set->slots[slot] - 1], stem)) slot = (slot + 1) & set->mask;
    return slot;
}

static bool has(const stem_set *set, er_text stem) { return set->count && set->slots[slot_of(set, stem)]; }

static void put(stem_set *set, er_text stem)
{
    const uint32_t slot = slot_of(set, stem);
    if (set->slots[slot]) return;
    set->stems[set->count++] = stem;
    set->slots[slot] = set->count;
}

static bool stem_text(er_arena *arena, const er_view *low, er_span word, er_text *stem)
{
    const uint32_t *points = low->points + word.begin;
    const er_stemmed told = er_stem_points(points, word.end - word.begin);
    if (!er_text_of(arena, points, told.length, stem)) return false;
    if (told.turned) ((char *)(uintptr_t)stem->at)[stem->length - 1] = 'i'; /* in memory that was just taken */
    return true;
}

/* ---- Reading ---- */

enum { MOST_KEPT = 16 };

/* A text while it is read: what is looked up once of it. */
typedef struct {
    er_matcher *m;
    er_language language;
    const er_rules *rules;
    const er_said *said;
    uint64_t asked, left_out;   /* doubtful words, by number: those looked at, and those that do not count */
    bool telling, speaks; /* speaks: a word is on a side, or a negation */
    uint32_t words;
    stem_set negated, quoted;
    /* Where the text is cut: the first pieces, and how it goes on behind them. */
    er_span pieces[MOST_KEPT];
    uint32_t kept;
    er_pieces rest;
} reader;

/* A side's number, −1 for none: English words by their stems, others as they are written. */
static int side_of(const reader *r, const er_view *low, er_span word)
{
    const er_facts *facts = r->language == ER_EN ? er_stem_facts(low->points + word.begin, word.end - word.begin) : er_facts_of(low, word);
    return (int)er_role_of(facts, r->language)->side - 1;
}

/* Piece by piece; `number` counts them. A negation reaches no further than its piece, in English to the text's end. */
static bool next_piece(reader *r, uint32_t number, er_view *piece)
{
    er_span span = {0, r->said->low.count};
    if (number < r->kept) span = r->pieces[number];
    else if (r->language == ER_EN ? number > 0 : !er_next_piece(&r->rest, &span)) return false;
    else if (number < MOST_KEPT) r->pieces[r->kept++] = span;
    *piece = er_part(&r->said->low, span.begin, span.end);
    return true;
}

/* What the text has at all: most have nothing of it. */
static void look(reader *r)
{
    er_view piece;
    er_span word;
    er_pieces behind = r->rest;
    for (uint32_t number = 0; next_piece(r, number, &piece); number++) {
        if (number < MOST_KEPT) behind = r->rest;
        for (uint32_t at = 0; er_next_word(r->language, &piece, &at, &word); r->words++) {
            const uint32_t lists = er_role_of(er_facts_of(&piece, word), r->language)->lists;
            r->telling = r->telling || lists & ER_TELLING;
            r->speaks = r->speaks || lists & ER_NEGATION || side_of(r, &piece, word) >= 0;
        }
    }
    r->rest = behind;
}

/* Stems of what is meant for somebody else. */
static bool quote(reader *r)
{
    uint32_t begin, at = 0;
    er_view low;
    er_span word;
    er_text stem;
    if (!er_matches(r->m, r->rules->quoted, &r->said->written, 0, &begin)) return true;
    if (!er_low_part(r->m->arena, r->said, begin, r->said->written.count, &low)) return false;
    if (!stem_set_of(r->m->arena, low.count / (r->rules->spaces ? 2 : 1) + 1, &r->quoted)) return false;
    while (er_next_word(r->language, &low, &at, &word)) {
        if (!stem_text(r->m->arena, &low, word, &stem)) return false;
        put(&r->quoted, stem);
    }
    return true;
}

/* Whether a doubtful word does not count as the query is put. */
static bool is_left_out(reader *r, uint32_t doubt)
{
    const uint64_t bit = (uint64_t)1 << doubt;
    if (!(r->asked & bit)) {
        er_span span;
        const bool found = er_finds(r->m, er_doubts[doubt].program, &r->said->written, 0, &span);
        r->asked |= bit;
        if (found != er_doubts[doubt].with) r->left_out |= bit;
    }
    return r->left_out & bit;
}

/* The sides of one piece's words. A negation reaches so many words, ends at one on a side, and turns that round; where a
   language says so, one that met none turns round the last one in front of it. */
static bool read_piece(reader *r, const er_view *low, uint64_t *on)
{
    uint32_t counts[64] = {0}, reach = 0;
    int last = -1, front = -1;
    er_span word;
    for (uint32_t at = 0; er_next_word(r->language, low, &at, &word);) {
        const er_facts *facts = er_facts_of(low, word);
        const er_role *role = er_role_of(facts, r->language);
        if (role->doubt && is_left_out(r, role->doubt - 1u)) continue;
        if (role->lists & ER_NEGATION) {
            reach = r->rules->reach;
            front = last;
            continue;
        }
        int side = side_of(r, low, word);
        if (reach || r->quoted.count) {
            er_text stem;
            if (!stem_text(r->m->arena, low, word, &stem)) return false;
            if (has(&r->quoted, stem)) continue;
            if (reach) {
                put(&r->negated, stem);
                reach = side >= 0 ? 0 : reach - 1;
                if (side >= 0) side ^= 1, front = -1;
            }
        }
        if (side < 0) continue;
        counts[side]++;
        last = side;
    }
    if (r->rules->behind && front >= 0) counts[front]--, counts[front ^ 1]++;
    for (uint32_t side = 0; side < 64; side++) *on |= (uint64_t)(counts[side] > 0) << side;
    return true;
}

bool er_sides_of(er_matcher *m, er_language language, const er_said *said, er_sides *sides)
{
    reader r = {.m = m, .language = language, .rules = &er_language_rules[language], .said = said};
    er_view piece;
    *sides = (er_sides){0};
    r.rest = er_pieces_of(m, language, &said->low);
    look(&r);
    if (!r.telling && !r.speaks) return !m->failed;
    if (r.telling && !quote(&r)) return false;
    if (r.speaks && !stem_set_of(m->arena, r.words, &r.negated)) return false;
    for (uint32_t number = 0; r.speaks && next_piece(&r, number, &piece); number++)
        if (!read_piece(&r, &piece, &sides->on)) return false;
    sides->negated = r.negated.stems;
    sides->negated_count = r.negated.count;
    sides->quoted = r.quoted.stems;
    sides->quoted_count = r.quoted.count;
    return !m->failed;
}
