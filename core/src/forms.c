/* Words as a parameter's schema wants them: numbers in its unit, days and times by a clock, texts. Knows nothing of requests
   and of which words are meant. */

#include "arguments.h"
#include "format.h"
#include "pieces_parts.h"
#include "regex.h"
#include "unicode.h"
#include "words.h"

bool er_is_blank_text(er_text text)
{
    for (size_t i = 0; i < text.length;)
        if (!er_is_space(er_point_at(text, &i))) return false;
    return true;
}

/* ---- Which form a description wants ---- */

bool er_forms_of(er_arena *arena, er_parameter *one)
{
    static const char *const named = "YYYY[-/]MM[-/]DD(?:[T ]HH:MM(?::SS)?)?|MM[-/]DD[-/]YYYY|DD[-/.]MM[-/.]YYYY|HH:MM(?::SS)?";
    static const char *const shown = "\\d{4}-\\d\\d-\\d\\d(?:[T ]\\d\\d:\\d\\d(?::\\d\\d)?)?";
    const er_json *format = er_json_get(one->schema, "format");
    er_points points;
    er_span span;
    if ((format && format->kind != ER_JSON_NULL) || !one->described.length) return true;
    const er_regex *of = er_regex_of(arena, (er_text){named, strlen(named)}, ER_REGEX_CASELESS);
    if (!of || !er_points_of(arena, one->described, &points)) return false;
    if (er_regex_search(of, &points, 0, &span, NULL)) {
        char *made = ER_TAKE(arena, char, span.end - span.begin + 1);
        if (!made) return false;
        for (uint32_t i = span.begin; i < span.end; i++) {
            const uint32_t c = points.points[i];
            made[i - span.begin] = (char)(c - 'a' < 26u ? c - 32 : c);
        }
        one->form = (er_text){made, span.end - span.begin};
    }
    if (one->kind != ER_KIND_WHEN || !(of = er_regex_of(arena, (er_text){shown, strlen(shown)}, 0))) return one->kind != ER_KIND_WHEN;
    for (uint32_t from = 0; er_regex_search(of, &points, from, &span, NULL); from = span.begin + 1) {
        const bool begins = span.begin && (er_is_word(points.points[span.begin - 1]) || points.points[span.begin - 1] == '-');
        const uint32_t length = span.end - span.begin, ends[] = {length, length > 16 ? 16 : 10, 10};
        for (int k = 0; k < 3 && !begins; k++) { /* as long as nothing runs on behind it */
            const uint32_t end = span.begin + ends[k];
            if (end < points.count && (er_is_word(points.points[end]) || points.points[end] == '-')) continue;
            const bool space = ends[k] > 10 && points.points[span.begin + 10] == ' ';
            one->shown_form = ends[k] == 10 ? ER_TEXT("YYYY-MM-DD")
                              : ends[k] == 16 ? (space ? ER_TEXT("YYYY-MM-DD HH:MM") : ER_TEXT("YYYY-MM-DDTHH:MM"))
                                              : (space ? ER_TEXT("YYYY-MM-DD HH:MM:SS") : ER_TEXT("YYYY-MM-DDTHH:MM:SS"));
            return true;
        }
    }
    return true;
}

/* ---- Days and times ---- */

static bool made_text(er_arena *arena, const char *text, er_text *found)
{
    const size_t length = strlen(text);
    char *made = ER_TAKE(arena, char, length + 1);
    if (!made) return false;
    memcpy(made, text, length);
    *found = (er_text){made, length};
    return true;
}

/* The only day that words speak of, and the only time. */
static bool read_when(er_arena *arena, er_text said, er_reading *reading)
{
    er_points points;
    return er_points_of(arena, said, &points) && er_read_pieces(arena, &points, reading);
}

static uint32_t count_of(const er_reading *of, er_piece_kind kind) { return of->match_starts[kind + 1] - of->match_starts[kind]; }

static er_text words_of(const er_reading *of, er_piece_kind kind)
{
    const er_match *match = &of->matches[of->match_starts[kind]];
    return er_said_words(of, match->first, match->last);
}

