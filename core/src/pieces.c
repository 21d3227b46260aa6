/* Which runs of a request's words may be a value, with the words that lead to each. */

#include "pieces_parts.h"
#include "lexicon.h"
#include "unicode.h"

enum { MOST_CUT = 3, MOST_NAME = 3 };

typedef struct {
    er_reader *r;
    er_piece *found;
    uint32_t count;
    er_span *taken; /* units in front of a correction, and where that ends */
    uint32_t taken_count;
    uint8_t *negated; /* by unit: 0 not known, 1 not, 2 negated */
} finder;

static bool same_clause(const finder *f, uint32_t a, uint32_t b) { return f->r->units[a].clause == f->r->units[b].clause; }
static bool is_capital_at(const er_reader *r, uint32_t unit) { return er_is_upper(er_point_of(r, unit)); }
static er_text lower_of(const er_reader *r, uint32_t unit) { return r->units[unit].lower; }

/* ---- What is taken back ---- */

static bool find_corrections(finder *f)
{
    er_reader *r = f->r;
    er_span span;
    f->taken = ER_TAKE(r->arena, er_span, r->count + 1);
    if (!f->taken) return false;
    for (uint32_t from = 0; er_finds(&r->matcher, ER_P_CORRECTION, &r->said.written, from, &span); from = span.end) {
        uint32_t before = 0, behind = 0;
        while (before < r->count && r->units[before].end <= span.begin) before++;
        while (behind < r->count && r->units[behind].begin < span.end) behind++;
        /* "... is there, no, nothing else": a correction says something else right behind it. */
        if (span.begin && before && behind < r->count && f->taken_count <= r->count) f->taken[f->taken_count++] = (er_span){before, behind};
    }
    return !r->matcher.failed;
}

/* Whether what begins at a unit is negated, whatever its end is. */
static bool is_negated(finder *f, uint32_t first)
{
    er_reader *r = f->r;
    if (f->negated[first]) return f->negated[first] == 2;
    uint32_t at = first;
    while (at && ER_IN(&r->units[at - 1], BEFORE_VALUE)) at--;
    bool behind = false, found;
    for (uint32_t i = 0; i < f->taken_count; i++) behind = behind || f->taken[i].end == first;
    if (at == first && at && er_is(lower_of(r, at - 1), "no") && !behind && er_is_decimal(er_point_of(r, first))) {
        found = false; /* "fridge no 4" has a number */
    } else if (at && ER_IN(&r->units[at - 1], NEGATION) && !behind) {
        found = !er_is(lower_of(r, at - 1), "than") || (at > 1 && ER_IN(&r->units[at - 2], OTHER));
    } else {
        const er_view front = er_part(&r->said.written, 0, r->units[first].begin);
        er_span span;
        found = er_finds(&r->matcher, ER_P_NOT_VALUES, &front, 0, &span);
    }
    f->negated[first] = found ? 2 : 1;
    return found;
}

/* Whether a number begins at a unit, and ends in front of `last` if that is not 0. */
static bool is_count(const er_reader *r, uint32_t first, uint32_t last)
{
    const er_match_list *numbers = &r->matches[ER_PIECE_NUMBER];
    for (uint32_t i = 0; i < numbers->count; i++)
        if (numbers->at[i].first == first && (!last || numbers->at[i].last == last)) return true;
    return false;
}

static bool is_taken(finder *f, uint32_t first, uint32_t last)
{
    for (uint32_t i = 0; i < f->taken_count; i++) {
        const uint32_t before = f->taken[i].begin;
        if (last == before || (first < before && before < last)) return true;
        if (last + 1 == before && is_count(f->r, first, last) && is_count(f->r, f->taken[i].end, 0)) return true; /* "for 12 guests, no, make that 10" */
    }
    return is_negated(f, first);
}

