#include "regex.h"
#include "unicode.h"

enum { MOST_CODE = 2048, MOST_RANGES = 512, MOST_DEPTH = 24, MOST_REPEATED = 250, MOST_CHOICES = 1024, MOST_STEPS = 200000 };
enum { CHAR, ANY, CLASS, SPLIT, JUMP, BEGIN, END, LAST, EDGE, NO_EDGE, SAVE, MATCH }; /* LAST: the end, or a line end before it */
enum { RANGE, DIGIT, SPACE, WORD };

typedef struct {
    uint8_t op;
    bool negated;      /* of a class */
    uint32_t x, y;     /* a code point; places in the code; a class's ranges; a slot */
} step;

typedef struct {
    uint8_t kind;
    bool negated;
    uint32_t first, last;
} range;

struct er_regex {
    const step *code;
    const range *ranges;
    int flags;
};

/* ---- Reading ---- */

typedef struct {
    const er_points *of;
    uint32_t at, used, range_count;
    step *code;
    range *ranges;
    uint8_t depth;
    bool grouped, failed;
} reader;

static bool fail(reader *r) { return r->failed = true, false; }
static uint32_t peek(const reader *r) { return r->at < r->of->count ? r->of->points[r->at] : 0; }
static bool take(reader *r, uint32_t point) { return peek(r) == point && r->at < r->of->count ? r->at++, true : false; }

static bool put(reader *r, step one)
{
    if (r->used == MOST_CODE) return fail(r);
    r->code[r->used++] = one;
    return true;
}

/* Makes room for so many steps at a place; what points behind it moves along. */
static bool insert(reader *r, uint32_t at, uint32_t count)
{
    if (r->used + count > MOST_CODE) return fail(r);
    memmove(r->code + at + count, r->code + at, (r->used - at) * sizeof *r->code);
    r->used += count;
    for (uint32_t i = at + count; i < r->used; i++)
        if (r->code[i].op == SPLIT || r->code[i].op == JUMP) {
            r->code[i].x += r->code[i].x >= at ? count : 0;
            r->code[i].y += r->code[i].op == SPLIT && r->code[i].y >= at ? count : 0;
        }
    return true;
}

static bool add_range(reader *r, range one)
{
    if (r->range_count == MOST_RANGES) return fail(r);
    r->ranges[r->range_count++] = one;
    return true;
}

static uint32_t hex(reader *r, uint32_t digits)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < digits; i++, r->at++) {
        const uint32_t c = peek(r), value = c - '0' < 10 ? c - '0' : (c | 32) - 'a' < 6 ? (c | 32) - 'a' + 10 : 16;
        if (value > 15) fail(r);
        found = found << 4 | value;
    }
    return found;
}

/* Behind a backslash: a class, whose kind is told, or one code point. */
static uint8_t escaped(reader *r, bool inside, bool *negated, uint32_t *point)
{
    const uint32_t c = peek(r);
    if (r->at++ >= r->of->count) fail(r);
    *negated = c == 'D' || c == 'S' || c == 'W';
    *point = c;
    switch (c) {
    case 'd': case 'D': return DIGIT;
    case 's': case 'S': return SPACE;
    case 'w': case 'W': return WORD;
    case 'n': *point = '\n'; break;
    case 't': *point = '\t'; break;
    case 'r': *point = '\r'; break;
    case 'f': *point = '\f'; break;
    case 'v': *point = '\v'; break;
    case 'x': *point = hex(r, 2); break;
    case 'u': *point = hex(r, 4); break;
    case 'b':
        if (!inside) fail(r);
        *point = '\b';
        break;
    default:
        if (c < 128 && er_is_alnum(c)) fail(r);
    }
    return RANGE;
}