/* "In 20 minutes" and "two hours from now", with a clock. */
static bool later_of(er_arena *arena, er_text said, const er_now *now, er_day *day, er_time *time)
{
    enum { MOST = 31 * 86400 };
    er_amount amount;
    er_text text;
    if (!now || !er_lower_text(arena, said, &text)) return false;
    if (text.length > 3 && !memcmp(text.at, "in ", 3)) text = er_cut(text, 3, text.length);
    else if (text.length > 9 && !memcmp(text.at + text.length - 9, " from now", 9)) text = er_cut(text, 0, text.length - 9);
    else return false;
    if (!er_amount_of(arena, text, &amount) || amount.dimension != ER_SECONDS) return false;
    for (; amount.scale; amount.scale--) amount.mantissa /= 10;
    if (amount.mantissa < 0 || amount.mantissa > MOST) return false;
    const int64_t at = (now->hour * 60 + now->minute) * 60 + now->second + amount.mantissa;
    *time = (er_time){(uint8_t)(at / 3600 % 24), (uint8_t)(at / 60 % 60), (uint8_t)(at % 60)};
    return er_day_ahead(now, (int)(at / 86400), day);
}

static int seconds_of(const er_time *time) { return (time->hour * 60 + time->minute) * 60 + time->second; }

static bool clock_of(er_arena *arena, er_text said, const er_now *now, er_time *time)
{
    er_day unused;
    return later_of(arena, said, now, &unused, time) || er_time_of(arena, said, ER_NO_HALF, time);
}

/* "I took it at 7 am". A word too many costs no more than that an hour which is over stays today's. */
static bool is_of_past(er_text word)
{
    static const char *const past = "was were had did took ate ran slept woke began left got gave went came saw fell felt drank log record note "
                                    "habe hat hatte war wurde ai \xc3\xa9tais \xc3\xa9tait pris fue era tom\xc3\xa9";
    enum { BED = 4 };
    return er_listed_in(word, past) || (er_length_of(word) > BED && word.at[word.length - 1] == 'd' && word.at[word.length - 2] == 'e');
}

/* Whether an hour that is over today is tomorrow's. */
static bool looks_ahead(const er_around *around)
{
    const er_reading *of = around->of;
    if (around->past || count_of(of, ER_PIECE_TIME) > 1) return false;
    for (uint32_t i = 0; i < of->unit_count; i++)
        if (is_of_past(of->units[i].lower)) return false;
    return true;
}

/* The day of a time that was said without one: the next that has it still ahead. "7:30" may be in the evening, so where only its
   morning is over it names none. */
static bool day_of_time(er_arena *arena, er_text said, const er_time *time, const er_now *now, const er_around *around, er_day *day)
{
    er_time evening;
    const int since = (now->hour * 60 + now->minute) * 60 + now->second;
    if (seconds_of(time) >= since || !looks_ahead(around)) return er_day_ahead(now, 0, day);
    if (er_time_of(arena, said, ER_AFTERNOON, &evening) && seconds_of(&evening) >= since) return false;
    return er_day_ahead(now, 1, day);
}

enum { LONGEST = 200 }; /* characters that name a moment; a text of more would be read for each of its runs */

static bool moment_of(er_arena *arena, er_text said, const er_around *around, const er_now *now, er_text *found)
{
    er_reading reading;
    er_day day;
    er_time time;
    char room[64], zone[16] = "";
    if (er_has_format(arena, "date-time", said)) return *found = said, true;
    if (er_length_of(said) > LONGEST || !read_when(arena, said, &reading) || count_of(&reading, ER_PIECE_TIME) != 1 || count_of(&reading, ER_PIECE_DATE) > 1) return false;
    const er_text clock = words_of(&reading, ER_PIECE_TIME), on = count_of(&reading, ER_PIECE_DATE) ? words_of(&reading, ER_PIECE_DATE) : around->day;
    const bool dated = on.length;
    if (dated || !later_of(arena, clock, now, &day, &time)) {
        if (!er_time_of(arena, clock, er_half_of(arena, on), &time)) return false;
        if (dated ? !er_day_of(arena, on, now, around->past, &day) : !now || !day_of_time(arena, clock, &time, now, around, &day)) return false;
    }
    if (now && now->zoned) er_format(zone, sizeof zone, "%c%02d:%02d", now->zone < 0 ? '-' : '+', (now->zone < 0 ? -now->zone : now->zone) / 60 % 100, (now->zone < 0 ? -now->zone : now->zone) % 60);
    er_format(room, sizeof room, "%04d-%02d-%02dT%02d:%02d:%02d%s", day.year, day.month, day.day, time.hour, time.minute, time.second, zone);
    return made_text(arena, room, found);
}

static bool day_of(er_arena *arena, er_text said, const er_now *now, bool past, bool within, er_day *day)
{
    er_reading reading;
    return er_day_of(arena, said, now, past, day) || (within && er_length_of(said) <= LONGEST && read_when(arena, said, &reading) && count_of(&reading, ER_PIECE_DATE) == 1 &&
                                                      er_day_of(arena, words_of(&reading, ER_PIECE_DATE), now, past, day));
}

