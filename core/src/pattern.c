#include "pattern.h"

#include "unicode.h"

/* As in dense.py: from TEXT on the count of letters that follow, from LETTER on one of ASCII. */
enum { SET, ANY, LOOP, MANY, SOME, SPLIT, LAZY, IF_FIRST, DISPATCH, JUMP, EDGE, BEGIN, END, BEHIND, NOT_BEHIND, LOOK, NOT_LOOK,
       LIST, FAIL, SAVE, ZERO, COUNT, BACK, CALL, RETURN, MATCH, TEXT = 32, LETTER = 128 };
enum { ENDLESS = 0xffff, NO_LETTER = 0xffffff, LONGEST_LISTED = 32 }; /* no word of a list has more letters */

/* Of a search from one place, steps that no expression here takes in a text of 20,000 code points (tests measure it): a
   program that would go on longer finds nothing. */
enum { MOST_STEPS = 1 << 24 };

/* ---- Views ---- */

static const uint8_t ascii_kinds[128] = {
    ['\t'] = 1, ['\n'] = 1, ['\v'] = 1, ['\f'] = 1, ['\r'] = 1, [0x1c] = 1, [0x1d] = 1, [0x1e] = 1, [0x1f] = 1, [' '] = 1, ['_'] = 2,
    ['0'] = 14, ['1'] = 14, ['2'] = 14, ['3'] = 14, ['4'] = 14, ['5'] = 14, ['6'] = 14, ['7'] = 14, ['8'] = 14, ['9'] = 14,
    ['A'] = 10, ['B'] = 10, ['C'] = 10, ['D'] = 10, ['E'] = 10, ['F'] = 10, ['G'] = 10, ['H'] = 10, ['I'] = 10, ['J'] = 10, ['K'] = 10,
    ['L'] = 10, ['M'] = 10, ['N'] = 10, ['O'] = 10, ['P'] = 10, ['Q'] = 10, ['R'] = 10, ['S'] = 10, ['T'] = 10, ['U'] = 10, ['V'] = 10,
    ['W'] = 10, ['X'] = 10, ['Y'] = 10, ['Z'] = 10, ['a'] = 10, ['b'] = 10, ['c'] = 10, ['d'] = 10, ['e'] = 10, ['f'] = 10, ['g'] = 10,
    ['h'] = 10, ['i'] = 10, ['j'] = 10, ['k'] = 10, ['l'] = 10, ['m'] = 10, ['n'] = 10, ['o'] = 10, ['p'] = 10, ['q'] = 10, ['r'] = 10,
    ['s'] = 10, ['t'] = 10, ['u'] = 10, ['v'] = 10, ['w'] = 10, ['x'] = 10, ['y'] = 10, ['z'] = 10};

static uint8_t kinds_of(uint32_t point)
{
    const uint32_t word = er_is_alnum(point) ? ER_IS_WORD | ER_IS_ALNUM : 0;
    return (uint8_t)(word | (er_is_decimal(point) ? ER_IS_DIGIT : 0) | (er_is_space(point) ? ER_IS_SPACE : 0));
}

bool er_view_of(er_arena *arena, const uint32_t *points, uint32_t count, er_view *view)
{
    uint32_t *caseless = er_take(arena, count, sizeof(uint32_t) + 1);
    if (!caseless) return false;
    uint8_t *kinds = (uint8_t *)(caseless + count);
    er_fill_view(points, count, caseless, kinds);
    *view = (er_view){points, caseless, kinds, count};
    return true;
}

void er_fill_view(const uint32_t *points, uint32_t count, uint32_t *caseless, uint8_t *kinds)
{
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t c = points[i];
        caseless[i] = c >= 128 ? er_caseless(c) : c >= 'A' && c <= 'Z' ? c + 32 : c;
        kinds[i] = c < 128 ? ascii_kinds[c] : kinds_of(c);
    }
}

/* ---- Characters ---- */

