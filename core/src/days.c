/* Days and times as people say them in English, and what is written in digits. What may be either of two is neither. */

#include "pieces_parts.h"
#include "unicode.h"

static const char *const numbers[] = {"one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"};
enum { NUMBERS = sizeof numbers / sizeof *numbers, MONTHS = 12, WEEK = 7, MOST_SAID = 96, HALF = 3 };

/* What is said, in lower case, digits as ASCII, one space between words: at most so many, none for more; and room for the
   half of a day behind it. */
typedef struct {
    er_matcher matcher;
    er_view view;
    uint32_t points[MOST_SAID + HALF], caseless[MOST_SAID + HALF];
    uint8_t kinds[MOST_SAID + HALF];
    char at[4 * MOST_SAID + 8];
    er_text text;
} said;

static bool begins(er_text text, const char *with) { return text.length >= strlen(with) && !memcmp(text.at, with, strlen(with)); }
static bool ends(er_text text, const char *with)
{
    return text.length >= strlen(with) && !memcmp(text.at + text.length - strlen(with), with, strlen(with));
}
static er_text behind(er_text text, const char *begin) { return begins(text, begin) ? er_cut(text, strlen(begin), text.length) : text; }

static er_text bare(er_text text, const char *marks)
{
    while (text.length && text.at[0] && strchr(marks, text.at[0])) text = er_cut(text, 1, text.length);
    while (text.length && text.at[text.length - 1] && strchr(marks, text.at[text.length - 1])) text.length--;
    return text;
}

static void look_at(said *s)
{
    uint32_t n = 0;
    for (size_t i = 0; i < s->text.length;) s->points[n++] = er_point_at(s->text, &i);
    er_fill_view(s->points, n, s->caseless, s->kinds);
    s->view = (er_view){s->points, s->caseless, s->kinds, n};
}

/* One space where white space was, and none around; false: it is longer than anything that names a day. */
static bool spaced(said *s, er_text text)
{
    size_t n = 0;
    uint32_t count = 0;
    for (size_t i = 0; i < text.length;) {
        const uint32_t c = er_point_at(text, &i);
        if (er_is_space(c)) {
            if (n && s->at[n - 1] != ' ') s->at[n++] = ' ', count++;
        } else {
            n += er_put_point(s->at + n, er_is_decimal(c) ? '0' + er_digit_of(c) : c);
            count++;
        }
        if (count > MOST_SAID) return false;
    }
    while (n && s->at[n - 1] == ' ') n--;
    s->text = (er_text){s->at, n};
    look_at(s);
    return true;
}

static bool is_whole(said *s, uint32_t program)
{
    uint32_t end;
    return er_matches(&s->matcher, program, &s->view, 0, &end);
}

/* The text of a group, "" for none: all is ASCII there. */
static er_text part_of(const said *s, uint32_t group)
{
    er_span at;
    return er_group(&s->matcher, group, &at) ? er_cut(s->text, at.begin, at.end) : (er_text){"", 0};
}

/* The number of a group, -1 for none. */
static int number_of(const said *s, uint32_t group)
{
    const er_text digits = part_of(s, group);
    int value = 0;
    for (size_t i = 0; i < digits.length; i++) value = 10 * value + (digits.at[i] - '0');
    return digits.length ? value : -1;
}

/* ---- The calendar: days are counted from 0000-03-01, a year from March on (Gregorian, as always) ---- */

static int64_t number_of_day(int year, int month, int day)
{
    const int64_t y = month > 2 ? year : year - 1, m = (month + 9) % MONTHS;
    return 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1;
}

static bool exists(int year, int month, int day)
{
    static const uint8_t lengths[MONTHS] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    if (year < 1 || year > 9999 || month < 1 || month > MONTHS || day < 1) return false;
    const bool leap = (year % 4 == 0 && year % 100) || year % 400 == 0;
    return day <= lengths[month - 1] + (month == 2 && leap);
}