static bool is_in(er_text text, const char *part)
{
    const size_t length = strlen(part);
    for (size_t i = 0; i + length <= text.length; i++)
        if (!memcmp(text.at + i, part, length)) return true;
    return false;
}

/* In the form of ISO 8601. */
static bool iso(er_arena *arena, er_text said, const er_around *around, er_text format, const er_now *now, er_text *found)
{
    char room[32];
    er_day day;
    er_time time;
    if (er_is(format, "time")) {
        if (!clock_of(arena, said, now, &time)) return false;
        er_format(room, sizeof room, "%02d:%02d:%02d", time.hour, time.minute, time.second);
        return made_text(arena, room, found);
    }
    if (er_is(format, "date-time")) return moment_of(arena, said, around, now, found);
    if (!day_of(arena, said, now, around->past, true, &day)) return false;
    er_format(room, sizeof room, "%04d-%02d-%02d", day.year, day.month, day.day);
    return made_text(arena, room, found);
}

/* In a form as a description names it. */
static bool as_named(er_arena *arena, er_text said, const er_around *around, er_text form, const er_now *now, er_text *found)
{
    char room[64];
    er_day day;
    er_time time;
    if (form.at[0] == 'H') {
        if (!clock_of(arena, said, now, &time)) return false;
        er_format(room, sizeof room, form.length > 5 ? "%02d:%02d:%02d" : "%02d:%02d", time.hour, time.minute, time.second);
        return made_text(arena, room, found);
    }
    if (is_in(form, "HH")) {
        er_text whole;
        if (!moment_of(arena, said, around, now, &whole)) return false;
        const size_t length = whole.length < form.length ? whole.length : form.length;
        char *made = ER_TAKE(arena, char, length + 1);
        for (size_t i = 0; made && i < length; i++) made[i] = whole.at[i] == 'T' ? form.at[10] : whole.at[i];
        *found = (er_text){made, length};
        return made != NULL;
    }
    if (!day_of(arena, said, now, around->past, false, &day)) return false;
    size_t n = 0;
    for (size_t i = 0; i < form.length && n + 5 < sizeof room;) {
        const char c = form.at[i];
        if (c == 'Y') n += er_format(room + n, sizeof room - n, "%04d", day.year), i += 4;
        else if (c == 'M') n += er_format(room + n, sizeof room - n, "%02d", day.month), i += 2;
        else if (c == 'D') n += er_format(room + n, sizeof room - n, "%02d", day.day), i += 2;
        else room[n++] = c, i++;
    }
    room[n] = 0;
    return made_text(arena, room, found);
}

/* A length of time as ISO 8601 writes it. */
static bool iso_duration(er_arena *arena, er_text said, er_text *found)
{
    er_amount amount;
    char room[96];
    size_t n = 0;
    if (!er_amount_of(arena, said, &amount) || (amount.dimension != ER_SECONDS && amount.dimension != ER_MONTHS)) return false;
    for (; amount.scale; amount.scale--, amount.mantissa /= 10)
        if (amount.mantissa % 10) return false;
    if (amount.dimension == ER_MONTHS) er_format(room, sizeof room, "P%lldM", (long long)amount.mantissa);
    else {
        const long long days = amount.mantissa / 86400, rest = amount.mantissa % 86400, parts[] = {rest / 3600, rest % 3600 / 60, rest % 60};
        n = er_format(room, sizeof room, "P");
        if (days) n += er_format(room + n, sizeof room - n, "%lldD", days);
        if (rest) n += er_format(room + n, sizeof room - n, "T");
        for (int i = 0; i < 3; i++)
            if (parts[i]) n += er_format(room + n, sizeof room - n, "%lld%c", parts[i], "HMS"[i]);
        if (!amount.mantissa) er_format(room, sizeof room, "PT0S");
    }
    return made_text(arena, room, found);
}

/* ---- Numbers ---- */

static bool is_loud(er_text word) { return er_listed_in(word, "max maximum full highest loudest brightest"); }
bool er_is_extreme(er_text word) { return is_loud(word) || er_listed_in(word, "minimum lowest quietest mute muted muting silent silence"); }

/* An end of a scale from 0 on, such as a loudness in per cent; of what counts in a unit nobody says it so. */
static const er_json *extreme(er_arena *arena, er_text said, const er_parameter *one)
{
    er_points points;
    er_text low;
    uint32_t room[32];
    const er_json *least = er_json_get(one->schema, "minimum");
    if (said.length > 15 || !er_points_of(arena, said, &points) || !er_text_of(arena, room, er_lower(points.points, points.count, room), &low)) return NULL;
    if (!er_is_extreme(low) || !least || least->kind != ER_JSON_NUMBER || least->number != 0.0 ||
        (one->has_unit && one->unit.dimension != ER_PERCENT))
        return NULL;
    return er_json_get(one->schema, is_loud(low) ? "maximum" : "minimum");
}

