/* How sure a value is that was found for an argument, as the share of such ones that were right; and what to ask the user where
   there is none. Knows nothing of how values are found. */

#include "argument_weights.h"
#include "arguments.h"
#include "unicode.h"

/* ---- How sure that is ---- */

/* "Berlin" where "Berkeley, CA" is shown lacks a part, and of 85 such values 11 were right. */
static bool lacks_a_part(const er_parameter *one, const er_json *value)
{
    return one->parted && value->kind == ER_JSON_TEXT && !(value->text.length && memchr(value->text.at, ',', value->text.length));
}

double er_confidence(const er_found *found, const er_parameter *one, const er_filling *f)
{
    static const double right[] = {
        [ER_RULE_NAMED_ID] = 0.98, [ER_RULE_NAMED_TEXT] = 0.88, [ER_RULE_WORDS_ID] = 0.96, [ER_RULE_WORDS_TEXT] = 0.85, [ER_RULE_REFERENCE] = 0.83,
        [ER_RULE_EARLIER] = 0.85, [ER_RULE_RESULT] = 0.8, [ER_RULE_NAMED_RESULT] = 0.95, [ER_RULE_ONLY_OPTIONAL] = 0.84, [ER_RULE_ONLY_REQUIRED] = 0.83,
        [ER_RULE_SEVERAL_REQUIRED] = 0.5, [ER_RULE_BOOLEAN] = 0.71, [ER_RULE_BOOLEAN_NOT] = 0.6, [ER_RULE_SWITCH] = 0.88, [ER_RULE_SWITCH_BOTH] = 0.5,
        [ER_RULE_DEFAULT] = 0.6};
    static const uint8_t groups[] = {
        [ER_PIECE_EMAIL] = ER_TRAIT_TOKEN, [ER_PIECE_URL] = ER_TRAIT_TOKEN, [ER_PIECE_PATH] = ER_TRAIT_TOKEN, [ER_PIECE_PHONE] = ER_TRAIT_TOKEN,
        [ER_PIECE_CODE] = ER_TRAIT_TOKEN, [ER_PIECE_QUOTED] = ER_TRAIT_TOKEN, [ER_PIECE_DATE] = ER_TRAIT_WHEN, [ER_PIECE_TIME] = ER_TRAIT_WHEN,
        [ER_PIECE_MOMENT] = ER_TRAIT_WHEN, [ER_PIECE_MEASURE] = ER_TRAIT_MEASURE, [ER_PIECE_MONEY] = ER_TRAIT_MEASURE,
        [ER_PIECE_PERCENT] = ER_TRAIT_MEASURE, [ER_PIECE_DURATION] = ER_TRAIT_MEASURE, [ER_PIECE_NUMBER] = ER_TRAIT_NUMBER,
        [ER_PIECE_NAME] = ER_TRAIT_NAME, [ER_PIECE_ADDRESSEE] = ER_TRAIT_NAME, [ER_PIECE_TOLD] = ER_TRAIT_TOLD, [ER_PIECE_COMMAND] = ER_TRAIT_TOLD,
        [ER_PIECE_SERIAL] = 0};
    const double *traits = f->headed ? f->stored->traits : er_shipped_traits;
    if (found->rule == ER_RULE_COUNTED) return nearbyint(fmin(found->score, 0.98) * 1000.0) / 1000.0;
    if (found->rule == ER_RULE_WORDS_ID && found->score < 1.0) return 0.8;
    if (found->rule < ER_RULE_OPTION) return right[found->rule];
    const uint8_t group = found->rule == ER_RULE_OPTION ? ER_TRAIT_OPTION : groups[found->rule - ER_RULE_PIECE];
    const double share = fmin(fmax(found->score, 0.02), 0.995);
    double sure = traits[ER_TRAIT_SHARE] * log(share / (1.0 - share)) + traits[ER_TRAIT_ALL] + traits[group ? group : ER_TRAIT_PLAIN];
    if (found->value->kind == ER_JSON_ARRAY) sure += traits[ER_TRAIT_MANY];
    const double most = found->rule >= ER_RULE_PIECE && lacks_a_part(one, found->value) ? 0.6 : 0.95;
    return fmin(nearbyint(1000.0 / (1.0 + exp(-sure))) / 1000.0, most);
}

