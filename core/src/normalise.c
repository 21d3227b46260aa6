/* Normalisers (section 5). Each keeps of every code point where in the given text it is from, as the tokenizers library
   does: what replaces one takes over its place, and what is added has that of what stands before it. */

#include "tokenizer_parts.h"

enum { HANGUL = 0xac00, HANGUL_END = 0xac00 + 11172 };

bool er_run_add(er_arena *arena, er_run *run, er_glyph one)
{
    if (run->count == run->room) {
        const uint32_t room = run->room ? 2 * run->room : 64;
        er_glyph *more = run->room < UINT32_MAX / 4 ? ER_TAKE(arena, er_glyph, room) : NULL;
        if (!more) return er_refuse(arena->error, ER_NO_MEMORY, "no memory for a text's tokens");
        if (run->count) memcpy(more, run->at, run->count * sizeof *more);
        run->at = more;
        run->room = room;
    }
    run->at[run->count++] = one;
    return true;
}

static void keep(er_run *run, bool kept(uint32_t point))
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < run->count; i++)
        if (kept(run->at[i].point)) run->at[n++] = run->at[i];
    run->count = n;
}

static bool no_accent(uint32_t point) { return !(er_letter(point) & LETTER_ACCENT); }
static bool no_mark(uint32_t point) { return !(er_letter(point) & LETTER_MARK); }
static bool no_control(uint32_t point) { return point && point != 0xfffd && !(er_letter(point) & LETTER_CONTROL); }

static uint32_t flags_of_all(const er_run *run)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < run->count; i++) found |= er_letter(run->at[i].point);
    return found;
}

/* ---- Lower case, spaces around Chinese, and the like ---- */

static bool lower(er_arena *arena, er_run *run)
{
    enum { DOTTED = 0x130, DOT = 0x307 };
    bool dotted = false;
    for (uint32_t i = 0; i < run->count; i++) {
        uint32_t *point = &run->at[i].point;
        if (*point < 0x80) *point = er_lower_of(*point);
        else if (er_letter(*point) & LETTER_LOWERS) {
            if (*point == DOTTED) dotted = true;
            else *point = er_newer_lower(*point);
        }
    }
    if (!dotted) return true;
    er_run longer = {.origin = run->origin};
    for (uint32_t i = 0; i < run->count; i++) {
        er_glyph one = run->at[i];
        const bool two = one.point == DOTTED;
        if (two) one.point = 'i';
        if (!er_run_add(arena, &longer, one)) return false;
        one.point = DOT;
        if (two && !er_run_add(arena, &longer, one)) return false;
    }
    *run = longer;
    return true;
}

static bool set_apart(er_arena *arena, er_run *run)
{
    er_run longer = {.origin = run->origin};
    for (uint32_t i = 0; i < run->count; i++) {
        const er_glyph one = run->at[i];
        const bool chinese = er_letter(one.point) & LETTER_CHINESE;
        const er_glyph space = {' ', one.begin, one.end};
        if ((chinese && !er_run_add(arena, &longer, space)) || !er_run_add(arena, &longer, one) ||
            (chinese && !er_run_add(arena, &longer, space)))
            return false;
    }
    *run = longer;
    return true;
}

static void strip(er_run *run, bool left, bool right)
{
    uint32_t begin = 0;
    while (right && run->count && er_letter(run->at[run->count - 1].point) & LETTER_SPACE) run->count--;
    while (left && begin < run->count && er_letter(run->at[begin].point) & LETTER_SPACE) begin++;
    run->at += begin;
    run->count -= begin;
    run->room = run->count;
}

static void replace_spaces(er_run *run, uint32_t by)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < run->count; i++) {
        er_glyph one = run->at[i];
        if (one.point == ' ' && i + 1 < run->count && run->at[i + 1].point == ' ') {
            while (i + 1 < run->count && run->at[i + 1].point == ' ') i++;
            one = run->at[i];
            one.point = by;
        }
        run->at[n++] = one;
    }
    run->count = n;
}

/* ---- What changes how many there are ---- */

/* A code point, and whether it replaces one (0), and removes so many behind that (below 0), or is added (above 0). */
typedef struct {
    uint32_t point;
    int32_t change;
    uint32_t class;
} changed;

typedef struct {
    er_arena *arena;
    changed *at;
    uint32_t count, room;
} changes;

static bool add(changes *all, uint32_t point, int32_t change, uint32_t class)
{
    if (all->count == all->room) {
        const uint32_t room = all->room ? 2 * all->room : 64;
        changed *more = all->room < UINT32_MAX / 4 ? ER_TAKE(all->arena, changed, room) : NULL;
        if (!more) return er_refuse(all->arena->error, ER_NO_MEMORY, "no memory for a text's tokens");
        if (all->count) memcpy(more, all->at, all->count * sizeof *more);
        all->at = more;
        all->room = room;
    }
    all->at[all->count++] = (changed){point, change, class};
    return true;
}