static const double tens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18};

/* A measure in another unit, to a thousandth; NULL where none makes the other: what a euro has in dollars, nobody says here. */
static const er_json *made_form(er_arena *arena, const er_amount *amount, const er_parameter *one)
{
    static const struct { uint8_t from, to; double times; } made[] = {{ER_POUNDS_WEIGHT, ER_GRAMS, 453.59237}, {ER_MILES, ER_METRES, 1609.344}};
    const er_amount *factor = &one->unit.factor;
    for (size_t i = 0; i < sizeof made / sizeof *made; i++) {
        const bool there = amount->dimension == made[i].from && one->unit.dimension == made[i].to;
        if (!there && (amount->dimension != made[i].to || one->unit.dimension != made[i].from)) continue;
        const double said = (double)amount->mantissa / tens[amount->scale];
        const double told = there ? said * made[i].times : said / made[i].times;
        const double thousandths = rint(told / ((double)factor->mantissa / tens[factor->scale]) * 1000.0);
        const bool whole = fmod(thousandths, 1000.0) == 0.0;
        if (thousandths == 0.0 || fabs(thousandths) >= 1e12) return NULL;
        if (!whole && er_is(er_schema_text(one->schema, "type"), "integer")) return NULL;
        return er_json_number(arena, thousandths / 1000.0, whole);
    }
    return NULL;
}

static const er_json *number_form(er_arena *arena, er_text said, uint32_t kind, const er_parameter *one)
{
    er_amount amount;
    if (!er_amount_of(arena, said, &amount)) return extreme(arena, said, one);
    int64_t over = amount.mantissa, under = 1;
    int scale = amount.scale; /* over / under · 10^-scale */
    if (amount.dimension != ER_NO_UNIT && one->has_unit) {
        const char end = said.at[said.length - 1] | 0x20, before = said.length > 1 ? said.at[said.length - 2] | 0x20 : ' ';
        const bool money = one->unit.dimension >= ER_EURO && one->unit.dimension <= ER_POUND && amount.dimension == ER_METRES;
        if (money && (end == 'k' || end == 'm') && !(before >= 'a' && before <= 'z')) { /* "350k" is 350,000 metres, too */
            if (end == 'm') scale -= 6;
        } else if (amount.dimension != one->unit.dimension) {
            return made_form(arena, &amount, one);
        }
        under = one->unit.factor.mantissa;
        scale -= one->unit.factor.scale;
    } else if ((amount.dimension == ER_SECONDS || amount.dimension == ER_MONTHS) && (kind == ER_PIECE_DURATION || kind == ER_PIECE_MEASURE)) {
        return NULL; /* a length of time for what counts something else */
    }
    if (!under) return NULL;
    for (; scale > 0 && over % 10 == 0 && over; scale--) over /= 10;
    for (; scale < 0 && over < INT64_MAX / 10 && over > INT64_MIN / 10; scale++) over *= 10;
    if (scale > 0 && over) { /* what both have of tens and of each other is none */
        for (int64_t a = over < 0 ? -over : over, b = under; b;) {
            const int64_t rest = a % b;
            a = b, b = rest;
            if (!b) over /= a, under /= a;
        }
    }
    const bool whole = scale <= 0 ? over % under == 0 : over == 0;
    if (er_is(er_schema_text(one->schema, "type"), "integer") && !whole) return NULL;
    if (scale < -18 || scale > 18) return NULL;
    const double number = scale > 0 ? (double)over / ((double)under * tens[scale]) : (double)over / (double)under * tens[-scale];
    return er_json_number(arena, number, whole);
}

/* ---- What stands around a time ---- */

static bool is_idle(const er_unit *unit) { return er_listed_in(unit->lower, "on at the and"); }

/* Whether a clause has no other words: "On Friday, remind me …". */
static bool is_alone(const er_reading *of, uint32_t first, uint32_t last)
{
    for (uint32_t i = 0; i < of->unit_count; i++)
        if ((i < first || i >= last) && of->units[i].clause == of->units[first].clause && of->units[i].is_word && !is_idle(&of->units[i])) return false;
    return true;
}