static bool put(int year, int month, int day, er_day *found)
{
    if (!exists(year, month, day)) return false;
    *found = (er_day){(int16_t)year, (uint8_t)month, (uint8_t)day};
    return true;
}

static bool put_number(int64_t number, er_day *found)
{
    int64_t year = (10000 * number + 14780) / 3652425, rest = number - (365 * year + year / 4 - year / 100 + year / 400);
    if (rest < 0) year--, rest = number - (365 * year + year / 4 - year / 100 + year / 400);
    const int64_t m = (100 * rest + 52) / 3060;
    return put((int)(year + (m + 2) / MONTHS), (int)((m + 2) % MONTHS) + 1, (int)(rest - (m * 306 + 5) / 10) + 1, found);
}

static int64_t number_of_now(const er_now *now) { return number_of_day(now->year, now->month, now->day); }
static int64_t number_of_found(const er_day *day) { return number_of_day(day->year, day->month, day->day); }

bool er_day_ahead(const er_now *now, int days, er_day *found) { return put_number(number_of_now(now) + days, found); }

/* A day of a year that is told, or the next one from now on, or the last one. */
static bool in_year(int month, int day, int year, const er_now *now, bool past, er_day *found)
{
    if (year >= 0) return put(year, month, day, found);
    for (int i = 0; now && i < 2; i++) {
        if (!put(now->year + (past ? -i : i), month, day, found)) continue;
        const int64_t ahead = number_of_found(found) - number_of_now(now);
        if (past ? ahead <= 0 : ahead >= 0) return true;
    }
    return false;
}

/* The next or the last day of a month with this number. */
static bool nth(int day, const er_now *now, bool past, er_day *found)
{
    int year = now->year, month = now->month;
    for (int i = 0; i < MONTHS; i++) {
        if (put(year, month, day, found)) {
            const int64_t ahead = number_of_found(found) - number_of_now(now);
            if (past ? ahead <= 0 : ahead >= 0) return true;
        }
        month += past ? -1 : 1;
        if (!month) year--, month = MONTHS;
        if (month > MONTHS) year++, month = 1;
    }
    return false;
}

/* A month's number, 0 for what is none. */
static int month_of(er_text name)
{
    if (er_is(name, "sept")) return 9;
    for (uint32_t i = 0; i < MONTHS; i++) {
        const er_text full = er_month_name(i);
        if (er_same(name, full) || (name.length == 3 && !memcmp(name.at, full.at, 3))) return (int)i + 1;
    }
    return 0;
}

static int spelt(er_text word)
{
    for (int i = 0; i < NUMBERS; i++)
        if (er_is(word, numbers[i])) return i + 1;
    return 0;
}

static bool is_digits(er_text text) { return text.length && text.at[0] >= '0' && text.at[0] <= '9'; }

/* A number in digits or in a word, 0 for none. */
static int count_in(const said *s, uint32_t group)
{
    const er_text word = part_of(s, group);
    return is_digits(word) ? number_of(s, group) : er_is(word, "a") || er_is(word, "an") ? 1 : spelt(word);
}

/* The day that is named from today. */
static bool from_today(said *s, const er_now *now, bool past, er_day *found)
{
    static const struct { const char *word; int ahead; } known[] = {
        {"today", 0}, {"tonight", 0}, {"this", 0}, {"tomorrow", 1}, {"tmrw", 1}, {"tmr", 1}, {"yesterday", -1}, {"day after tomorrow", 2}};
    const int64_t today = number_of_now(now);
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (er_is(s->text, known[i].word)) return put_number(today + known[i].ahead, found);
    const uint32_t named = er_weekday_of(behind(behind(s->text, "last "), "this "));
    if (named < WEEK) {
        const int64_t ahead = ((int64_t)named - (today + 2) % WEEK + WEEK) % WEEK; /* 0000-03-01 was a Wednesday */
        if (past || begins(s->text, "last ")) return put_number(today - (ahead ? WEEK - ahead : WEEK), found);
        return put_number(today + (!ahead && !begins(s->text, "this") ? WEEK : ahead), found);
    }
    if (is_whole(s, ER_P_ORDINAL)) return nth(number_of(s, 0), now, past, found);
    const bool behind = is_whole(s, ER_P_BEHIND);
    if (!behind && !is_whole(s, ER_P_AHEAD)) return false;
    const int count = count_in(s, 0);
    if (!count && !is_digits(part_of(s, 0))) return false;
    const bool later = behind && er_is(part_of(s, 2), "tomorrow");
    return put_number(today + (int64_t)count * (er_is(part_of(s, 1), "week") ? WEEK : 1) + later, found);
}