/* By categories and ranges: of what is not ASCII. */
static __attribute__((noinline)) bool is_far_in(const er_book *book, const er_letters *set, uint32_t c, uint8_t kinds)
{
    const uint32_t category = kinds & ER_IS_DIGIT ? 0 : kinds & ER_IS_WORD ? 1 : kinds & ER_IS_SPACE ? 2 : 3;
    bool found = set->categories >> category & 1;
    const uint32_t *range = book->ranges + 2 * (size_t)set->ranges;
    for (uint32_t i = 0; i < set->count; i++, range += 2)
        if (c >= range[0] && c <= range[1]) return !found;
    return found;
}

static inline bool is_in(const er_book *book, const er_letters *set, uint32_t c, uint8_t kinds)
{
    return c < 128 ? set->ascii[c >> 5] >> (c & 31) & 1 : is_far_in(book, set, c, kinds);
}

/* By one of 256 numbers, of which a table says whether something may begin with it. */
static bool may_begin(const er_book *book, uint32_t first, uint32_t c)
{
    const uint32_t key = c & 127, *row = c < 128 ? book->ascii[book->firsts[first][0]] : book->others[book->firsts[first][1]];
    return row[key >> 5] >> (key & 31) & 1;
}

/* Of three characters, as begins.py numbers them: a letter, a space, another one or the end. */
static bool may_begin_so(const uint32_t *begins, const uint32_t *text, uint32_t at, uint32_t count)
{
    enum { SPACE = 26, OTHER = 27, MANY_KINDS = 28 };
    uint32_t number = 0;
    for (uint32_t i = at; i < at + 3; i++) {
        const uint32_t c = i < count ? text[i] : 0, letter = c - 'a';
        if (i == at && letter >= SPACE) return true;
        number = number * MANY_KINDS + (letter < SPACE ? letter : c == ' ' ? SPACE : OTHER);
    }
    number = number * UINT32_C(0x9e3779b1) >> 22;
    return begins[number >> 5] >> (number & 31) & 1;
}

static bool is_edge(const er_view *v, uint32_t at)
{
    const bool before = at && v->kinds[at - 1] & ER_IS_WORD, behind = at < v->count && v->kinds[at] & ER_IS_WORD;
    return before != behind;
}

/* ---- Running ---- */

void er_matcher_of(er_arena *arena, const er_book *book, er_matcher *m)
{
    m->arena = arena;
    m->book = book;
    m->choices = m->own;
    m->used = 0;
    m->room = sizeof m->own / sizeof *m->own;
    m->steps = 0;
    m->failed = false;
    memset(m->kept, 0, sizeof m->kept);
}

static void forget(er_matcher *m, const er_program *program)
{
    if (program->flags & ER_HAS_GROUPS) memset(m->kept, 0xff, 2 * ER_GROUPS * sizeof *m->kept);
}

static bool keep(er_matcher *m, uint32_t pc, uint32_t at, uint32_t least)
{
    if (m->used == m->room) {
        er_choice *more = ER_TAKE(m->arena, er_choice, (size_t)m->room * 2);
        if (!more) {
            m->failed = true;
            return false;
        }
        memcpy(more, m->choices, m->used * sizeof *more);
        m->choices = more;
        m->room *= 2;
    }
    m->choices[m->used++] = (er_choice){pc, at, least};
    return true;
}

/* In place of a choice: what stood in a register before. */
#define UNDO 0x80000000u

static uint32_t of_two(const uint8_t *at) { return at[0] | (uint32_t)at[1] << 8; }

/* Where the address at `at` leads, which tells how far that is, a byte onwards or two; `at` goes behind it. */
static uint32_t address(const uint8_t *code, const uint8_t **at)
{
    enum { NEAR = 128, MIDDLE = 0x4000 };
    const uint32_t here = (uint32_t)(*at - code), far = *(*at)++;
    if (far < NEAR) return here + far;
    return here + ((far - NEAR) << 8 | *(*at)++) - MIDDLE;
}

