/* Which of its choices a request says for a parameter, and whether it says yes or no, by the choices' own words. Knows nothing
   of outputs. */

#include "arguments.h"

#include <stdlib.h>

static const char *const nots = "not no without don't dont never except nicht ohne kein keine un";
static const char *const switches = "on enabled enable active activate allowed allow state power";
static const char *const ons = "on enable activate start switch allow an ein work";
static const char *const offs = "off out disable deactivate stop cut kill block forbid aus dark";
static const char *const idle = "only is with includ us flag should all";

static bool is_negated(const er_reading *of, uint32_t at)
{
    if (!at) return false;
    const bool last = er_listed_in(of->units[at - 1].lower, nots);
    return last || (at > 1 && er_listed_in(of->units[at - 1].lower, "the a on") && er_listed_in(of->units[at - 2].lower, nots));
}

static void found_at(const er_reading *of, uint32_t at, er_found *found)
{
    found->spanned = true;
    found->span = (er_span){of->units[at].begin, of->units[at].end};
}

/* Whether a unit says a stem, which nothing negates; or a money's own name. */
static bool is_at(const er_reading *of, uint32_t at, er_text stem, bool *money)
{
    er_amount factor;
    *money = false;
    if (of->units[at].stem.length && er_same(of->units[at].stem, stem) && !is_negated(of, at)) return true;
    if (!er_is(stem, "eur") && !er_is(stem, "usd") && !er_is(stem, "gbp")) return false;
    const er_dimension dimension = er_unit_of(of->units[at].lower, &factor);
    return *money = (dimension == ER_EURO && er_is(stem, "eur")) || (dimension == ER_DOLLAR && er_is(stem, "usd")) || (dimension == ER_POUND && er_is(stem, "gbp"));
}

/* The nearest place to the tool's words that says a stem; UINT32_MAX: none. */
static uint32_t place_of(const er_suitor *s, er_text stem)
{
    const er_reading *of = s->reading;
    uint32_t best = UINT32_MAX;
    bool money;
    for (uint32_t i = 0; i < of->unit_count; i++)
        if (is_at(of, i, stem, &money) && (best == UINT32_MAX || s->near[of->units[i].clause] > s->near[of->units[best].clause])) best = i;
    return best;
}

static bool spelt(er_arena *arena, const er_json *choice, er_text *found)
{
    if (!er_json_shown(arena, choice, found)) return false;
    char *made = ER_TAKE(arena, char, found->length + 1);
    if (!made) return false;
    for (size_t i = 0; i < found->length; i++) made[i] = found->at[i] == '_' || found->at[i] == '-' ? ' ' : found->at[i];
    found->at = made;
    return true;
}

typedef struct {
    double score;
    uint32_t at;
    const er_json *choice;
} said_choice;

static bool choose(const er_suitor *s, const er_parameter *one, er_found *found)
{
    const er_json *choices = er_json_get(one->schema, "enum");
    er_arena *arena = s->arena;
    if (!choices || choices->kind != ER_JSON_ARRAY || choices->count > ER_MOST_OPTIONS) return true;
    said_choice *said = ER_TAKE(arena, said_choice, choices->count + 1);
    uint32_t count = 0;
    if (!said) return false;
    for (uint32_t i = 0; i < choices->count; i++) {
        const er_json *choice = &choices->items[i];
        er_text text, number;
        er_points points;
        const er_word *words;
        uint32_t n, first;
        er_word one_word;
        if (choice->kind == ER_JSON_TEXT) {
            if (!spelt(arena, choice, &text) || !er_points_of(arena, text, &points) || !er_words_of(arena, &points, &words, &n)) return false;
        } else {
            if (!er_json_shown(arena, choice, &number)) return false;
            one_word = (er_word){number, number};
            words = &one_word;
            n = 1;
        }
        if (!n || (first = place_of(s, words[0].stem)) == UINT32_MAX) continue;
        bool all = true, own = true;
        for (uint32_t k = 0; k < n && all; k++) {
            all = place_of(s, words[k].stem) != UINT32_MAX;
            own &= er_has(s->tool->name, words[k].stem);
        }
        if (!all) continue;
        said_choice one_said = {s->near[s->reading->units[first].clause] + 0.5 * n - own, first, choice};
        uint32_t k = count++;
        for (; k && (one_said.score > said[k - 1].score || (one_said.score == said[k - 1].score && one_said.at < said[k - 1].at)); k--) said[k] = said[k - 1];
        said[k] = one_said;
    }
    /* Of several, none of which anybody must give, nobody knows whether one is meant. */
    if (!count || (count > 1 && (said[0].score == said[1].score || !one->required))) return true;
    const er_json *value = one->many ? er_json_list(arena, said[0].choice, 1) : said[0].choice;
    if (!value || !er_takes(arena, one, value)) return value != NULL;
    found->value = value;
    found->score = said[0].score;
    found->rule = count > 1 ? ER_RULE_SEVERAL_REQUIRED : one->required ? ER_RULE_ONLY_REQUIRED : ER_RULE_ONLY_OPTIONAL;
    for (uint32_t i = 1; i < count && i <= 3; i++) found->others[found->other_count++] = said[i].choice;
    found_at(s->reading, said[0].at, found);
    return true;
}