static bool read_class(reader *r)
{
    step one = {CLASS, take(r, '^'), r->range_count, 0};
    for (bool first = true; first || peek(r) != ']'; first = false) {
        range found = {RANGE, false, peek(r), 0};
        if (r->at++ >= r->of->count) return fail(r);
        if (found.first == '\\') found.kind = escaped(r, true, &found.negated, &found.first);
        found.last = found.first;
        if (peek(r) == '-' && r->at + 1 < r->of->count && r->of->points[r->at + 1] != ']') {
            bool negated;
            r->at++;
            found.last = peek(r);
            r->at++;
            if (found.kind != RANGE || (found.last == '\\' && escaped(r, true, &negated, &found.last) != RANGE) || found.last < found.first)
                return fail(r);
        }
        if (r->failed || !add_range(r, found)) return false;
    }
    r->at++;
    one.y = r->range_count;
    return put(r, one);
}

static bool read_either(reader *r);

static bool read_atom(reader *r)
{
    const uint32_t c = peek(r);
    r->at++;
    switch (c) {
    case '(': {
        const bool plain = take(r, '?');
        if ((plain && !take(r, ':')) || ++r->depth > MOST_DEPTH) return fail(r);
        const bool first = !plain && !r->grouped;
        if (!plain) r->grouped = true;
        if ((first && !put(r, (step){SAVE, false, 0, 0})) || !read_either(r) || !take(r, ')')) return fail(r);
        r->depth--;
        return !first || put(r, (step){SAVE, false, 1, 0});
    }
    case '[': return read_class(r);
    case '.': return put(r, (step){ANY, false, 0, 0});
    case '^': return put(r, (step){BEGIN, false, 0, 0});
    case '$': return put(r, (step){LAST, false, 0, 0});
    case '\\': {
        uint32_t point;
        bool negated;
        if (take(r, 'b')) return put(r, (step){EDGE, false, 0, 0});
        if (take(r, 'B')) return put(r, (step){NO_EDGE, false, 0, 0});
        if (take(r, 'Z')) return put(r, (step){END, false, 0, 0});
        const uint8_t kind = escaped(r, false, &negated, &point);
        if (r->failed) return false;
        if (kind == RANGE) return put(r, (step){CHAR, false, point, 0});
        return add_range(r, (range){kind, negated, 0, 0}) && put(r, (step){CLASS, false, r->range_count - 1, r->range_count});
    }
    case '*': case '+': case '?': case ')': case '|': return fail(r);
    default: return put(r, (step){CHAR, false, c, 0});
    }
}

/* {2}, {2,}, {,3} or {2,3}; what is none of these is a brace like any other. */
static bool read_bounds(reader *r, uint32_t *least, uint32_t *most)
{
    const uint32_t begin = r->at;
    uint32_t found[2] = {0, 0};
    bool given[2] = {false, false}, two = false;
    if (!take(r, '{')) return false;
    for (; peek(r) != '}' && r->at < r->of->count; r->at++) {
        const uint32_t c = peek(r);
        if (c == ',' && !two) two = true;
        else if (c - '0' < 10u && found[two] < 10000) found[two] = found[two] * 10 + (c - '0'), given[two] = true;
        else return r->at = begin, false;
    }
    if (!take(r, '}') || (!given[0] && !given[1])) return r->at = begin, false;
    *least = found[0];
    *most = !two ? found[0] : given[1] ? found[1] : UINT32_MAX;
    if (*least > MOST_REPEATED || (*most != UINT32_MAX && (*most > MOST_REPEATED || *most < *least))) fail(r);
    return true;
}

static bool copy(reader *r, uint32_t begin, uint32_t count)
{
    const uint32_t to = r->used;
    if (to + count > MOST_CODE) return fail(r);
    for (uint32_t i = 0; i < count; i++) {
        step one = r->code[begin + i];
        if (one.op == SPLIT || one.op == JUMP) {
            one.x += to - begin;
            one.y += to - begin;
        }
        r->code[r->used++] = one;
    }
    return true;
}

static step fork(bool greedy, uint32_t yes, uint32_t no) { return greedy ? (step){SPLIT, false, yes, no} : (step){SPLIT, false, no, yes}; }