static bool apply(er_arena *arena, er_run *run, const changes *all)
{
    er_run made = {.origin = run->origin};
    uint64_t at = 0;
    for (uint32_t i = 0; i < all->count; i++) {
        const changed *one = &all->at[i];
        er_glyph place = {one->point, run->origin, run->origin};
        const uint64_t from = one->change > 0 ? at - 1 : at; /* at - 1 wraps where nothing is before */
        if (from < run->count) place = (er_glyph){one->point, run->at[from].begin, run->at[from].end};
        if (one->change <= 0) at += 1u + (uint32_t)-one->change;
        if (!er_run_add(arena, &made, place)) return false;
    }
    *run = made;
    return true;
}

/* Puts marks in the order of their classes, those of one class as they stand. */
static bool order(er_arena *arena, changed *at, uint32_t count)
{
    if (count < 32) {
        for (uint32_t i = 1; i < count; i++)
            for (uint32_t k = i; k && at[k - 1].class > at[k].class; k--) {
                const changed other = at[k - 1];
                at[k - 1] = at[k];
                at[k] = other;
            }
        return true;
    }
    uint32_t starts[257] = {0};
    changed *room = ER_TAKE(arena, changed, count);
    if (!room) return false;
    for (uint32_t i = 0; i < count; i++) starts[at[i].class + 1]++;
    for (uint32_t class = 0; class < 256; class++) starts[class + 1] += starts[class];
    for (uint32_t i = 0; i < count; i++) room[starts[at[i].class]++] = at[i];
    memcpy(at, room, count * sizeof *at);
    return true;
}

static bool take_apart(const er_run *run, bool compatible, changes *all)
{
    uint32_t parts[ER_MOST_PARTS], marks = 0; /* marks: how many stand at the end */
    for (uint32_t i = 0; i < run->count; i++) {
        const uint32_t point = run->at[i].point, flags = er_letter(point);
        const bool whole = !(flags & (LETTER_CANONICAL | (compatible ? LETTER_COMPATIBLE : 0))) && (point < HANGUL || point >= HANGUL_END);
        const uint32_t count = whole ? 1 : er_decompose(point, compatible && flags & LETTER_COMPATIBLE, parts);
        if (whole) parts[0] = point;
        for (uint32_t k = 0; k < count; k++) {
            const uint32_t class = er_letter(parts[k]) & LETTER_CLASSED ? er_combining_class(parts[k]) : 0;
            if (!class && marks > 1 && !order(all->arena, all->at + all->count - marks, marks)) return false;
            marks = class ? marks + 1 : 0;
            if (!add(all, parts[k], k > 0, class)) return false;
        }
    }
    return marks < 2 || order(all->arena, all->at + all->count - marks, marks);
}

/* In the versions of Unicode that the library has. */
static uint32_t both(uint32_t first, uint32_t second)
{
    if (!(er_letter(second) & LETTER_SECOND)) return 0;
    const uint32_t found = er_compose(first, second);
    return found && (er_letter(found) & LETTER_CANONICAL || (found >= HANGUL && found < HANGUL_END)) ? found : 0;
}

/* Puts together, in place: a starter, and what was kept behind it. Of what is put together, changes add up. */
static void put_together(changes *all)
{
    uint32_t n = 0, starter = UINT32_MAX, last = 0; /* last: the class of what was kept last behind the starter */
    for (uint32_t i = 0; i < all->count; i++) {
        const changed one = all->at[i];
        const bool blocked = starter == UINT32_MAX || (starter + 1 != n && last >= one.class);
        const uint32_t found = blocked ? 0 : both(all->at[starter].point, one.point);
        if (found) {
            all->at[starter].point = found;
            all->at[starter].change += one.change - 1;
            continue;
        }
        if (!one.class) starter = n;
        last = one.class;
        all->at[n++] = one;
    }
    all->count = n;
}

static bool to_form(er_arena *arena, er_run *run, bool compatible, bool together)
{
    uint32_t all = 0;
    const uint32_t told = LETTER_CANONICAL | LETTER_CLASSED | (compatible ? LETTER_COMPATIBLE : 0) | (together ? LETTER_SECOND : 0);
    bool syllables = false;
    for (uint32_t i = 0; i < run->count; i++) {
        all |= er_letter(run->at[i].point);
        syllables |= run->at[i].point >= HANGUL && run->at[i].point < HANGUL_END;
    }
    if (!(all & told) && !syllables) return true;
    changes found = {.arena = arena};
    if (!take_apart(run, compatible, &found)) return false;
    if (together) put_together(&found);
    return apply(arena, run, &found);
}

/* ---- A charsmap, cluster by cluster ---- */

/* Of a syllable of Hangul in parts: leading, vowel, trailing; or both, or all three, in one. */
enum { NO_PART, LEADING, VOWEL, TRAILING, BOTH, ALL };

static int part_of(uint32_t point)
{
    if (point < 0x1100 || point > 0xd7ff) return NO_PART;
    if (point >= HANGUL && point < HANGUL_END) return (point - HANGUL) % 28 ? ALL : BOTH;
    if (point < 0x1160 || (point >= 0xa960 && point < 0xa97d)) return LEADING;
    if (point < 0x11a8 || (point >= 0xd7b0 && point < 0xd7c7)) return VOWEL;
    return point < 0x1200 || (point >= 0xd7cb && point < 0xd7fc) ? TRAILING : NO_PART;
}