/* Adds one, unless it is there. False: there are enough. */
static bool add(finder *f, uint32_t kind, uint32_t first, uint32_t last)
{
    const er_reader *r = f->r;
    for (uint32_t i = 0; i < f->count; i++)
        if (f->found[i].first == first && f->found[i].last == last && f->found[i].kind == kind) return true;
    er_piece *piece = &f->found[f->count++];
    *piece = (er_piece){(uint16_t)first, (uint16_t)last, r->units[first].clause, (uint8_t)kind, 0, is_taken(f, first, last), first && ER_IN(&r->units[first - 1], AND)};
    while (piece->leads < ER_MOST_LEADS && piece->leads < first && !er_is_mark(r, first - 1u - piece->leads, ".!?;")) piece->leads++;
    return f->count < ER_MOST_PIECES;
}

/* ---- Where a sentence ends, or a clause ---- */

static bool breaks_line(const er_reader *r, uint32_t unit)
{
    for (uint32_t i = r->units[unit - 1].end; i < r->units[unit].begin; i++)
        if (r->said.written.points[i] == '\n') return true;
    return false;
}

static uint32_t end_of(const finder *f, uint32_t first, bool clause)
{
    const er_reader *r = f->r;
    uint32_t end = first;
    for (; end < r->count; end++) {
        if (er_is_mark(r, end, ".!?;") && (end + 1 == r->count || r->units[end + 1].begin > r->units[end].end)) break;
        if (clause && (!same_clause(f, end, first) || er_is_mark(r, end, ","))) break;
        if (end > first && breaks_line(r, end)) break;
    }
    while (end > first && !r->units[end - 1].is_word) end--;
    while (end > first && ER_IN(&r->units[end - 1], AT_END)) end--;
    return end;
}

/* Whether a word begins what is asked for: a clause, or behind "please", "to", "and" and a comma. */
static bool begins(const finder *f, uint32_t at)
{
    return !at || !same_clause(f, at, at - 1) || ER_IN(&f->r->units[at - 1], BEFORE_VERB);
}

/* ---- Whom somebody tells something, and what ---- */

static bool is_subject(finder *f, uint32_t unit)
{
    er_reader *r = f->r;
    const er_text lower = lower_of(r, unit);
    uint32_t points[16] = {0}, caseless[16], count = 0, end;
    uint8_t kinds[16];
    for (size_t i = 0; i < lower.length; count++) {
        if (count == sizeof points / sizeof *points) return false; /* longer than any */
        points[count] = er_point_at(lower, &i);
    }
    er_fill_view(points, count, caseless, kinds);
    const er_view view = {points, caseless, kinds, count};
    return count && er_matches(&r->matcher, ER_P_SUBJECT, &view, 0, &end);
}

/* Whether a word is one of a name's: capitals in a row, or one word that says nothing else. */
static bool is_named(finder *f, uint32_t at, uint32_t first)
{
    const er_reader *r = f->r;
    const er_unit *unit = &r->units[at];
    if (!unit->is_word || is_subject(f, at) || ER_IN(unit, BEFORE_TOLD)) return false;
    if (at > first) return is_capital_at(r, at) && is_capital_at(r, first) && unit->same;
    return !ER_IN(unit, BREAK) && !(r->said.written.kinds[unit->begin] & ER_IS_DIGIT);
}

static bool is_when(const er_reader *r, uint32_t kind) { return r->matches[kind].count > 0; }

/* What somebody is to be reminded of, without the day and the time in front of it and behind it. */
static bool add_to_do(finder *f, uint32_t first)
{
    static const uint8_t whens[] = {ER_PIECE_MOMENT, ER_PIECE_DATE, ER_PIECE_TIME, ER_PIECE_DURATION};
    er_reader *r = f->r;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t k = 0; k < sizeof whens; k++)
            for (uint32_t i = 0; is_when(r, whens[k]) && i < r->matches[whens[k]].count; i++) {
                const er_match match = r->matches[whens[k]].at[i];
                bool near = match.first >= first;
                for (uint32_t at = first; at < match.first && near; at++) near = ER_IN(&r->units[at], BEFORE_WHEN);
                if (near) first = match.last, moved = true;
            }
    }
    while (first < r->count && ER_IN(&r->units[first], BEFORE_TO_DO)) first++;
    uint32_t end = first < r->count ? end_of(f, first, false) : first;
    for (bool moved = true; moved;) {
        moved = false;
        for (uint32_t k = 0; k < sizeof whens; k++)
            for (uint32_t i = 0; i < r->matches[whens[k]].count; i++) {
                const er_match match = r->matches[whens[k]].at[i];
                if (first < match.first && match.first < match.last && match.last == end) end = match.first, moved = true;
            }
        while (end > first && ER_IN(&r->units[end - 1], BEFORE_WHEN)) end--;
    }
    return end <= first || add(f, ER_PIECE_TOLD, first, end);
}