/* The first unit among the nearest clauses (or all) that a list has; UINT32_MAX: none. */
static uint32_t first_in(const er_suitor *s, const char *list, double least)
{
    for (uint32_t i = 0; i < s->reading->unit_count; i++)
        if (s->near[s->reading->units[i].clause] >= least && er_listed_in(s->reading->units[i].lower, list)) return i;
    return UINT32_MAX;
}

static bool is_switch(er_arena *arena, er_text name, bool *found)
{
    er_text low;
    *found = false;
    if (!er_lowered(arena, name, &low)) return false;
    for (size_t i = 0, begin = 0; i <= low.length; i++) {
        if (i < low.length && low.at[i] != '_' && low.at[i] != ' ') continue;
        *found |= er_listed_in(er_cut(low, begin, i), switches);
        begin = i + 1;
    }
    return true;
}

static bool decide(const er_suitor *s, const er_parameter *one, er_found *found)
{
    const er_reading *of = s->reading;
    double best = 0.0;
    bool switched, all = true;
    if (!is_switch(s->arena, one->name, &switched)) return false;
    for (uint32_t c = 0; c < of->clauses; c++) best = s->near[c] > best ? s->near[c] : best;
    if (switched) {
        uint32_t off = first_in(s, offs, best), on = first_in(s, ons, best);
        for (uint32_t i = 0; i < of->unit_count; i++) all &= s->near[of->units[i].clause] >= best;
        if (off == UINT32_MAX && on == UINT32_MAX && !all) off = first_in(s, offs, -1.0), on = first_in(s, "on enable activate", -1.0);
        if (off == UINT32_MAX && on == UINT32_MAX) return true;
        const bool both = off != UINT32_MAX && on != UINT32_MAX;
        const uint32_t at = off != UINT32_MAX ? off : on;
        found->value = !both && (on != UINT32_MAX) != is_negated(of, at) ? &er_json_true : &er_json_false;
        found->rule = both ? ER_RULE_SWITCH_BOTH : ER_RULE_SWITCH;
        found->score = both ? 0.5 : 1.0;
        found_at(of, at, found);
        return true;
    }
    uint32_t at = UINT32_MAX, wanted = 0;
    for (uint32_t k = 0; k < one->stems.count; k++) {
        uint32_t first = UINT32_MAX;
        if (er_listed_in(one->stems.words[k], idle)) continue;
        for (uint32_t i = of->unit_count; i--;)
            if (of->units[i].stem.length && er_same(of->units[i].stem, one->stems.words[k])) first = i;
        if (first == UINT32_MAX) return true;
        at = first < at ? first : at;
        wanted++;
    }
    if (!wanted) return true;
    const bool negated = is_negated(of, at);
    found->value = negated ? &er_json_false : &er_json_true;
    found->rule = negated ? ER_RULE_BOOLEAN_NOT : ER_RULE_BOOLEAN;
    found->score = 1.0;
    found_at(of, at, found);
    return true;
}

bool er_chosen(const er_suitor *s, const er_parameter *one, er_found *found)
{
    *found = (er_found){.source = ER_FROM_CHOICE};
    return one->kind == ER_KIND_CHOICE ? choose(s, one, found) : decide(s, one, found);
}
