/* 16.7 and 16.13: how a request is put, and whether it only asks. */

#include "said.h"

enum { WIDE_QUESTION = 0xff1f };

static bool begins(er_matcher *m, uint32_t rule, const er_view *text)
{
    uint32_t end;
    return er_matches(m, rule, text, 0, &end);
}

static bool finds(er_matcher *m, uint32_t rule, const er_view *text)
{
    er_span span;
    return er_finds(m, rule, text, 0, &span);
}

static bool is_mark(uint32_t c) { return c == '?' || c == WIDE_QUESTION; }
static bool closes(uint32_t c) { return c == '"' || c == '\'' || c == 0x201d || c == 0xbb || c == ')'; }

static bool is_question(er_matcher *m, er_language language, const er_said *said, uint32_t begin, uint32_t end)
{
    const er_rules *rules = &er_language_rules[language];
    const er_view sentence = er_part(&said->written, begin, end);
    if (begins(m, rules->question, &sentence) || begins(m, rules->state, &sentence)) return true;
    uint32_t last = end;
    while (last > begin && closes(said->written.points[last - 1])) last--;
    if (last == begin || !is_mark(said->written.points[last - 1])) return false;
    er_view low;
    er_span word;
    uint32_t at = 0;
    if (!er_low_part(m->arena, said, begin, end, &low) || !er_next_word(language, &low, &at, &word)) return false;
    return !(er_role_of(er_facts_of(&low, word), language)->lists & ER_VERB);
}

static bool only_asks(er_matcher *m, er_language language, const er_said *said)
{
    const er_rules *rules = &er_language_rules[language];
    const er_view *all = &said->written;
    uint32_t begin = 0, end = all->count < ER_LOOKED_AT ? all->count : ER_LOOKED_AT;
    while (begin < end && all->kinds[begin] & ER_IS_SPACE) begin++;
    while (begin < end && all->kinds[end - 1] & ER_IS_SPACE) end--;
    const er_view text = er_part(all, begin, end);
    bool marked = false;
    for (uint32_t i = 0; i < text.count && !marked; i++) marked = is_mark(text.points[i]);
    if (!marked && !begins(m, rules->question, &text) && !begins(m, rules->state, &text)) return false;
    if (finds(m, rules->demand, &text)) return false;
    /* Sentences end at white space behind one of .!? and behind one of 。！？. */
    for (uint32_t i = begin, from = begin; i <= end; i++) {
        const uint32_t before = i > begin ? all->points[i - 1] : 0;
        const bool wide = before == 0x3002 || before == 0xff01 || before == WIDE_QUESTION;
        const bool narrow = (before == '.' || before == '!' || before == '?') && i < end && all->kinds[i] & ER_IS_SPACE;
        if (i < end && !wide && !narrow) continue;
        if (i > from && !is_question(m, language, said, from, i)) return false;
        if (narrow)
            while (i < end && all->kinds[i] & ER_IS_SPACE) i++;
        from = i;
    }
    return true;
}

bool er_form_of(er_matcher *m, er_language language, const er_said *said, er_sayings *found)
{
    const er_rules *rules = &er_language_rules[language];
    found->question = begins(m, rules->question, &said->written);
    found->explains = finds(m, rules->knowledge, &said->low);
    found->bare = !finds(m, rules->value, &said->written) && !finds(m, rules->name, &said->written);
    found->only_asks = only_asks(m, language, said);
    return !m->failed;
}