/* "text jonas that im late", "let mum know dinner is ready" */
static bool add_spoken(finder *f)
{
    er_reader *r = f->r;
    for (uint32_t i = 0; i + 1 < r->count; i++) {
        if (!ER_IN(&r->units[i], TELLS) || !begins(f, i)) continue;
        uint32_t first = i + 1;
        if (er_is(lower_of(r, i), "remind") && ER_IN(&r->units[first], ME) && !add_to_do(f, first + 1)) return false;
        while (first < r->count && ER_IN(&r->units[first], BEFORE_NAME)) first++;
        uint32_t last = first;
        while (last < r->count && last < first + MOST_NAME && is_named(f, last, first)) last++;
        const bool somebody = last == first && first < r->count && ER_IN(&r->units[first], SOMEBODY);
        last += somebody;
        uint32_t at = last;
        while (at < r->count && ER_IN(&r->units[at], BEFORE_TOLD)) at++;
        if (last == first || (at == r->count && !is_capital_at(r, first))) continue;
        bool starts = at > last || (at < r->count && is_subject(f, at));
        if (!starts && at < r->count) {
            const uint32_t c = er_point_of(r, at);
            starts = er_is_mark(r, at, "\"'`") || c == 0x201c || c == 0x2018 || c == 0xab;
        }
        if (!starts && !is_capital_at(r, first)) continue;
        if (!somebody && !add(f, ER_PIECE_ADDRESSEE, first, last)) return false;
        const uint32_t end = starts && at < r->count ? end_of(f, at, false) : at;
        if (end > at && !add(f, ER_PIECE_TOLD, at, end)) return false;
    }
    return true;
}

/* All that stands behind "run", up to where it is run. */
static bool add_commands(finder *f)
{
    er_reader *r = f->r;
    for (uint32_t i = 0; i + 1 < r->count; i++) {
        if (!ER_IN(&r->units[i], RUNS) || !begins(f, i)) continue;
        uint32_t first = i + 1, last = first;
        er_span span;
        const bool found = er_finds(&r->matcher, ER_P_BEHIND_COMMAND, &r->english, r->units[first].english, &span);
        const uint32_t stop = found ? span.begin : r->english.count;
        while (last < r->count && r->units[last].stop <= stop) last++;
        while (first < last && ER_IN(&r->units[first], BEFORE_COMMAND)) first++;
        if (first >= last || ER_IN(&r->units[first], BREAK)) return true; /* "run it again", "run the tests" */
        while (last > first && er_is_mark(r, last - 1, ",.;:!?`\"")) last--;
        if (last <= first) return true;
        const er_view said = er_part(&r->said.written, r->units[first].begin, r->units[last - 1].end);
        return add(f, er_finds(&r->matcher, ER_P_CODE, &said, 0, &span) ? ER_PIECE_COMMAND : ER_PIECE_TOLD, first, last);
    }
    return true;
}

/* ---- Runs between small words and marks ---- */

static bool is_verb(finder *f, uint32_t unit, bool *verb)
{
    er_reader *r = f->r;
    const er_language language = r->reading->language;
    const er_unit *u = &r->units[unit];
    er_view low;
    if (!er_low_part(r->arena, &r->said, u->begin, u->end, &low)) return false;
    *verb = er_role_of(er_word_facts(low.points, low.count, NULL), language)->lists & ER_VERB;
    if (*verb || u->same) return true;
    er_points english;
    if (!er_points_of(r->arena, u->lower, &english)) return false;
    *verb = er_role_of(er_word_facts(english.points, english.count, NULL), language)->lists & ER_VERB;
    return true;
}