static bool read_repeated(reader *r)
{
    const uint32_t begin = r->used;
    uint32_t least = 1, most = 1;
    if (!read_atom(r)) return false;
    if (take(r, '*')) least = 0, most = UINT32_MAX;
    else if (take(r, '+')) most = UINT32_MAX;
    else if (take(r, '?')) least = 0;
    else if (!read_bounds(r, &least, &most)) return true;
    if (r->failed) return false;
    const bool greedy = !take(r, '?');
    if (peek(r) == '*' || peek(r) == '+' || peek(r) == '?') return fail(r);
    const uint32_t size = r->used - begin;
    if (!most) return r->used = begin, true;
    if (!least) {
        if (!insert(r, begin, 1)) return false;
        if (most == UINT32_MAX) {
            if (!put(r, (step){JUMP, false, begin, 0})) return false;
            r->code[begin] = fork(greedy, begin + 1, r->used);
            return true;
        }
        r->code[begin] = fork(greedy, begin + 1, begin + 1 + size);
        if (most == 1) return true;
    }
    /* The body once more for each time that it must be there, and behind a fork for each that it may. */
    const uint32_t from = least ? begin : begin + 1;
    const uint32_t more = most == UINT32_MAX ? least : most;
    uint32_t waiting[MOST_REPEATED + 1], count = 0;
    if (!least) waiting[count++] = begin;
    uint32_t latest = from;
    for (uint32_t i = 1; i < more; i++) {
        if (i >= least) {
            waiting[count++] = r->used;
            if (!put(r, (step){SPLIT, false, 0, 0})) return false;
        }
        latest = r->used;
        if (!copy(r, from, size)) return false;
    }
    if (most == UINT32_MAX) {
        const uint32_t at = r->used;
        if (!put(r, (step){SPLIT, false, 0, 0})) return false;
        r->code[at] = fork(greedy, latest, at + 1);
    }
    for (uint32_t i = 0; i < count; i++) r->code[waiting[i]] = fork(greedy, waiting[i] + 1, r->used);
    return true;
}

static bool read_either(reader *r)
{
    const uint32_t begin = r->used;
    while (r->at < r->of->count && peek(r) != '|' && peek(r) != ')')
        if (!read_repeated(r)) return false;
    if (!take(r, '|')) return true;
    if (++r->depth > MOST_DEPTH || !insert(r, begin, 1)) return fail(r);
    const uint32_t jump = r->used;
    if (!put(r, (step){JUMP, false, 0, 0})) return false;
    r->code[begin] = (step){SPLIT, false, begin + 1, r->used};
    if (!read_either(r)) return false;
    r->depth--;
    r->code[jump].x = r->used;
    return true;
}

const er_regex *er_regex_of(er_arena *arena, er_text pattern, int flags)
{
    er_points points;
    reader r = {.of = &points};
    er_regex *found = ER_TAKE(arena, er_regex, 1);
    if (!found || !er_points_of(arena, pattern, &points)) return NULL;
    step code[MOST_CODE];
    range ranges[MOST_RANGES];
    r.code = code;
    r.ranges = ranges;
    if (!read_either(&r) || r.failed || r.at < points.count || !put(&r, (step){MATCH, false, 0, 0})) return NULL;
    step *kept = ER_TAKE(arena, step, r.used);
    range *kept_ranges = ER_TAKE(arena, range, r.range_count + 1);
    if (!kept || !kept_ranges) return NULL;
    memcpy(kept, code, r.used * sizeof *kept);
    memcpy(kept_ranges, ranges, r.range_count * sizeof *kept_ranges);
    found->code = kept;
    found->ranges = kept_ranges;
    found->flags = flags;
    return found;
}

/* ---- Matching ---- */

static bool is_word(const er_regex *of, uint32_t c) { return of->flags & ER_REGEX_ASCII && c > 127 ? false : er_is_word(c); }

