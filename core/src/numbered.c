/* Which numbers of a request belong to something else than the parameter that asks (8.5): the 4 of "fridge 4" is no temperature,
   nor is any bare number where 41 F is said and degrees Celsius are asked for; and "Baker Street" is no address where "12 Baker
   Street" is said. Knows nothing of signs and of scores. */

#include "arguments.h"
#include "unicode.h"

#define BIT(kind) (1u << ER_PIECE_##kind)

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

static bool takes_streets(const er_parameter *one)
{
    static const char *const streets[] = {"address", "street", "adress", "straß", "dirección"};
    for (size_t i = 0; i < sizeof streets / sizeof *streets; i++) {
        const er_text stem = {streets[i], strlen(streets[i])};
        if (er_has(one->stems, stem) || er_has(one->told, stem)) return true;
    }
    return false;
}

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

bool er_is_no_number(const er_suitor *s, const er_parameter *one, const er_piece *piece)
{
    const bool bare = piece->kind == ER_PIECE_NUMBER || piece->kind == ER_PIECE_CHUNK;
    const uint32_t measures = BIT(DURATION) | BIT(MEASURE) | BIT(PERCENT) | BIT(MONEY);
    const uint32_t whole = piece->kind == ER_PIECE_MEASURE || piece->kind == ER_PIECE_DURATION ? BIT(DURATION) | BIT(MEASURE) : bare && one->has_unit ? measures : 0;
    if (er_is_inside(s->reading, piece, whole, true)) return true;
    if (!bare) return false;
    if (counts_otherwise(s, one) || is_warmth(s->reading, one, piece)) return true;
    return one->kind == ER_KIND_NUMBER && (is_others(s, one, piece) || is_of_house(s, piece));
}

bool er_lacks_number(const er_reading *of, const er_parameter *one, const er_piece *piece)
{
    if (!takes_streets(one)) return piece->kind == ER_PIECE_NAME && is_digit_at(of, piece->first);
    for (uint32_t i = 0; i < of->piece_count; i++) {
        const er_piece *whole = &of->pieces[i];
        if ((whole->first != piece->first || whole->last != piece->last) && is_numbered(of, whole, piece)) return true;
    }
    return false;
}