static bool one_syllable(uint32_t before, uint32_t point)
{
    const int first = part_of(before), second = part_of(point);
    if (!first || !second) return false;
    return first == LEADING ? second != TRAILING
         : first == VOWEL || first == BOTH ? second == VOWEL || second == TRAILING
         : second == TRAILING;
}

/* Where the grapheme cluster ends that begins at i (Unicode 16, UAX #29, extended; but for flags, which no charsmap reads
   as a whole). */
static uint32_t cluster_end(const er_run *run, uint32_t i)
{
    uint32_t flags = er_letter(run->at[i].point);
    bool picture = flags & LETTER_PICTURE, consonant = flags & LETTER_CONSONANT, linked = false;
    for (i++; i < run->count; i++) {
        const uint32_t before = run->at[i - 1].point, point = run->at[i].point, next = er_letter(point);
        if (before == '\r' && point == '\n') return i + 1;
        if ((flags | next) & LETTER_ENDS) break;
        if (next & LETTER_EXTENDS) {
            picture &= !(next & LETTER_SPACING);
            consonant &= !(next & LETTER_LOOSE);
            linked |= (next & LETTER_LINKER) != 0;
        } else if (flags & LETTER_PREPENDS || one_syllable(before, point) || (picture && before == 0x200d && next & LETTER_PICTURE) ||
                   (consonant && linked && next & LETTER_CONSONANT)) {
            picture = next & LETTER_PICTURE;
            consonant = next & LETTER_CONSONANT;
            linked = false;
        } else break;
        flags = next;
    }
    return i;
}

static bool replace(changes *all, uint32_t old_count, const char *by)
{
    const er_text text = {by, strlen(by)};
    uint32_t count = 0;
    for (size_t at = 0; at < text.length; count++)
        if (!add(all, er_point_at(text, &at), count >= old_count, 0)) return false;
    /* What is removed is put down to what stands before it, where anything does. */
    if (count < old_count && all->count) all->at[all->count - 1].change -= (int32_t)(old_count - count);
    return true;
}

static bool by_charsmap(er_arena *arena, const er_charsmap *map, er_run *run)
{
    enum { LONGEST_CLUSTER = 5 };
    changes all = {.arena = arena};
    bool modified = false;
    for (uint32_t i = 0, end; i < run->count; i = end) {
        char bytes[4 * LONGEST_CLUSTER];
        size_t length = 0;
        end = cluster_end(run, i);
        for (uint32_t k = i; k < end && length <= LONGEST_CLUSTER; k++) length += er_put_point(bytes + length, run->at[k].point);
        const char *found = length <= LONGEST_CLUSTER ? er_charsmap_find(map, bytes, length) : NULL;
        if (found) {
            modified = true;
            if (!replace(&all, end - i, found)) return false;
            continue;
        }
        for (uint32_t k = i; k < end; k++) {
            found = er_charsmap_find(map, bytes, er_put_point(bytes, run->at[k].point));
            modified |= found != NULL;
            if (found ? !replace(&all, 1, found) : !add(&all, run->at[k].point, 0, 0)) return false;
        }
    }
    return !modified || apply(arena, run, &all);
}

/* ---- All of them ---- */

static bool by_bert(er_arena *arena, const er_normalizer *by, er_run *run)
{
    if (by->clean_text) {
        keep(run, no_control);
        for (uint32_t i = 0; i < run->count; i++)
            if (er_letter(run->at[i].point) & LETTER_SPACE) run->at[i].point = ' ';
    }
    if (by->chinese && flags_of_all(run) & LETTER_CHINESE && !set_apart(arena, run)) return false;
    if (by->accents) {
        if (!to_form(arena, run, false, false)) return false;
        keep(run, no_accent);
    }
    return !by->lowercase || lower(arena, run);
}

bool er_normalize_run(er_arena *arena, const er_normalizer *by, uint32_t count, er_run *run)
{
    for (const er_normalizer *end = by + count; by < end; by++) {
        bool fine = true;
        switch (by->kind) {
        case ER_BERT_NORMALIZER: fine = by_bert(arena, by, run); break;
        case ER_STRIP: strip(run, by->left, by->right); break;
        case ER_LOWERCASE: fine = lower(arena, run); break;
        case ER_STRIP_ACCENTS: keep(run, no_mark); break;
        case ER_FORM_NFC: fine = to_form(arena, run, false, true); break;
        case ER_FORM_NFD: fine = to_form(arena, run, false, false); break;
        case ER_FORM_NFKC: fine = to_form(arena, run, true, true); break;
        case ER_FORM_NFKD: fine = to_form(arena, run, true, false); break;
        case ER_PRECOMPILED: fine = by_charsmap(arena, &by->map, run); break;
        case ER_REPLACE: replace_spaces(run, by->content); break;
        }
        if (!fine) return false;
    }
    return true;
}
