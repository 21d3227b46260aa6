/* How well each run of a request's words suits a parameter, by signs that are weighed (8.4): of its kind, of the words around
   it, of the tool's own. Weights were fitted on other people's requests. Knows nothing of outputs and of what becomes of values. */

#include "argument_weights.h"
#include "arguments.h"
#include "unicode.h"

#include <stdlib.h>

#define BIT(kind) (1u << ER_PIECE_##kind)
enum { WORDS = BIT(CHUNK) | BIT(HEAD) | BIT(TAIL) | BIT(JOINED) | BIT(NAME) | BIT(QUOTED) | BIT(REST) | BIT(CLAUSE) };
enum { WHENS = BIT(MOMENT) | BIT(DATE) | BIT(TIME), NUMBERS = BIT(NUMBER) | BIT(MEASURE) | BIT(MONEY) | BIT(DURATION) | BIT(PERCENT) };
enum { TOKENS = BIT(PHONE) | BIT(CODE) | BIT(PATH) | BIT(URL) | BIT(EMAIL) };

/* The kinds of pieces that a kind of parameter may take at all. */
static const uint32_t suits[ER_KINDS] = {
    [ER_KIND_EMAIL] = BIT(EMAIL),
    [ER_KIND_URL] = BIT(URL),
    [ER_KIND_PHONE] = BIT(PHONE),
    [ER_KIND_ID] = BIT(CODE) | BIT(NUMBER) | BIT(PATH) | BIT(QUOTED) | BIT(NAME),
    [ER_KIND_PATH] = WORDS | BIT(PATH) | BIT(URL) | BIT(CODE),
    [ER_KIND_DURATION] = BIT(DURATION) | BIT(MEASURE),
    [ER_KIND_WHEN] = WHENS | BIT(DURATION) | BIT(CHUNK) | BIT(REST),
    [ER_KIND_TEXT] = WORDS | BIT(TOLD) | BIT(SENTENCE),
    [ER_KIND_PLACE] = WORDS | BIT(CODE),
    [ER_KIND_PERSON] = WORDS | BIT(EMAIL) | BIT(ADDRESSEE),
    [ER_KIND_NUMBER] = NUMBERS,
    [ER_KIND_COMMAND] = BIT(COMMAND) | BIT(QUOTED) | BIT(TOLD),
    [ER_KIND_ANY] = WORDS | BIT(CODE) | BIT(PATH) | BIT(NUMBER) | BIT(TOLD) | BIT(MONEY) | BIT(MEASURE) | BIT(DATE) | BIT(DURATION) | BIT(ADDRESSEE),
};

enum { MOST_WHOLE = 3, LAST_LATIN = 0x24f, MOST_LENGTH = 8 };
static const double FAR = 12.0;
static const char *const articles = "the a an my our his her their your some \" “ # $ € ' ‘";

static bool is_whole(uint32_t kind) { return kind == ER_PIECE_TOLD || kind == ER_PIECE_COMMAND; } /* may hold any value */
static double sign(int which) { return er_signs[which] / 1000.0; }

/* ---- A request's words ---- */

er_text er_glossed_words(const er_reading *of, uint32_t first, uint32_t last)
{
    const uint32_t begin = of->units[first].english, end = of->units[last - 1].stop;
    return end <= begin ? (er_text){"", 0} : er_cut(of->english.text, of->english.starts[begin], of->english.starts[end]);
}

static uint32_t first_point(const er_reading *of, uint32_t unit) { return of->text.points[of->units[unit].begin]; }

static bool is_mark(const er_reading *of, uint32_t unit, const char *marks)
{
    const uint32_t c = first_point(of, unit);
    return of->units[unit].end - of->units[unit].begin == 1 && c < 128 && c && strchr(marks, (int)c);
}

static uint8_t leads_of(const er_reading *of, uint32_t first)
{
    uint8_t found = 0;
    while (found < ER_MOST_LEADS && found < first && !is_mark(of, first - 1 - found, ".!?;")) found++;
    return found;
}

/* Whether a piece shares units with a match of some kinds. */
static bool is_within(const er_reading *of, const er_piece *piece, uint32_t kinds)
{
    for (uint32_t kind = 0; kind < ER_PIECE_KINDS; kind++)
        for (uint32_t i = of->match_starts[kind]; kinds >> kind & 1 && i < of->match_starts[kind + 1]; i++)
            if (of->matches[i].first < piece->last && piece->first < of->matches[i].last) return true;
    return false;
}