bool er_day_of(er_arena *arena, er_text given, const er_now *now, bool past, er_day *day)
{
    static const char *const parts[] = {" morning", " noon", " afternoon", " evening", " night"};
    er_text text;
    said s;
    er_matcher_of(arena, &er_piece_book, &s.matcher);
    if (!er_lower_text(arena, given, &text)) return false;
    text = bare(text, " .,");
    const er_text line = ends(text, "\n") ? er_cut(text, 0, text.length - 1) : text;
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (ends(line, parts[i])) {
            text = er_cut(line, 0, line.length - strlen(parts[i]));
            break;
        }
    if (!spaced(&s, behind(behind(text, "the "), "on "))) return false;
    if (is_whole(&s, ER_P_ISO)) return put(number_of(&s, 0), number_of(&s, 1), number_of(&s, 2), day);
    if (is_whole(&s, ER_P_SLASHED)) {
        const int a = number_of(&s, 0), b = number_of(&s, 1);
        /* 3/4 is in March or in April; 3/14 and 14/3 can only be one day. */
        return (a > MONTHS || b > MONTHS || a == b) && put(number_of(&s, 2), a < b ? a : b, a < b ? b : a, day);
    }
    if (is_whole(&s, ER_P_DOTTED)) return in_year(number_of(&s, 1), number_of(&s, 0), number_of(&s, 2), now, past, day);
    int month;
    if (is_whole(&s, ER_P_MONTH_DAY) && (month = month_of(part_of(&s, 0)))) return in_year(month, number_of(&s, 1), number_of(&s, 2), now, past, day);
    if (is_whole(&s, ER_P_DAY_MONTH) && (month = month_of(part_of(&s, 1)))) return in_year(month, number_of(&s, 0), number_of(&s, 2), now, past, day);
    return now && from_today(&s, now, past, day);
}

er_half er_half_of(er_arena *arena, er_text day)
{
    er_text text;
    if (!er_lower_text(arena, day, &text)) return ER_NO_HALF;
    while (text.length && strchr(" .,", text.at[text.length - 1])) text.length--;
    size_t at = text.length;
    while (at && text.at[at - 1] != ' ') at--;
    text = er_cut(text, at, text.length);
    if (er_is(text, "night") || er_is(text, "tonight")) return ER_NIGHT;
    return er_is(text, "morning") ? ER_MORNING : er_is(text, "afternoon") || er_is(text, "evening") ? ER_AFTERNOON : ER_NO_HALF;
}

/* "Quarter to nine pm": of twelve hours, so none without its half of the day. */
static bool spoken(const said *s, er_time *time)
{
    static const struct { const char *word; int minutes; } known[] = {{"five", 5}, {"ten", 10}, {"quarter", 15}, {"twenty", 20}, {"half", 30}};
    const er_text word = part_of(s, 0), half = part_of(s, 4);
    const bool past = er_is(part_of(s, 2), "past");
    const int hour = count_in(s, 3);
    int minute = is_digits(word) ? number_of(s, 0) : 0;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (er_is(word, known[i].word)) minute = known[i].minutes;
    /* "ten to twelve pm": from ten on */
    if (!past && !part_of(s, 1).length && !er_is(word, "quarter")) return false;
    if (!half.length || hour < 1 || hour > 12 || minute < 1 || minute > 30) return false;
    const int at = (60 * hour + (past ? minute : 720 - minute)) % 720 + (half.at[0] == 'p' ? 720 : 0);
    *time = (er_time){(uint8_t)(at / 60), (uint8_t)(at % 60), 0};
    return true;
}