static er_text day_around(const er_reading *of, const er_piece *piece)
{
    static const er_text none = {"", 0};
    const er_unit *units = of->units;
    if (piece->kind != ER_PIECE_TIME || count_of(of, ER_PIECE_DATE) != 1) return none;
    const er_match *day = &of->matches[of->match_starts[ER_PIECE_DATE]];
    bool beside = true; /* "for next Friday, 10:30" is not 10:30 of another day */
    uint32_t first, last;
    er_hours_of(of, piece, &first, &last);
    for (uint32_t i = day->last <= first ? day->last : last; i < (day->last <= first ? first : day->first); i++)
        beside &= er_listed_in(units[i].lower, "on at the ,");
    if (beside) return er_glossed_words(of, day->first, day->last);
    /* Another thing's: "Friday's bread", "the report for Friday". */
    if (day->last < of->unit_count && er_listed_in(units[day->last].lower, "'s ’s")) return none;
    if (day->first && er_listed_in(units[day->first - 1].lower, "for of from until till by since before after about to")) return none;
    for (uint32_t i = 0; i < of->piece_count; i++) { /* told to somebody */
        const er_piece *one = &of->pieces[i];
        const bool told = one->kind == ER_PIECE_TOLD || one->kind == ER_PIECE_QUOTED || one->kind == ER_PIECE_COMMAND || one->kind == ER_PIECE_SENTENCE;
        bool begins = true;
        for (uint32_t k = one->first; k < day->first; k++) begins &= is_idle(&units[k]);
        if (begins) continue; /* "remind me on Friday about the tax": told by mistake */
        if (told && one->first <= day->first && day->last <= one->last && !(one->first < piece->last && piece->first < one->last)) return none;
    }
    if (units[day->first].clause != piece->clause && !is_alone(of, day->first, day->last) && !is_alone(of, piece->first, piece->last)) return none;
    return er_glossed_words(of, day->first, day->last);
}

er_around er_around_of(const er_reading *of, const er_piece *piece, bool past) { return (er_around){day_around(of, piece), past, of}; }

/* ---- What an id is not ---- */

bool er_is_other_name(er_arena *arena, const er_reading *of, const er_parameter *one, const er_piece *piece)
{
    static const char *const ids[] = {"id", "ids", "identifier", "uuid", "guid"};
    er_text shape;
    bool named = false, worded = false;
    if (one->kind != ER_KIND_ID || piece->kind != ER_PIECE_NAME) return false;
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) named |= er_has(one->stems, (er_text){ids[i], strlen(ids[i])});
    for (uint32_t i = of->units[piece->first].begin; i < of->units[piece->last - 1].end; i++) {
        if (er_is_decimal(of->text.points[i])) return false;
        worded |= er_category_of(of->text.points[i]) == ER_LL; /* "SEA" may be one, and what is like an example */
    }
    return named && worded && !(one->shapes.count && er_shape_of(arena, er_said_words(of, piece->first, piece->last), &shape) && er_has(one->shapes, shape));
}

/* ---- The whole ---- */

static bool text_form(er_arena *arena, er_text said, er_text english, const er_around *around, const er_parameter *one, const er_now *now, er_text *found)
{
    const er_text format = er_schema_text(one->schema, "format");
    *found = said;
    if (one->form.length) return as_named(arena, english, around, one->form, now, found) || (*found = said, one->kind != ER_KIND_WHEN);
    if (er_is(format, "date") || er_is(format, "time") || er_is(format, "date-time")) return iso(arena, english, around, format, now, found);
    if (er_is(format, "duration")) return iso_duration(arena, english, found);
    if (!one->shown_form.length || as_named(arena, english, around, one->shown_form, now, found)) return true;
    *found = said;
    return !er_has_format(arena, "date", english); /* 2022-13-45 */
}

const er_json *er_form_value(er_arena *arena, er_text said, er_text english, const er_around *around, uint32_t kind, const er_parameter *one, const er_now *now)
{
    const er_json *value;
    if (er_is_reference(said, NULL)) return NULL; /* who says "$out_1" gets no output by that */
    if (one->kind == ER_KIND_NUMBER) {
        value = number_form(arena, english, kind, one);
    } else {
        er_text text;
        if (!text_form(arena, said, english, around, one, now, &text)) return NULL;
        value = er_json_text(arena, text);
        if (value && text.at == said.at && text.length == said.length && (kind == ER_PIECE_CODE || kind == ER_PIECE_PHONE) && !er_fits(arena, value, one->schema)) {
            char *made = ER_TAKE(arena, char, said.length + 1); /* the spaces of an IBAN and of a phone number say nothing */
            size_t n = 0;
            for (size_t i = 0; made && i < said.length; i++)
                if (!memchr(" ()/-", said.at[i], 5)) made[n++] = said.at[i];
            value = made ? er_json_text(arena, (er_text){made, n}) : NULL;
        }
    }
    return value && er_fits(arena, value, one->schema) ? value : NULL;
}