bool er_is_inside(const er_reading *of, const er_piece *piece, uint32_t kinds, bool more)
{
    for (uint32_t kind = 0; kind < ER_PIECE_KINDS; kind++)
        for (uint32_t i = of->match_starts[kind]; kinds >> kind & 1 && i < of->match_starts[kind + 1]; i++) {
            const er_match *m = &of->matches[i];
            if (m->first <= piece->first && piece->last <= m->last && !(more && m->first == piece->first && m->last == piece->last)) return true;
        }
    return false;
}

/* ---- A call ---- */

static bool find_reached(er_suitor *s)
{
    const er_reading *of = s->reading;
    s->reached = -1;
    if (!s->earlier->said.count) return true;
    uint32_t *low = ER_TAKE(s->arena, uint32_t, 2 * (size_t)of->text.count + 1);
    if (!low) return false;
    const uint32_t count = er_lower(of->text.points, of->text.count, low);
    for (uint32_t k = 0; k < s->earlier->said.count; k++) {
        er_points value;
        if (!er_points_of(s->arena, s->earlier->said.words[k], &value)) return false;
        if (value.count < 2) continue;
        for (uint32_t i = 0; i + value.count <= count; i++)
            if (!memcmp(low + i, value.points, value.count * sizeof *low)) {
                if ((int64_t)(i + value.count) > s->reached) s->reached = i + value.count;
                break;
            }
    }
    return true;
}

bool er_suitor_of(er_arena *arena, const er_reading *of, const er_taking *tool, const er_earlier *earlier, const er_now *now, er_suitor *s)
{
    *s = (er_suitor){.arena = arena, .reading = of, .tool = tool, .earlier = earlier, .now = now};
    bool *own = ER_TAKE(arena, bool, of->unit_count + 1);
    double *near = ER_TAKE(arena, double, of->clauses + 1), most = 0.0;
    uint32_t *anchors = ER_TAKE(arena, uint32_t, of->unit_count + 1);
    if (!own || !near || !anchors || !find_reached(s)) return false;
    for (uint32_t c = 0; c < of->clauses; c++) {
        uint32_t named = 0, told = 0;
        for (uint32_t i = of->clause_starts[c]; i < of->clause_starts[c + 1]; i++) {
            named += er_has(tool->name, of->clause_stems[i]);
            told += er_has(tool->text, of->clause_stems[i]);
        }
        near[c] = named + 0.3 * told;
        most = near[c] > most ? near[c] : most;
    }
    for (uint32_t c = 0; c < of->clauses && most > 0.0; c++) near[c] /= most;
    s->ascii = true;
    for (uint32_t i = 0; i < of->text.count; i++) s->ascii &= of->text.points[i] < 128;
    for (uint32_t i = 0; i < of->unit_count; i++) {
        own[i] = of->units[i].stem.length && er_has(tool->name, of->units[i].stem);
        if (own[i]) anchors[s->anchor_count++] = i;
        s->points |= er_listed_in(of->units[i].lower, "that this these those same it");
    }
    for (uint32_t i = 0; i < tool->count; i++) s->dated |= tool->parameters[i].kind == ER_KIND_WHEN;
    s->own = own;
    s->near = near;
    s->anchors = anchors;
    return true;
}

/* ---- What cannot be a value ---- */

/* Of a run of plain words, without small words and the tool's own name in front of it. */
static void bound(const er_suitor *s, const er_piece *piece, uint16_t *first, uint16_t *last)
{
    const er_reading *of = s->reading;
    const bool brief = piece->kind == ER_PIECE_CHUNK || piece->kind == ER_PIECE_JOINED;
    const char *idle = brief ? articles : piece->kind == ER_PIECE_TOLD ? "that" : "the a an that";
    *first = piece->first;
    *last = piece->last;
    while (*first < *last && (!of->units[*first].is_word || er_listed_in(of->units[*first].lower, idle) || (brief && s->own[*first]))) ++*first;
    while (*last > *first && !of->units[*last - 1].is_word) --*last;
}

/* Whether a piece is "that game", or the news of "news of that show": which one, was said elsewhere. Not what somebody is told,
   nor who did what: "the mail that Mei sent". */
