/* Which numbers of a request belong to something else than the parameter that asks (8.5): the 4 of "fridge 4" is no temperature,
   nor is any bare number where 41 F is said and degrees Celsius are asked for; and "Baker Street" is no address where "12 Baker
   Street" is said. Knows nothing of signs and of scores. */

#include "arguments.h"
#include "unicode.h"

#define BIT(kind) (1u << ER_PIECE_##kind)
#define MEASURES (BIT(DURATION) | BIT(MEASURE) | BIT(PERCENT) | BIT(MONEY))

static bool is_digit_at(const er_reading *of, uint32_t unit) { return er_is_decimal(of->text.points[of->units[unit].begin]); }

/* Whether a number stands right behind the name of another parameter that may take it. */
static bool is_others(const er_suitor *s, const er_parameter *one, const er_piece *piece)
{
    const er_unit *units = s->reading->units;
    uint32_t at = piece->first;
    while (at && er_listed_in(units[at - 1].lower, "# . no nr nº number num") && !er_has(one->stems, units[at - 1].stem)) at--;
    const er_text name = at ? units[at - 1].stem : ER_TEXT("");
    if (at && er_is_inside(s->reading, &(er_piece){.first = (uint16_t)(at - 1), .last = (uint16_t)at}, BIT(MEASURE), false)) return false; /* the cm of "140 cm 12 deg" */
    if (!name.length || er_has(one->stems, name) || er_has(one->told, name)) return false;
    for (uint32_t i = 0; i < s->tool->count; i++) {
        const er_parameter *other = &s->tool->parameters[i];
        if (other == one || !er_has(other->stems, name)) continue;
        if (other->kind == ER_KIND_NUMBER || other->kind == ER_KIND_ID || (other->kind == ER_KIND_ANY && other->stems.count == 1)) return true;
    }
    return false;
}

static uint32_t quantity_of(uint32_t dimension) /* 0: its own, of which nothing else is */
{
    switch (dimension) {
    case ER_CELSIUS: case ER_FAHRENHEIT: return 1;
    case ER_METRES: case ER_MILES: return 2;
    case ER_GRAMS: case ER_POUNDS_WEIGHT: return 3;
    case ER_EURO: case ER_DOLLAR: case ER_POUND: return 4;
    default: return 0;
    }
}

/* Whether what a parameter counts is said in another unit of the same quantity. */
static bool counts_otherwise(const er_suitor *s, const er_parameter *one)
{
    const er_reading *of = s->reading;
    const uint32_t quantity = one->has_unit ? quantity_of(one->unit.dimension) : 0;
    for (uint32_t kind = 0; quantity && kind < ER_MATCH_KINDS; kind++)
        for (uint32_t i = of->match_starts[kind]; (BIT(MEASURE) | BIT(MONEY)) >> kind & 1 && i < of->match_starts[kind + 1]; i++) {
            er_amount told;
            const er_text said = er_glossed_words(of, of->matches[i].first, of->matches[i].last);
            if (!er_amount_of(s->arena, said, &told) || told.dimension == one->unit.dimension) continue;
            if (quantity_of(told.dimension) == quantity) return true;
        }
    return false;
}

static bool names_streets(er_words stems)
{
    static const char *const streets[] = {"address", "street", "adress", "straß", "dirección"};
    for (size_t i = 0; i < sizeof streets / sizeof *streets; i++)
        if (er_has(stems, (er_text){streets[i], strlen(streets[i])})) return true;
    return false;
}

static bool takes_streets(const er_parameter *one) { return names_streets(one->stems) || names_streets(one->told); }

/* Whether a bare number is in degrees, for what counts in another unit. */
static bool is_warmth(const er_reading *of, const er_parameter *one, const er_piece *piece)
{
    if (!one->has_unit || one->unit.dimension == ER_CELSIUS || one->unit.dimension == ER_FAHRENHEIT) return false;
    return piece->last < of->unit_count && er_listed_in(of->units[piece->last].lower, "degrees degree deg °");
}

/* Whether a piece is a run of capitals with numbers, and has all of another one's units. */
static bool is_numbered(const er_reading *of, const er_piece *whole, const er_piece *piece)
{
    if (whole->kind != ER_PIECE_NAME || whole->first > piece->first || whole->last < piece->last) return false;
    for (uint32_t k = whole->first; k < whole->last; k++)
        if (is_digit_at(of, k)) return true;
    return false;
}