/* Runs from one instruction on until a match, or until no choice is left of those that it made itself. Looks around run by
   themselves, one inside the other as often as they stand so in an expression. */
static bool run(er_matcher *m, const er_view *v, const uint32_t *text, uint32_t pc, uint32_t at, uint64_t most, uint32_t *end)
{
    const uint32_t base = m->used, count = v->count;
    const er_book *book = m->book;
    const uint8_t *code = book->code;
    for (;;) {
        bool fits = true;
        uint32_t other;
        if (m->steps++ >= most) break;
        const uint8_t *told = code + pc, *next = told + 1;
        if (told[0] >= LETTER) {
            if (at < count && text[at] == told[0] - LETTER) {
                at++, pc++;
                continue;
            }
            fits = false;
        } else switch (told[0]) {
        case SET:
            fits = at < count && is_in(book, &book->sets[told[1]], text[at], v->kinds[at]);
            at++, pc += 2;
            break;
        case ANY:
            fits = at < count && text[at] != '\n';
            at++, pc += 1;
            break;
        case LOOP:
        case MANY:
        case SOME: {
            uint32_t least = at + (told[0] == SOME), limit = count;
            pc += 2;
            if (told[0] == LOOP) {
                const uint32_t most_of = of_two(told + 3);
                if (most_of != ENDLESS && most_of < count - at) limit = at + most_of;
                least = at + told[2], pc += 3;
            }
            uint32_t i = at;
            const er_letters *set = &book->sets[told[1]];
            while (i < limit && is_in(book, set, text[i], v->kinds[i])) i++;
            m->steps += i - at;
            fits = i >= least;
            if (fits && i > least && !keep(m, pc, i - 1, least)) return false;
            at = i;
            break;
        }
        case SPLIT:
            other = address(code, &next);
            pc = (uint32_t)(next - code);
            if (!keep(m, other, at, at)) return false;
            break;
        case LAZY:
            pc = address(code, &next);
            if (!keep(m, (uint32_t)(next - code), at, at)) return false;
            break;
        case IF_FIRST:
            next++;
            pc = address(code, &next);
            if (at < count && may_begin(book, told[1], text[at])) {
                if (!keep(m, pc, at, at)) return false;
                pc = (uint32_t)(next - code);
            }
            break;
        case DISPATCH: {
            const uint32_t c = at < count ? text[at] : NO_LETTER;
            uint32_t left = *next++;
            for (; left && er_next_letter(&next) != c; left--) next += 1 + (*next >> 7);
            fits = left;
            if (fits) pc = address(code, &next);
            at++;
            break;
        }
        case JUMP:
            pc = address(code, &next);
            break;
        case EDGE:
            fits = is_edge(v, at);
            pc += 1;
            break;
        case BEGIN:
            fits = !at;
            pc += 1;
            break;
        case END: /* or before a line end that is the last */
            fits = at == count || (at + 1 == count && text[at] == '\n');
            pc += 1;
            break;
        case BEHIND:
        case NOT_BEHIND:
            fits = (at && is_in(book, &book->sets[told[1]], text[at - 1], v->kinds[at - 1])) == (told[0] == BEHIND);
            pc += 2;
            break;
        case LOOK:
        case NOT_LOOK: {
            uint32_t unused;
            pc = address(code, &next);
            const bool found = run(m, v, text, (uint32_t)(next - code), at, most, &unused);
            if (m->failed) return false;
            fits = found == (told[0] == LOOK);
            break;
        }
        case LIST: {
            uint32_t i = at;
            while (i < count && i - at <= LONGEST_LISTED && v->kinds[i] & ER_IS_WORD) i++;
            m->steps += i - at;
            fits = i > at && er_is_listed(v->caseless + at, i - at, told[1]);
            at = i, pc += 2;
            break;
        }
        case SAVE:
        case ZERO:
            if (!keep(m, UNDO | told[1], m->kept[told[1]], 0)) return false;
            m->kept[told[1]] = told[0] == SAVE ? at : 0;
            pc += 2;
            break;
        case COUNT:
            fits = m->kept[told[1]] < of_two(told + 2);
            if (fits && !keep(m, UNDO | told[1], m->kept[told[1]]++, 0)) return false;
            pc += 4;
            break;
        case BACK:
            fits = at >= told[1];
            at -= told[1], pc += 2;
            break;
        case CALL: /* a part that several expressions have */
            if (!keep(m, UNDO | told[1], m->kept[told[1]], 0)) return false;
            next++;
            pc = address(code, &next);
            m->kept[told[1]] = (uint32_t)(next - code);
            break;
        case RETURN:
            pc = m->kept[told[1]];
            break;
        case MATCH:
            *end = at;
            m->used = base;
            return true;
        case FAIL:
            fits = false;
            break;
        default: { /* TEXT */
            const uint32_t n = told[0] - TEXT;
            fits = count - at >= n;
            for (uint32_t i = 0; fits && i < n; i++) fits = text[at + i] == er_next_letter(&next);
            at += n, pc = (uint32_t)(next - code);
        }
        }
        if (fits) continue;
        while (m->used > base && m->choices[m->used - 1].pc & UNDO) {
            m->used--;
            m->kept[m->choices[m->used].pc & ~UNDO] = m->choices[m->used].at;
        }
        if (m->used == base) return false;
        er_choice *last = &m->choices[m->used - 1];
        pc = last->pc;
        at = last->at;
        if (last->at > last->least) last->at--;
        else m->used--;
    }
    m->used = base;
    return false;
}