static bool is_pointed_at(const er_reading *of, const er_piece *piece, er_kind kind)
{
    static const char *const subjects = "i we you he she they it there the a an my our your his her their its no not nobody somebody everybody "
                                        "everyone everything all both if when what where how who";
    if (piece->leads && er_listed_in(of->units[piece->first - 1].lower, "that this these those same")) {
        const er_unit *first = &of->units[piece->first];
        er_text word = first->lower;
        for (size_t i = 0; i < word.length; i++)
            if (word.at[i] == '\'' || (i + 2 < word.length && !memcmp(word.at + i, "’", 3))) word.length = i;
        const bool told = kind == ER_KIND_TEXT && piece->last - piece->first > 1;
        const bool clause = er_category_of(first_point(of, piece->first)) != ER_LL || er_listed_in(word, subjects);
        return !er_is(of->units[piece->first - 1].lower, "that") || !(clause || told);
    }
    return piece->last + 1u < of->unit_count && er_is(of->units[piece->last].lower, "of") &&
           er_listed_in(of->units[piece->last + 1].lower, "that this these those same it");
}

/* Whether a piece cannot be whole: 150 of "150 pounds" for what counts in another unit, words of a script whose small words
   are not known, and all that was said. */
static bool is_cut(const er_suitor *s, const er_parameter *one, const er_piece *piece, bool any_script)
{
    const er_reading *of = s->reading;
    if (er_is_part(s, one, piece) || er_is_other_end(s, one, piece) || er_is_named_other(s, one, piece)) return true;
    const bool undated = one->kind == ER_KIND_ANY || one->kind == ER_KIND_PERSON || one->kind == ER_KIND_PLACE || one->kind == ER_KIND_TEXT;
    if (s->dated && undated && !is_whole(piece->kind) && er_is_inside(of, piece, WHENS, false)) return true;
    if (one->kind == ER_KIND_NUMBER || one->kind == ER_KIND_DURATION) {
        /* Seven of "tomorrow at seven" are no people. */
        const bool hours = one->has_unit && one->unit.dimension == ER_SECONDS;
        if (s->dated && one->kind == ER_KIND_NUMBER && !hours && er_is_inside(of, piece, BIT(MOMENT), false)) return true;
        return er_is_no_number(s, one, piece);
    }
    if (!er_is_plain_piece(piece->kind) && piece->kind != ER_PIECE_NAME) return false;
    if (!is_whole(piece->kind) && s->points && is_pointed_at(of, piece, one->kind)) return true;
    if (er_is_other_name(s->arena, of, one, piece) || er_lacks_number(s, one, piece)) return true;
    if (one->kind != ER_KIND_TEXT && !piece->first && piece->last + 1u >= of->unit_count && of->unit_count > MOST_WHOLE + 1) return true;
    for (uint32_t i = of->units[piece->first].begin; !s->ascii && !any_script && i < of->units[piece->last - 1].end; i++)
        if (of->text.points[i] > LAST_LATIN && er_is_letter(of->text.points[i])) return true;
    return false;
}

/* A number with the sign in front of it; false where it is a part of one: "twenty point five". */
static bool sign_it(const er_suitor *s, const er_piece *piece, er_text *said)
{
    static const char *const signs = "minus negative moins menos", *const points = "point comma komma virgule coma";
    const er_unit *units = s->reading->units;
    if (piece->last + 1u < s->reading->unit_count && er_listed_in(units[piece->last].lower, points)) return false;
    if (!piece->first) return true;
    const er_unit *before = &units[piece->first - 1];
    const uint32_t mark = first_point(s->reading, piece->first - 1u);
    const bool glued = before->end == units[piece->first].begin && (piece->first == 1 || units[piece->first - 2].end < before->begin);
    if (er_listed_in(before->lower, signs) || (glued && before->end - before->begin == 1 && (mark == '-' || mark == 0x2212))) {
        char *made = ER_TAKE(s->arena, char, said->length + 7);
        if (!made) return false;
        memcpy(made, "minus ", 6);
        if (said->length) memcpy(made + 6, said->at, said->length);
        *said = (er_text){made, said->length + 6};
        return true;
    }
    return !(er_listed_in(before->lower, points) && piece->first > 1);
}

/* ---- Signs ---- */