/* Whether a number is one of a street that somebody goes to: "to 12 Baker Street". */
static bool is_of_house(const er_suitor *s, const er_piece *piece)
{
    const er_reading *of = s->reading;
    bool street = false;
    for (uint32_t i = 0; i < s->tool->count && !street; i++) street = takes_streets(&s->tool->parameters[i]);
    for (uint32_t i = 0; street && i < of->piece_count; i++) {
        const er_piece *whole = &of->pieces[i];
        if (!is_numbered(of, whole, piece)) continue;
        if (er_listed_in(of->units[whole->first ? whole->first - 1 : 0].lower, "to from at in near") || er_is_street(of->units, whole->first, whole->last)) return true;
    }
    return false;
}

/* Whether a bare number is in a unit that another parameter counts: the 2 of "2 ml" is not how often. */
static bool is_of_measure(const er_suitor *s, const er_parameter *one, const er_piece *piece)
{
    const er_reading *of = s->reading;
    if (one->has_unit || one->kind != ER_KIND_NUMBER) return false;
    for (uint32_t kind = 0; kind < ER_MATCH_KINDS; kind++)
        for (uint32_t i = of->match_starts[kind]; MEASURES >> kind & 1 && i < of->match_starts[kind + 1]; i++) {
            const er_match whole = of->matches[i];
            er_amount told;
            if (whole.first > piece->first || whole.last < piece->last || (whole.first == piece->first && whole.last == piece->last)) continue;
            if (!er_amount_of(s->arena, er_glossed_words(of, whole.first, whole.last), &told)) continue;
            for (uint32_t k = 0; k < s->tool->count; k++) {
                const er_parameter *other = &s->tool->parameters[k];
                if (!other->has_unit) continue;
                const uint32_t quantity = quantity_of(told.dimension);
                if (quantity ? quantity == quantity_of(other->unit.dimension) : told.dimension == other->unit.dimension) return true;
            }
        }
    return false;
}

/* Whether a number is an hour from which a range begins: the 10 of "10-11am" and of "from 10 to 11". */
static bool begins_range(const er_reading *of, const er_piece *piece)
{
    if (piece->last + 1u >= of->unit_count) return false;
    const bool led = piece->first && er_listed_in(of->units[piece->first - 1].lower, "from between");
    const er_text behind = of->units[piece->last + 1].lower;
    if (!led && !er_listed_in(of->units[piece->last].lower, "- –")) return false;
    for (uint32_t i = of->match_starts[ER_PIECE_TIME]; i < of->match_starts[ER_PIECE_TIME + 1]; i++)
        if (of->matches[i].first == piece->last + 1)
            return !(led && of->matches[i].last == piece->last + 2 && memchr(behind.at, '.', behind.length)); /* "between 6.0 and 6.15 mm" */
    return false;
}

/* Whether a bare number is of what passes between: "every 8 hours" is not eight times. */
static bool is_interval(const er_reading *of, const er_piece *piece)
{
    return piece->first && er_is(of->units[piece->first - 1].lower, "every") && er_is_inside(of, piece, BIT(DURATION), true);
}

/* Whether a bare number says how often: "3 times", "2x daily", "once a day". */
static bool is_often(const er_reading *of, const er_piece *piece)
{
    if (er_listed_in(of->units[piece->first].lower, "once twice")) return true;
    if (piece->last >= of->unit_count) return false;
    const er_unit *behind = &of->units[piece->last];
    if (er_listed_in(behind->lower, "times daily")) return true;
    return piece->last + 1u < of->unit_count && er_is(behind->lower, "x") && er_listed_in(behind[1].lower, "a daily per each every");
}

bool er_is_part(const er_suitor *s, const er_parameter *one, const er_piece *piece)
{
    const er_reading *of = s->reading;
    uint32_t numbers = 0;
    if (er_is_inside(of, piece, BIT(SERIAL), true)) return true;
    if (one->kind != ER_KIND_NUMBER && one->kind != ER_KIND_DURATION && piece->kind == ER_PIECE_NUMBER && (is_often(of, piece) || begins_range(of, piece))) return true;
    const bool measure = piece->kind == ER_PIECE_DURATION || piece->kind == ER_PIECE_MEASURE;
    if (measure && piece->first && er_is(of->units[piece->first].lower, "a") && er_listed_in(of->units[piece->first - 1].lower, "times once twice x")) return true; /* no day */
    for (uint32_t i = 0; one->kind == ER_KIND_NUMBER && i < s->tool->count; i++) numbers += s->tool->parameters[i].kind == ER_KIND_NUMBER;
    for (uint32_t i = of->match_starts[ER_PIECE_CODE]; numbers < 2 && i < of->match_starts[ER_PIECE_CODE + 1]; i++) { /* "13x18" */
        const er_match whole = of->matches[i];
        if (whole.last - whole.first == 3 && whole.first <= piece->first && piece->last <= whole.last && piece->last - piece->first < 3 &&
            er_is(of->units[whole.first + 1].lower, "x"))
            return true;
    }
    return false;
}