static bool belongs(const er_reader *r, uint32_t at, uint32_t first)
{
    const er_unit *unit = &r->units[at];
    if (unit->is_word) return (unit->lower.length && !ER_IN(unit, BREAK)) || (at > first && is_capital_at(r, at) && ER_IN(unit, IDLE_CAPITAL));
    if (at == first || at + 1 >= r->count) return false;
    const er_unit *before = unit - 1, *behind = unit + 1;
    if (unit->begin != before->end || behind->begin != unit->end || !behind->is_word) return false;
    return er_is_mark(r, at, "-_/.'@+&:") || er_point_of(r, at) == 0x2019;
}

/* Whether what stands between two runs joins them: "of", "for the". */
static bool joins(const er_reader *r, uint32_t from, uint32_t to)
{
    if (from >= to || to - from > 2 || !ER_IN(&r->units[from], JOIN)) return false;
    return to - from == 1 || ER_IN(&r->units[from + 1], JOIN) || ER_IN(&r->units[from + 1], THE);
}

/* Each run alone, without its first and last words, and two of them with what joins them. */
static bool add_between(finder *f)
{
    er_reader *r = f->r;
    er_span *runs = ER_TAKE(r->arena, er_span, r->count + 1);
    uint32_t count = 0;
    if (!runs) return false;
    for (uint32_t at = 0, end; at < r->count; at = end > at ? end : at + 1) {
        bool verb;
        if (!is_verb(f, at, &verb)) return false;
        end = at;
        if (verb && begins(f, at)) continue;
        while (end < r->count && belongs(r, end, at)) end++;
        if (end > at) runs[count++] = (er_span){at, end};
    }
    for (uint32_t i = 0; i < count; i++) {
        const uint32_t first = runs[i].begin, last = runs[i].end;
        if (!add(f, ER_PIECE_CHUNK, first, last)) return false;
        for (uint32_t cut = 1; cut < last - first && cut <= MOST_CUT; cut++) {
            if (r->units[first + cut].is_word && r->units[first + cut - 1].is_word && !add(f, ER_PIECE_TAIL, first + cut, last)) return false;
            if (r->units[last - cut].is_word && r->units[last - cut - 1].is_word && !add(f, ER_PIECE_HEAD, first, last - cut)) return false;
        }
        if (i + 1 < count && joins(r, last, runs[i + 1].begin) && !add(f, ER_PIECE_JOINED, first, runs[i + 1].end)) return false;
    }
    return true;
}

/* From a word that makes somebody speak, or a colon, to the end of the sentence; and from a preposition on to the end of the
   clause. */
static bool add_told(finder *f)
{
    er_reader *r = f->r;
    for (uint32_t i = 0; i + 1 < r->count; i++) {
        const er_unit *unit = &r->units[i];
        uint32_t end;
        if (unit->is_word && (!i || !same_clause(f, i, i - 1) || er_is_mark(r, i - 1, ",.:;!?"))) {
            if ((end = end_of(f, i, true)) > i + 1 && !add(f, ER_PIECE_CLAUSE, i, end)) return false;
            if ((end = end_of(f, i, false)) > i + 1 && !add(f, ER_PIECE_SENTENCE, i, end)) return false;
        }
        if (ER_IN(unit, SPEAKS) && i) {
            const uint32_t first = er_is(lower_of(r, i + 1), "that") ? i + 2 : i + 1;
            if ((end = end_of(f, first, false)) > first + 1 && !add(f, ER_PIECE_TOLD, first, end)) return false;
        }
        if (ER_IN(unit, PREPOSITION) || (i && ER_IN(unit, BEFORE_REST)))
            if ((end = end_of(f, i + 1, true)) > i + 1 && !add(f, ER_PIECE_REST, i + 1, end)) return false;
    }
    return true;
}

static bool add_matches(finder *f)
{
    for (uint32_t kind = 0; kind < ER_MATCH_KINDS; kind++)
        for (uint32_t i = 0; i < f->r->matches[kind].count; i++)
            if (!add(f, kind, f->r->matches[kind].at[i].first, f->r->matches[kind].at[i].last)) return false;
    return true;
}