static uint32_t lead_number(er_text lead)
{
    uint32_t number = 0;
    for (const char *at = er_lead_words, *end; at; at = end ? end + 1 : NULL, number++) {
        end = strchr(at, ' ');
        const size_t length = end ? (size_t)(end - at) : strlen(at);
        if (length == lead.length && !memcmp(at, lead.at, length)) return number;
    }
    return ER_LEAD_OTHER;
}

/* The stem of a word in lower case, which for camel case is another one than that of the word as it stands; and "s" of 's. */
static er_text stem_of(const er_suitor *s, uint32_t unit)
{
    const er_unit *of = &s->reading->units[unit];
    const uint32_t *points = s->reading->text.points;
    er_text stem = of->stem;
    if (!of->is_word && of->end - of->begin > 1) er_first_word(s->arena, of->lower, &stem);
    for (uint32_t i = of->begin + 1; of->same && i < of->end; i++)
        if (points[i] - 'A' < 26u && (points[i - 1] - 'a' < 26u || points[i - 1] - '0' < 10u)) {
            er_first_word(s->arena, of->lower, &stem);
            break;
        }
    return stem;
}

static double lead_signs(const er_suitor *s, const er_parameter *one, const er_piece *piece)
{
    const er_unit *units = s->reading->units;
    uint32_t leads[2], count = 0;
    bool skipped = false;
    for (uint32_t i = 0; i < piece->leads && count < 2; i++) {
        const uint32_t unit = piece->first - 1 - i;
        if (!er_listed_in(units[unit].lower, articles)) {
            skipped |= i != count;
            leads[count++] = unit;
        }
    }
    const er_text lead = count ? units[leads[0]].lower : ER_TEXT("^");
    const uint32_t named = !count ? ER_LEAD_NONE : lead_number(lead);
    double sum = er_led[one->kind][named] / 1000.0 + er_led_any[named] / 1000.0;
    if (skipped) sum += sign(ER_SIGN_ARTICLE);
    if (count && er_has(one->led, lead)) sum += sign(ER_SIGN_LED) + er_led_of[one->kind] / 1000.0;
    bool cued = false, told = false, tool = false;
    for (uint32_t i = 0; i < count; i++) {
        const er_text stem = stem_of(s, leads[i]);
        if (!stem.length) continue;
        cued |= er_has(one->stems, stem);
        told |= er_has(one->told, stem);
        tool |= er_has(s->tool->name, stem);
    }
    if (cued) sum += sign(ER_SIGN_CUED);
    else if (told) sum += sign(ER_SIGN_TOLD_CUE);
    return tool ? sum + sign(ER_SIGN_BEHIND_TOOL) : sum;
}

static double word_signs(const er_suitor *s, const er_parameter *one, const er_piece *piece)
{
    const er_reading *of = s->reading;
    double sum = 0.0;
    bool within = false;
    for (uint32_t i = piece->first; i < piece->last; i++) within |= of->units[i].stem.length && er_has(one->stems, of->units[i].stem);
    if (within) {
        sum += sign(ER_SIGN_OWN_WITHIN);
        if (er_has(one->stems, of->units[piece->last - 1].stem)) sum += sign(ER_SIGN_OWN_LAST);
        if (er_has(one->stems, of->units[piece->first].stem)) sum += sign(ER_SIGN_OWN_FIRST);
    }
    const er_text behind = piece->last < of->unit_count ? of->units[piece->last].stem : ER_TEXT("");
    if (behind.length && er_has(one->stems, behind)) sum += sign(ER_SIGN_OWN_BEHIND);
    else if (behind.length && (er_has(one->told, behind) || s->own[piece->last])) sum += sign(ER_SIGN_TOLD_BEHIND);
    sum += sign(ER_SIGN_NEAR) * s->near[piece->clause];
    if (!s->anchor_count) return sum;
    uint32_t nearest = s->anchors[0];
    for (uint32_t i = 1; i < s->anchor_count; i++)
        if (abs((int)piece->first - (int)s->anchors[i]) < abs((int)piece->first - (int)nearest)) nearest = s->anchors[i];
    const double far = abs((int)piece->first - (int)nearest);
    sum += sign(piece->first > nearest ? ER_SIGN_BEHIND : ER_SIGN_BEFORE) * (far < FAR ? far : FAR) / FAR;
    return piece->first <= nearest && nearest < piece->last ? sum + sign(ER_SIGN_HOLDS_TOOL) : sum;
}