static bool in_class(const er_regex *of, const step *class, uint32_t c)
{
    const bool caseless = of->flags & ER_REGEX_CASELESS, ascii = of->flags & ER_REGEX_ASCII && c > 127;
    const uint32_t low = caseless ? er_lower_of(c) : c, up = caseless && low - 'a' < 26 ? low - 32 : low;
    for (uint32_t i = class->x; i < class->y; i++) {
        const range *r = &of->ranges[i];
        const bool in = r->kind == RANGE ? (c >= r->first && c <= r->last) || (low >= r->first && low <= r->last) || (up >= r->first && up <= r->last)
                        : ascii          ? false
                        : r->kind == DIGIT ? er_is_decimal(c)
                        : r->kind == SPACE ? er_is_space(c)
                                           : er_is_word(c);
        if (in != r->negated) return !class->negated;
    }
    return class->negated;
}

static bool is_edge(const er_regex *of, const er_points *text, uint32_t at)
{
    return (at && is_word(of, text->points[at - 1])) != (at < text->count && is_word(of, text->points[at]));
}

typedef struct {
    uint32_t pc, at; /* pc ≥ UNDO: a slot's number, and what was in it */
} choice;

enum { UNDO = MOST_CODE };

static bool run(const er_regex *of, const er_points *text, uint32_t at, bool whole, uint32_t *steps, uint32_t *end, uint32_t slots[2])
{
    choice choices[MOST_CHOICES];
    uint32_t open = 0, pc = 0;
    slots[0] = slots[1] = UINT32_MAX;
    for (;;) {
        const step *s = &of->code[pc];
        bool fine = ++*steps < MOST_STEPS && open + 2 < MOST_CHOICES;
        if (!fine) return *steps = MOST_STEPS, false;
        const bool more = at < text->count;
        switch (s->op) {
        case CHAR:
            fine = more && (text->points[at] == s->x ||
                            (of->flags & ER_REGEX_CASELESS && er_caseless(text->points[at]) == er_caseless(s->x)));
            at++, pc++;
            break;
        case ANY: fine = more && text->points[at] != '\n', at++, pc++; break;
        case CLASS: fine = more && in_class(of, s, text->points[at]), at++, pc++; break;
        case SPLIT: choices[open++] = (choice){s->y, at}, pc = s->x; break;
        case JUMP: pc = s->x; break;
        case BEGIN: fine = !at, pc++; break;
        case END: fine = !more, pc++; break;
        case LAST: fine = !more || (at + 1 == text->count && text->points[at] == '\n'), pc++; break;
        case EDGE: fine = is_edge(of, text, at), pc++; break;
        case NO_EDGE: fine = !is_edge(of, text, at), pc++; break;
        case SAVE: choices[open++] = (choice){UNDO + s->x, slots[s->x]}, slots[s->x] = at, pc++; break;
        default:
            if (!whole || !more) return *end = at, true;
            fine = false;
        }
        if (fine) continue;
        while (open && choices[open - 1].pc >= UNDO) open--, slots[choices[open].pc - UNDO] = choices[open].at;
        if (!open) return false;
        open--;
        pc = choices[open].pc;
        at = choices[open].at;
    }
}

bool er_regex_search(const er_regex *of, const er_points *text, uint32_t from, er_span *found, er_span *group)
{
    uint32_t steps = 0, slots[2];
    for (uint32_t at = from; at <= text->count && steps < MOST_STEPS; at++)
        if (run(of, text, at, false, &steps, &found->end, slots)) {
            found->begin = at;
            if (group) *group = (er_span){slots[1] == UINT32_MAX ? UINT32_MAX : slots[0], slots[1]};
            return true;
        }
    return false;
}

bool er_regex_full(const er_regex *of, const er_points *text)
{
    uint32_t steps = 0, end, slots[2];
    return run(of, text, 0, true, &steps, &end, slots);
}