/* Streets with their numbers, of capitals and of words that say so. */
static bool add_streets(finder *f)
{
    const er_reader *r = f->r;
    for (uint32_t i = 0; i < r->matches[ER_PIECE_NAME].count; i++) {
        const er_match name = r->matches[ER_PIECE_NAME].at[i];
        const uint32_t first = er_street_before(r, name);
        if (first < name.first && !add(f, ER_PIECE_NAME, first, name.last)) return false;
    }
    for (uint32_t at = 0; at < r->count; at++) {
        const uint32_t last = er_street_at(r, at);
        if (last > at && !add(f, ER_PIECE_NAME, at, last)) return false;
    }
    return true;
}

/* ---- The whole ---- */

/* The clauses of the text, and the stems of each, once. */
static bool find_clauses(er_reader *r)
{
    er_reading *reading = r->reading;
    const er_points *text = &reading->text;
    er_span *spans = ER_TAKE(r->arena, er_span, text->count + 1);
    if (!spans) return false;
    const uint32_t clauses = er_clauses_of(r->arena, reading->language, text, 1, spans, text->count + 1);
    uint32_t *starts = ER_TAKE(r->arena, uint32_t, clauses + 1);
    er_text *stems = ER_TAKE(r->arena, er_text, text->count + 1);
    if (!starts || !stems) return false;
    uint32_t n = 0;
    for (uint32_t k = 0, at = 0; k < clauses; k++) {
        const er_word *words;
        uint32_t count;
        er_points part;
        if (!er_points_of(r->arena, er_cut(text->text, text->starts[spans[k].begin], text->starts[spans[k].end]), &part)) return false;
        if (!er_words_of(r->arena, &part, &words, &count)) return false;
        starts[k] = n;
        for (uint32_t i = 0; i < count; i++) {
            bool known = false;
            for (uint32_t j = starts[k]; j < n && !known; j++) known = er_same(stems[j], words[i].stem);
            if (!known) stems[n++] = words[i].stem;
        }
        for (; at < r->count && (k + 1 == clauses || r->units[at].begin < spans[k + 1].begin); at++) r->units[at].clause = (uint16_t)k;
    }
    starts[clauses] = n;
    reading->clause_stems = stems;
    reading->clause_starts = starts;
    reading->clauses = clauses;
    return true;
}

static bool comes_before(const er_piece *a, const er_piece *b) { return a->first < b->first || (a->first == b->first && a->last < b->last); }

/* By place; those of the same place stay as they were found. */
static void sort(er_piece *pieces, uint32_t count)
{
    for (uint32_t i = 1; i < count; i++) {
        const er_piece piece = pieces[i];
        uint32_t at = i;
        for (; at && comes_before(&piece, &pieces[at - 1]); at--) pieces[at] = pieces[at - 1];
        pieces[at] = piece;
    }
}

static bool put_matches(er_reader *r)
{
    er_reading *reading = r->reading;
    uint32_t n = 0;
    for (uint32_t kind = 0; kind < ER_PIECE_KINDS; kind++) {
        reading->match_starts[kind] = n;
        n += r->matches[kind].count;
    }
    reading->match_starts[ER_PIECE_KINDS] = n;
    er_match *all = ER_TAKE(r->arena, er_match, n + 1);
    if (!all) return false;
    for (uint32_t kind = 0; kind < ER_PIECE_KINDS; kind++)
        if (r->matches[kind].count) memcpy(all + reading->match_starts[kind], r->matches[kind].at, r->matches[kind].count * sizeof *all);
    reading->matches = all;
    return true;
}

/* What is known in English is of `language`, or of that which the text seems to be in. Where no word is known in such a
   language, there are no pieces. */