static bool is_part(er_text of, er_text part)
{
    for (size_t i = 0; i + part.length <= of.length; i++)
        if (!memcmp(of.at + i, part.at, part.length)) return true;
    return false;
}

/* Of what earlier calls took. */
static double earlier_signs(const er_suitor *s, const er_parameter *one, er_text said, const er_json *value)
{
    const er_earlier *e = s->earlier;
    er_text low, shown, shown_low;
    double sum = 0.0;
    if (!e->said.count || !er_lowered(s->arena, said, &low) || !er_json_shown(s->arena, value, &shown) || !er_lowered(s->arena, shown, &shown_low)) return 0.0;
    bool named = false, same = false;
    for (uint32_t i = 0; i < e->named_count; i++) {
        if (!er_same(e->named_names[i], one->name)) continue;
        named = true;
        same |= er_same(e->named_values[i], low) || er_same(e->named_values[i], shown_low);
    }
    if (named) sum += sign(same ? ER_SIGN_SAME_NAME : ER_SIGN_NOT_SAME_NAME);
    if (er_has(e->taken, low) || er_has(e->taken, shown_low)) return sum + sign(ER_SIGN_TAKEN);
    if (er_has(e->said, low) || er_has(e->said, shown_low)) return sum + sign(ER_SIGN_SAID) + er_said_of[one->kind] / 1000.0;
    for (uint32_t i = 0; i < e->said.count; i++) {
        uint32_t length = 0;
        for (size_t k = 0; k < e->said.words[i].length; k++) length += (e->said.words[i].at[k] & 0xc0) != 0x80;
        if (length > 3 && (is_part(low, e->said.words[i]) || is_part(e->said.words[i], low))) return sum + sign(ER_SIGN_PART_OF_SAID);
    }
    return sum;
}

/* Whether only articles stand between the first word of a clause and a piece. */
static bool is_behind_verb(const er_reading *of, const er_piece *piece)
{
    int64_t at = (int64_t)piece->first - 1;
    while (at > 0 && er_listed_in(of->units[at].lower, articles)) at--;
    return at >= 0 && of->units[at].is_word && (!at || of->units[at - 1].clause != of->units[at].clause);
}

static bool ends_in(er_text word, const char *with)
{
    const size_t length = strlen(with);
    return word.length >= length && !memcmp(word.at + word.length - length, with, length);
}

/* Whether it is a street with its number. */
static bool has_house(const er_reading *of, const er_piece *piece)
{
    if (piece->kind != ER_PIECE_NAME) return false;
    bool digit = false;
    for (uint32_t i = of->units[piece->first].begin; i < of->units[piece->first].end; i++) digit |= er_is_decimal(of->text.points[i]);
    for (uint32_t i = of->units[piece->last - 1].begin; i < of->units[piece->last - 1].end; i++) digit |= er_is_decimal(of->text.points[i]);
    return digit && er_is_street(of->units, piece->first, piece->last);
}

static double plain_signs(const er_suitor *s, const er_parameter *one, const er_piece *piece)
{
    const er_reading *of = s->reading;
    const uint32_t length = piece->last - piece->first, most = length < MOST_LENGTH ? length : MOST_LENGTH;
    double sum = (one->kind == ER_KIND_TEXT ? er_long : er_any_long)[most] / 1000.0;
    bool all = true;
    for (uint32_t i = piece->first; i < piece->last; i++) all &= !of->units[i].stem.length || er_has(s->tool->text, of->units[i].stem);
    if (all) sum += sign(ER_SIGN_TOOLS_WORDS);
    if (!is_whole(piece->kind)) {
        if (is_within(of, piece, WHENS)) sum += sign(ER_SIGN_WHEN_WITHIN);
        if (is_within(of, piece, NUMBERS) && !has_house(of, piece)) sum += sign(ER_SIGN_NUMBER_WITHIN);
        if (is_within(of, piece, TOKENS)) sum += sign(ER_SIGN_TOKEN_WITHIN);
    }
    if (piece->kind != ER_PIECE_NAME && is_within(of, piece, BIT(NAME))) sum += er_name_of[one->kind] / 1000.0 + sign(ER_SIGN_NAME_WITHIN);
    if (is_within(of, piece, BIT(QUOTED))) sum += sign(ER_SIGN_QUOTATION);
    const er_text last = of->units[piece->last - 1].lower;
    if (ends_in(last, "ing") || ends_in(last, "ed")) sum += sign(ER_SIGN_LIKE_VERB);
    if (!piece->first) sum += sign(ER_SIGN_BEGINS_ALL);
    if (is_behind_verb(of, piece)) sum += sign(ER_SIGN_BEHIND_VERB);
    if (piece->last >= of->unit_count || of->units[piece->last].clause != piece->clause) sum += sign(ER_SIGN_ENDS_CLAUSE);
    return sum;
}