/* ---- Questions ---- */

/* A parameter in words: the first clause of its description, or its name. */
static bool shown_name(er_arena *arena, const er_parameter *one, er_text *found)
{
    er_text told = one->described;
    for (size_t i = 0; i < told.length; i++)
        if (told.at[i] == '.' || told.at[i] == ';') told.length = i;
    er_points points;
    if (!er_points_of(arena, told, &points)) return false;
    uint32_t begin = 0, end = points.count;
    while (begin < end && er_is_space(points.points[begin])) begin++;
    while (end > begin && er_is_space(points.points[end - 1])) end--;
    er_text shown = begin < end && end - begin <= 60 ? er_cut(told, points.starts[begin], points.starts[end]) : one->name;
    char *made = ER_TAKE(arena, char, shown.length + 2);
    if (!made) return false;
    for (size_t i = 0; i < shown.length; i++) made[i] = shown.at == one->name.at && shown.at[i] == '_' ? ' ' : shown.at[i];
    if (shown.length && made[0] >= 'a' && made[0] <= 'z') made[0] = (char)(made[0] - 32);
    *found = (er_text){made, shown.length};
    return true;
}

bool er_join(er_arena *arena, const er_text *parts, uint32_t count, er_text *found)
{
    size_t length = 0;
    for (uint32_t i = 0; i < count; i++) length += parts[i].length;
    char *made = ER_TAKE(arena, char, length + 1);
    if (!made) return false;
    *found = (er_text){made, length};
    for (uint32_t i = 0; i < count; made += parts[i++].length)
        if (parts[i].length) memcpy(made, parts[i].at, parts[i].length);
    return true;
}

bool er_question(er_arena *arena, const er_reading *of, const er_now *now, const er_parameter *one, er_text *found)
{
    static const char *const questions[ER_KINDS] = {
        [ER_KIND_WHEN] = "For when?", [ER_KIND_PLACE] = "Where?", [ER_KIND_PERSON] = "Who?", [ER_KIND_EMAIL] = "Which e-mail address?",
        [ER_KIND_DURATION] = "How long?", [ER_KIND_PHONE] = "Which phone number?", [ER_KIND_URL] = "Which link?", [ER_KIND_PATH] = "Which file?"};
    const er_text format = er_schema_text(one->schema, "format");
    const er_json *choices = er_json_get(one->schema, "enum");
    er_text parts[16];
    uint32_t n = 0;
    if (of && one->kind == ER_KIND_WHEN && (er_is(format, "date") || er_is(format, "date-time")) &&
        of->match_starts[ER_PIECE_DATE] < of->match_starts[ER_PIECE_DATE + 1]) {
        const er_match *day = &of->matches[of->match_starts[ER_PIECE_DATE]];
        er_day known;
        if (er_is(format, "date-time") && now && er_day_of(arena, er_glossed_words(of, day->first, day->last), now, false, &known))
            return *found = (er_text)ER_TEXT("At what time?"), true;
        const er_text which[] = {ER_TEXT("Which date is “"), er_said_words(of, day->first, day->last), ER_TEXT("”?")};
        return er_join(arena, which, 3, found);
    }
    if (questions[one->kind]) return *found = (er_text){questions[one->kind], strlen(questions[one->kind])}, true;
    if (!shown_name(arena, one, &parts[n++])) return false;
    const uint32_t shown = one->kind == ER_KIND_CHOICE && choices->kind == ER_JSON_ARRAY ? (choices->count < 5 ? choices->count : 5) : 0;
    for (uint32_t i = 0; shown > 1 && i < shown; i++) {
        parts[n++] = !i ? ER_TEXT(": ") : i + 1 < shown ? ER_TEXT(", ") : ER_TEXT(" or ");
        if (!er_json_shown(arena, &choices->items[i], &parts[n++])) return false;
    }
    parts[n++] = ER_TEXT("?");
    return er_join(arena, parts, n, found);
}