static bool read_as(er_arena *arena, const er_points *query, const er_language *language, er_reading *reading)
{
    er_reader reader = {.arena = arena, .reading = reading}, *r = &reader;
    memset(reading, 0, sizeof *reading);
    er_matcher_of(arena, &er_piece_book, &r->matcher);
    er_points *text = &reading->text;
    *text = *query;
    if (text->count > ER_MOST_READ) text->count = ER_MOST_READ;
    text->text.length = text->starts[text->count];
    er_view first;
    if (!er_said_of(arena, text->points, text->count, &r->said)) return false;
    if (!er_low_part(arena, &r->said, 0, text->count < ER_LOOKED_AT ? text->count : ER_LOOKED_AT, &first)) return false;
    bool sure;
    const er_language seems = er_language_by(&first, &sure);
    reading->language = language ? *language : seems;
    if (!er_cut_units(r)) return false;
    bool known = !language;
    for (uint32_t i = 0; i < r->count && !known; i++) known = !r->units[i].same;
    if (!known) return true;
    reading->language = seems;
    if (!find_clauses(r) || !er_find_matches(r) || !put_matches(r)) return false;
    finder f = {.r = r, .found = ER_TAKE(arena, er_piece, ER_MOST_PIECES), .negated = ER_TAKE(arena, uint8_t, r->count + 1)};
    if (!f.found || !f.negated || !find_corrections(&f)) return false;
    /* The first one that is full leaves out those behind it. */
    if (add_matches(&f) && add_streets(&f) && add_spoken(&f) && add_commands(&f) && add_between(&f)) add_told(&f);
    sort(f.found, f.count);
    reading->pieces = f.found;
    reading->piece_count = f.count;
    reading->units = r->units;
    reading->unit_count = r->count;
    return !r->matcher.failed && !(arena->error && arena->error->status);
}

er_text er_said_words(const er_reading *of, uint32_t first, uint32_t last)
{
    return er_cut(of->text.text, of->text.starts[of->units[first].begin], of->text.starts[of->units[last - 1].end]);
}

bool er_read_pieces(er_arena *arena, const er_points *query, er_reading *reading) { return read_as(arena, query, NULL, reading); }

/* ---- Answers of a few words ---- */

enum { MOST_ANSWER = 6 };
static const uint32_t whens[] = {ER_PIECE_DATE, ER_PIECE_TIME, ER_PIECE_MOMENT};

static bool is_idle(er_text word)
{
    static const char *const idle[] = {"", "the", "on", "at", "by", "to", "for", "of", "in"};
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        if (er_is(word, idle[i])) return true;
    return false;
}

/* Whether all words but small ones are days and times. */
static bool is_all_when(const er_reading *of)
{
    bool any = false;
    for (uint32_t i = 0; i < of->unit_count; i++) {
        bool within = false;
        for (size_t k = 0; k < sizeof whens / sizeof *whens; k++)
            for (uint32_t m = of->match_starts[whens[k]]; m < of->match_starts[whens[k] + 1]; m++)
                within |= of->matches[m].first <= i && i < of->matches[m].last;
        any |= within;
        const er_unit *unit = &of->units[i];
        if (!within && unit->is_word && !is_idle(unit->lower)) return false;
    }
    return any;
}

/* Whether all is a day or a time that English words name. */
static bool is_english(er_arena *arena, const er_reading *of)
{
    const er_now now = {.year = 2000, .month = 1, .day = 1};
    er_day day;
    er_time time;
    for (uint32_t k = 0; k < 2; k++)
        for (uint32_t m = of->match_starts[whens[k]]; m < of->match_starts[whens[k] + 1]; m++) {
            const er_text words = er_said_words(of, of->matches[m].first, of->matches[m].last);
            if (k ? !er_time_of(arena, words, ER_NO_HALF, &time) : !er_day_of(arena, words, &now, false, &day)) return false;
        }
    return is_all_when(of);
}

bool er_read_request(er_arena *arena, const er_points *query, er_reading *reading)
{
    static const er_language others[] = {ER_DE, ER_FR, ER_ES};
    if (!er_read_pieces(arena, query, reading)) return false;
    if (!reading->unit_count || reading->unit_count > MOST_ANSWER || reading->language != ER_EN || is_english(arena, reading)) return true;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        er_reading other;
        if (!read_as(arena, query, &others[i], &other)) return false;
        if (other.unit_count && is_all_when(&other)) return *reading = other, true;
    }
    return true;
}