static double value_signs(const er_suitor *s, const er_parameter *one, const er_piece *piece)
{
    const er_reading *of = s->reading;
    const uint32_t kind = piece->kind;
    double sum = 0.0;
    if ((kind == ER_PIECE_DATE || kind == ER_PIECE_TIME) && one->part) sum += sign(ER_SIGN_ITS_PART);
    else if ((kind == ER_PIECE_DATE || kind == ER_PIECE_TIME) && is_within(of, piece, BIT(MOMENT))) sum += sign(ER_SIGN_PART_OF_MOMENT);
    if ((kind == ER_PIECE_NUMBER || kind == ER_PIECE_MEASURE) && is_within(of, piece, WHENS | TOKENS)) sum += sign(ER_SIGN_PART_OF_TOKEN);
    if (kind == ER_PIECE_NUMBER && is_within(of, piece, BIT(DURATION) | BIT(PERCENT) | BIT(MEASURE))) sum += sign(ER_SIGN_PART_OF_MEASURE);
    if (one->kind == ER_KIND_NUMBER && one->has_unit && kind != ER_PIECE_NUMBER) sum += sign(ER_SIGN_OF_UNIT);
    if (s->reached >= 0) return sum + sign((int64_t)of->units[piece->first].begin >= s->reached ? ER_SIGN_BEHIND_SAID : ER_SIGN_IN_FRONT);
    return sum + er_in_clause[piece->clause < 3 ? piece->clause : 3][s->earlier->said.count != 0] / 1000.0;
}

static double sum_of(const er_suitor *s, const er_parameter *one, const er_piece *piece, er_text said, const er_json *value)
{
    double sum = er_suits[one->kind][piece->kind] / 1000.0 + er_suits_any[piece->kind] / 1000.0 + lead_signs(s, one, piece);
    er_text shape;
    if (one->shapes.count && er_shape_of(s->arena, said, &shape) && er_has(one->shapes, shape)) sum += sign(ER_SIGN_SHAPE);
    sum += word_signs(s, one, piece) + earlier_signs(s, one, said, value);
    if (er_is_plain_piece(piece->kind) || piece->kind == ER_PIECE_NAME) sum += plain_signs(s, one, piece);
    return sum + value_signs(s, one, piece);
}

double er_absent_of(const er_parameter *one)
{
    const int16_t own = (one->required ? er_absent_required : er_absent_optional)[one->kind];
    return sign(one->required ? ER_SIGN_ABSENT_REQUIRED : ER_SIGN_ABSENT_OPTIONAL) + er_absent_of_kind[one->kind] / 1000.0 + own / 1000.0 +
           sign(one->many ? ER_SIGN_ABSENT_MANY : ER_SIGN_ABSENT_ONE);
}

void er_shares(double *scores, uint32_t count)
{
    double most = count ? scores[0] : 0.0, total = 0.0;
    for (uint32_t i = 0; i < count; i++) most = scores[i] > most ? scores[i] : most;
    for (uint32_t i = 0; i < count; i++) total += scores[i] = exp(scores[i] - most);
    for (uint32_t i = 0; i < count; i++) scores[i] /= total;
}

/* ---- All of them ---- */

/* False: no value, or no memory. */
static bool judge(const er_suitor *s, const er_parameter *one, const er_piece *piece, er_fit *fit)
{
    er_text said, english;
    if (!er_text_of_piece(s->arena, s->reading, piece, &said, &english)) return false;
    if (one->kind == ER_KIND_NUMBER && !sign_it(s, piece, &english)) return false;
    er_now room;
    bool past;
    const er_now *now = er_counted_from(s, one, piece, &room, &past);
    const er_around around = er_around_of(s->reading, piece, past);
    const er_json *value = er_form_value(s->arena, said, english, &around, piece->kind, one, now);
    if (!value) return false;
    *fit = (er_fit){sum_of(s, one, piece, said, value), *piece, value};
    return true;
}