bool er_matches(er_matcher *m, uint32_t number, const er_view *v, uint32_t at, uint32_t *end)
{
    const er_program *program = &m->book->programs[number];
    forget(m, program);
    return run(m, v, program->flags & ER_IGNORES_CASE ? v->caseless : v->points, program->start, at, m->steps + MOST_STEPS, end);
}

bool er_finds(er_matcher *m, uint32_t number, const er_view *v, uint32_t from, er_span *found)
{
    const er_book *book = m->book;
    const er_program *program = &book->programs[number];
    const uint32_t *text = program->flags & ER_IGNORES_CASE ? v->caseless : v->points, count = v->count;
    const bool edge = program->flags & ER_AT_EDGE, anywhere = program->first == ER_ANYWHERE;
    const uint32_t last = program->flags & ER_AT_BEGIN ? 0 : count;
    const uint64_t most = m->steps + MOST_STEPS;
    const uint32_t *ascii = anywhere ? NULL : book->ascii[book->firsts[program->first][0]];
    /* What many programs begin with, the character before, is looked at here: most places go no further. */
    const uint32_t *begins = program->begins ? book->begins[program->begins - 1] : NULL;
    const uint8_t *told = book->code + program->start;
    const bool behind = *told == BEHIND, guarded = behind || *told == NOT_BEHIND;
    const er_letters *guard = guarded ? &book->sets[told[1]] : NULL;
    const uint32_t start = program->start + (guarded ? 2u : 0u);
    forget(m, program);
    for (uint32_t at = from; at <= last && !m->failed; at++) {
        if (!anywhere) {
            if (at == count) break;
            const uint32_t c = text[at];
            if (c < 128 ? !(ascii[c >> 5] >> (c & 31) & 1) : !may_begin(book, program->first, c)) continue;
        }
        if (edge && at && v->kinds[at - 1] & ER_IS_WORD) continue;
        if (guarded && (at && is_in(book, guard, text[at - 1], v->kinds[at - 1])) != behind) continue;
        if (begins && !may_begin_so(begins, text, at, count)) continue;
        if (run(m, v, text, start, at, most, &found->end)) {
            found->begin = at;
            return true;
        }
    }
    return false;
}