/* What `s` names, in lower case and without "at". */
static bool clock_of(said *s, er_time *time)
{
    *time = (er_time){12, 0, 0};
    if (er_is(s->text, "noon") || er_is(s->text, "midday")) return true;
    if (er_is(s->text, "midnight")) return *time = (er_time){0, 0, 0}, true;
    if (is_whole(s, ER_P_SPOKEN)) return spoken(s, time);
    const char *space = memchr(s->text.at, ' ', s->text.length);
    er_text first = er_cut(s->text, 0, space ? (size_t)(space - s->text.at) : s->text.length);
    if (ends(first, "am")) first.length -= 2;
    if (ends(first, "pm")) first.length -= 2;
    const int hour_said = spelt(first);
    if (hour_said) {
        char digits[3] = {(char)(hour_said > 9 ? '1' : '0' + hour_said), (char)('0' + hour_said % 10), 0};
        const size_t n = hour_said > 9 ? 2 : 1;
        memmove(s->at + n, s->at + first.length, s->text.length - first.length);
        memcpy(s->at, digits, n);
        s->text.length = s->text.length - first.length + n;
        look_at(s);
    }
    if (!is_whole(s, ER_P_CLOCK)) return false;
    const er_text half = part_of(s, 3);
    if (!half.length != !part_of(s, 4).length) return false;
    const bool has_minute = number_of(s, 1) >= 0;
    int hour = number_of(s, 0);
    const int minute = has_minute ? number_of(s, 1) : 0, second = number_of(s, 2) >= 0 ? number_of(s, 2) : 0;
    if (half.length) {
        if (hour < 1 || hour > 12) return false;
        hour = hour % 12 + (half.at[0] == 'p' ? 12 : 0);
    } else if (!has_minute && !ends(s->text, "uhr") && !ends(s->text, "h")) {
        return false;
    }
    *time = (er_time){(uint8_t)hour, (uint8_t)minute, (uint8_t)second};
    return hour < 24 && minute < 60 && second < 60;
}

static const char *const o_clock[] = {" o'clock", " o\xe2\x80\x99" "clock"};

bool er_time_of(er_arena *arena, er_text given, er_half half, er_time *time)
{
    enum { EVENING = 17 };
    er_text text;
    said s;
    er_matcher_of(arena, &er_piece_book, &s.matcher);
    if (!er_lower_text(arena, given, &text) || !spaced(&s, behind(bare(text, " ,"), "at "))) return false;
    /* "nine in the morning" is "nine am"; "at nine" is in the morning or in the evening, so it names no time alone. */
    const bool told = is_whole(&s, ER_P_OF_DAY);
    if (told) {
        half = er_half_of(arena, part_of(&s, 1));
        s.text = part_of(&s, 0); /* from the first on */
        look_at(&s);
    }
    if (half != ER_NO_HALF) {
        said of;
        er_matcher_of(arena, &er_piece_book, &of.matcher);
        size_t n = s.text.length;
        for (size_t i = 0; i < sizeof o_clock / sizeof *o_clock; i++)
            if (ends(s.text, o_clock[i])) n = s.text.length - strlen(o_clock[i]);
        memcpy(of.at, s.text.at, n);
        memcpy(of.at + n, half == ER_MORNING ? " am" : " pm", HALF);
        of.text = (er_text){of.at, n + HALF};
        look_at(&of);
        const bool found = clock_of(&of, time);
        if (found && half == ER_NIGHT) return time->hour >= EVENING; /* one at night is not in the afternoon */
        if (found || told) return found;
    }
    return clock_of(&s, time);
}