bool er_fit_of(const er_suitor *s, const er_parameter *one, uint32_t first, uint32_t last, bool any_script, er_fit *fit, bool *there)
{
    const er_reading *of = s->reading;
    *there = false;
    while (last > first && !of->units[last - 1].is_word && is_mark(of, last - 1, ",.;:!?")) last--;
    while (first < last && !of->units[first].is_word && is_mark(of, first, ",.;:!?")) first++;
    if (first >= last) return true;
    for (uint32_t i = 0; i < of->piece_count; i++)
        if (of->pieces[i].taken && of->pieces[i].first <= first && last <= of->pieces[i].last) return true;
    const er_piece piece = {.first = (uint16_t)first, .last = (uint16_t)last, .clause = of->units[first].clause, .kind = ER_PIECE_CHUNK, .leads = leads_of(of, first)};
    *there = !is_cut(s, one, &piece, any_script) && judge(s, one, &piece, fit);
    return !(s->arena->error && s->arena->error->status);
}

static bool is_seen(const er_piece *seen, uint32_t count, const er_piece *piece)
{
    for (uint32_t i = count; i--;)
        if (seen[i].kind == piece->kind && seen[i].first == piece->first && seen[i].last == piece->last) return true;
    return false;
}

bool er_fits_of(const er_suitor *s, const er_parameter *one, const float *spans, const er_fit **found, uint32_t *count)
{
    const er_reading *of = s->reading;
    const uint32_t not_of_part = one->part == 'd' ? BIT(MOMENT) | BIT(TIME) | BIT(DURATION) : one->part == 't' ? BIT(MOMENT) | BIT(DATE) | BIT(DURATION) : 0;
    const uint32_t takes = suits[one->kind] & ~not_of_part;
    const bool ends = one->kind == ER_KIND_NUMBER && er_json_get(one->schema, "maximum") && of->match_starts[ER_PIECE_NUMBER] == of->match_starts[ER_PIECE_NUMBER + 1];
    uint32_t n = 0, seen_count = 0;
    er_fit *fits = ER_TAKE(s->arena, er_fit, of->piece_count + of->unit_count + 1);
    er_piece *seen = ER_TAKE(s->arena, er_piece, of->piece_count + of->unit_count + 1);
    if (!fits || !seen) return false;
    for (uint32_t i = 0; i < of->piece_count + (ends ? of->unit_count : 0); i++) {
        er_piece piece;
        if (i < of->piece_count) piece = of->pieces[i];
        else { /* words for an end of the scale, where no number is said: "mute it" */
            const uint16_t at = (uint16_t)(i - of->piece_count);
            if (!er_is_extreme(of->units[at].lower)) continue;
            piece = (er_piece){.first = at, .last = (uint16_t)(at + 1), .clause = of->units[at].clause, .kind = ER_PIECE_NUMBER, .leads = leads_of(of, at)};
        }
        if (!(takes >> piece.kind & 1) || piece.taken) continue;
        if (er_is_plain_piece(piece.kind)) {
            uint16_t first, last;
            bound(s, &piece, &first, &last);
            const uint32_t leads = (uint32_t)(first - piece.first) + piece.leads;
            if (first != piece.first) piece.leads = (uint8_t)(leads < ER_MOST_LEADS ? leads : ER_MOST_LEADS);
            piece.first = first;
            piece.last = last;
        }
        if (piece.first >= piece.last || is_seen(seen, seen_count, &piece)) continue;
        const uint32_t length = piece.last - piece.first;
        if (spans && length <= ER_ARG_LONGEST && spans[piece.first * ER_ARG_LONGEST + length - 1] < -12.0f) continue;
        seen[seen_count++] = piece;
        if (is_cut(s, one, &piece, false) || !judge(s, one, &piece, &fits[n])) continue;
        n++;
    }
    if (s->arena->error && s->arena->error->status) return false;
    for (uint32_t i = 1; i < n; i++) { /* the order of equals stays */
        const er_fit fit = fits[i];
        uint32_t k = i;
        for (; k && (fit.score > fits[k - 1].score || (fit.score == fits[k - 1].score && fit.piece.first < fits[k - 1].piece.first)); k--) fits[k] = fits[k - 1];
        fits[k] = fit;
    }
    *found = fits;
    *count = n;
    return true;
}