/* Whether a number counts what stands behind it, and money is asked for: "2 nights" are no two euros. */
static bool counts_things(const er_reading *of, const er_parameter *one, const er_piece *piece)
{
    if (!one->has_unit || one->unit.dimension < ER_EURO || one->unit.dimension > ER_POUND || piece->last >= of->unit_count) return false;
    return er_listed_in(of->units[piece->last].lower, "night nights people guests adults kids children tickets rooms seats beds persons");
}

/* Whether a parameter's name or description has one of some stems. */
static bool tells(const er_parameter *one, const char *const *stems, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const er_text stem = {stems[i], strlen(stems[i])};
        if (er_has(one->stems, stem) || er_has(one->told, stem)) return true;
    }
    return false;
}

/* Whether a number is a difference from what is now, "2 degrees warmer" and "turn it up by 2", for what takes none: nobody wants
   a room at two degrees. */
static bool is_change(const er_reading *of, const er_parameter *one, const er_piece *piece)
{
    static const char *const than_now = "warmer cooler colder hotter louder quieter softer brighter dimmer darker wärmer kälter kühler lauter leiser heller dunkler";
    static const char *const warmth[] = {"temperatur", "celsiu", "fahrenheit"}, *const changes[] = {"chang", "step", "relativ", "delta", "offset", "increas", "decreas", "differenc", "adjust", "shift", "down"};
    const er_text none = {"", 0};
    uint32_t at = piece->last;
    while (at < of->unit_count && er_listed_in(of->units[at].lower, "degrees degree deg ° c f percent % points steps notches")) at++;
    const er_text behind = at < of->unit_count ? of->units[at].lower : none;
    if (er_listed_in(behind, than_now)) return !tells(one, changes, sizeof changes / sizeof *changes);
    /* Of prices and angles these may be what is asked for. */
    if (!er_listed_in(behind, "higher lower höher niedriger") && !(piece->first && er_is(of->units[piece->first - 1].lower, "by"))) return false;
    return tells(one, warmth, sizeof warmth / sizeof *warmth) && !tells(one, changes, sizeof changes / sizeof *changes);
}

/* Whether a letter right behind a number says more of it: the 350 of "350k", the 3 of "£3m". */
static bool is_in_thousands(const er_reading *of, const er_piece *piece)
{
    if (piece->last >= of->unit_count || of->units[piece->last].begin != of->units[piece->last - 1].end) return false;
    return er_is(of->units[piece->last].lower, "k") || (er_is(of->units[piece->last].lower, "m") && er_is_inside(of, piece, BIT(MONEY), true));
}

bool er_is_no_number(const er_suitor *s, const er_parameter *one, const er_piece *piece)
{
    const bool bare = piece->kind == ER_PIECE_NUMBER || piece->kind == ER_PIECE_CHUNK;
    const uint32_t whole = piece->kind == ER_PIECE_MEASURE || piece->kind == ER_PIECE_DURATION ? BIT(DURATION) | BIT(MEASURE) | BIT(MONEY) : bare && one->has_unit ? MEASURES : 0;
    if (one->kind == ER_KIND_NUMBER && is_change(s->reading, one, piece)) return true;
    if (er_is_inside(s->reading, piece, whole, true)) return true;
    if (!bare) return false;
    if (is_in_thousands(s->reading, piece)) return true;
    if (is_of_measure(s, one, piece) || (one->has_unit && is_often(s->reading, piece))) return true;
    if (counts_things(s->reading, one, piece) || counts_otherwise(s, one) || is_warmth(s->reading, one, piece)) return true;
    return one->kind == ER_KIND_NUMBER && (begins_range(s->reading, piece) || (!one->has_unit && is_interval(s->reading, piece)) || is_others(s, one, piece) || is_of_house(s, piece));
}

bool er_lacks_number(const er_suitor *s, const er_parameter *one, const er_piece *piece)
{
    const er_reading *of = s->reading;
    uint32_t addresses = 0; /* a place beside a street is not the one address that is asked for */
    if (!takes_streets(one)) return piece->kind == ER_PIECE_NAME && is_digit_at(of, piece->first);
    for (uint32_t i = 0; i < s->tool->count; i++) addresses += takes_streets(&s->tool->parameters[i]);
    if (!names_streets(one->stems)) addresses = 0;
    for (uint32_t i = 0; i < of->piece_count; i++) {
        const er_piece *whole = &of->pieces[i];
        if (whole->first == piece->first && whole->last == piece->last) continue;
        if (is_numbered(of, whole, piece)) return true;
        const bool apart = piece->last <= whole->first || whole->last <= piece->first;
        if (addresses == 1 && apart && is_numbered(of, whole, whole) && er_is_street(of->units, whole->first, whole->last)) return true;
    }
    return false;
}
