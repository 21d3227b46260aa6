/* What the head is told of one call beside words, and what rules and head count for, put together (8.4). */

#include "arguments.h"
#include "unicode.h"

enum { MOST_NEW = 8, PLAIN = 45, OWN = 14, SAID = 15, TAKEN = 17, NEAR = 19 };
static const double LEAST_LOG = -12.0, LEAST_RULES_MEASURED = 0.8, MOST_HEAD_MEASURED = 0.2;
static const float LEAST_NEW = -3.912023f; /* the log of .02 */

/* ---- Features ---- */

static void mark_matches(const er_reading *of, float *table)
{
    for (uint32_t kind = 0; kind < ER_MATCH_KINDS; kind++)
        for (uint32_t m = of->match_starts[kind]; m < of->match_starts[kind + 1]; m++) {
            const er_match *match = &of->matches[m];
            table[match->first * ER_ARG_UNIT_FEATURES + 3 * kind] = 1.0f;
            table[(match->last - 1) * ER_ARG_UNIT_FEATURES + 3 * kind + 1] = 1.0f;
            for (uint32_t i = match->first; i < match->last; i++) table[i * ER_ARG_UNIT_FEATURES + 3 * kind + 2] = 1.0f;
        }
}

static void mark_unit(const er_suitor *s, uint32_t i, float *row)
{
    const er_reading *of = s->reading;
    const er_unit *unit = &of->units[i];
    const uint32_t point = of->text.points[unit->begin], length = unit->end - unit->begin, n = of->unit_count;
    row[0] = er_is_decimal(point);
    row[1] = er_category_of(point) == ER_LU;
    row[2] = !unit->is_word;
    row[3] = !i;
    row[4] = i + 1 == n;
    row[5] = (float)((double)i / n);
    row[6] = i && unit[-1].end < unit->begin;
    row[7] = i + 1 < n && unit->end < unit[1].begin;
    row[8] = length == 1 && point == ',';
    row[9] = length == 1 && point < 128 && point && strchr(".!?;:", (int)point);
    row[10] = er_listed_in(unit->lower, "and or und oder et ou y o &");
    row[11] = (float)(length / 10.0);
    row[12] = er_is_common_unit(unit);
    row[13] = i && unit[-1].clause != unit->clause;
    row[OWN] = s->own[i];
    row[NEAR] = (float)s->near[unit->clause];
}

/* Which units are values of earlier calls, and which stand behind these. */
static bool mark_values(const er_suitor *s, er_words values, const uint32_t *low, uint32_t count, uint32_t column, float *table)
{
    const er_reading *of = s->reading;
    for (uint32_t k = 0; k < values.count; k++) {
        er_points value;
        uint32_t at = 0;
        if (column == SAID && er_is_reference(values.words[k], NULL)) continue;
        if (!er_points_of(s->arena, values.words[k], &value)) return false;
        while (at + value.count <= count && memcmp(low + at, value.points, value.count * sizeof *low)) at++;
        if (value.count < 2 || at + value.count > count) continue;
        for (uint32_t i = 0; i < of->unit_count; i++) {
            float *row = table + i * ER_ARG_UNIT_FEATURES + PLAIN + column;
            if (of->units[i].begin < at + value.count && at < of->units[i].end) row[0] = 1.0f;
            if (of->units[i].begin >= at + value.count) row[1] = 1.0f;
        }
    }
    return true;
}

static bool unit_features(const er_suitor *s, const uint32_t *low, uint32_t low_count, float *table)
{
    mark_matches(s->reading, table);
    for (uint32_t i = 0; i < s->reading->unit_count; i++) mark_unit(s, i, table + i * ER_ARG_UNIT_FEATURES + PLAIN);
    return mark_values(s, s->earlier->said, low, low_count, SAID, table) && mark_values(s, s->earlier->taken, low, low_count, TAKEN, table);
}

static void relate(const er_reading *of, const er_parameter *one, float *table)
{
    for (uint32_t i = 0; i < of->unit_count; i++, table += ER_ARG_RELATIONS) {
        if (of->units[i].stem.length) {
            table[0] = er_has(one->stems, of->units[i].stem);
            table[1] = er_has(one->told, of->units[i].stem);
        }
        table[2] = er_has(one->led, of->units[i].lower);
    }
}

static bool is_part(er_text of, er_text part)
{
    for (size_t i = 0; i + part.length <= of.length; i++)
        if (!memcmp(of.at + i, part.at, part.length)) return true;
    return false;
}

/* Of an option the share of its stems that the request says, whether it says all, in these very words, and found by rule. */
static bool option_features(const er_suitor *s, const er_parameter *one, uint32_t option, er_text low, const er_json *ruled, float *row)
{
    const er_json *value = one->options[option];
    const er_text text = one->option_texts[option];
    er_words wanted = one->stems;
    uint32_t said = 0;
    if (value->kind != ER_JSON_BOOLEAN) {
        er_text text_low;
        if (!er_words_in(s->arena, text, &wanted) || !er_lowered(s->arena, text, &text_low)) return false;
        row[2] = text.length > 1 && is_part(low, text_low);
        if (!wanted.count) {
            er_text *whole = ER_TAKE(s->arena, er_text, 1);
            if (!whole) return false;
            *whole = text_low;
            wanted = (er_words){whole, 1};
        }
    }
    for (uint32_t k = 0; k < wanted.count; k++) {
        bool there = false;
        for (uint32_t i = 0; i < s->reading->unit_count && !there; i++)
            there = s->reading->units[i].stem.length && er_same(s->reading->units[i].stem, wanted.words[k]);
        said += there;
    }
    row[0] = wanted.count ? (float)((double)said / wanted.count) : 0.0f;
    row[1] = wanted.count && said == wanted.count;
    row[3] = ruled && ruled->kind == value->kind && (value->kind != ER_JSON_NUMBER || ruled->whole == value->whole) && er_json_same(ruled, value);
    return true;
}

static void know(const er_suitor *s, er_headed *to)
{
    const er_reading *of = s->reading;
    uint32_t talk = 0;
    double sure = 0.0;
    for (uint32_t i = 0; i < of->unit_count; i++)
        talk += er_is_common_unit(&of->units[i]) || er_listed_in(of->units[i].lower, "hey hi pls i'm i'd i'll");
    const float *options = to->shares.options, *spans = to->shares.spans;
    for (uint32_t p = 0; p < to->tool->pointed.count; p++, spans += to->units * ER_ARG_LONGEST) {
        const uint32_t count = (uint32_t)to->tool->pointed.counts[p];
        float most = to->shares.absent[p];
        for (uint32_t i = 0; i < count; i++) most = options[i] > most ? options[i] : most;
        for (uint32_t i = 0; !count && i < to->units * ER_ARG_LONGEST; i++) most = spans[i] > most ? spans[i] : most;
        options += count;
        sure += (double)most;
    }
    to->call[0] = to->tool->needed;
    to->call[1] = to->tool->camel;
    to->call[2] = (double)talk / of->unit_count;
    to->call[3] = log(of->unit_count + 1.0) - 2.7;
    to->call[4] = to->tool->described;
    to->call[5] = sure / to->tool->pointed.count + 0.5;
}

bool er_headed_of(const er_suitor *s, const er_stored_arguments *stored, const float *words, er_headed *to, bool *there)
{
    const er_reading *of = s->reading;
    const er_pointed *asked = &s->tool->pointed;
    const uint32_t n = of->unit_count;
    er_arena *arena = s->arena;
    *there = stored && words && asked->count && n && n <= ER_MOST_UNITS_READ;
    if (!*there) return true;
    float *features = ER_TAKE(arena, float, n * ER_ARG_UNIT_FEATURES), *relations = ER_TAKE(arena, float, (size_t)asked->count * n * ER_ARG_RELATIONS);
    float *told = ER_TAKE(arena, float, (asked->options + 1) * ER_ARG_OPTION_FEATURES), *row = told;
    int64_t *places = ER_TAKE(arena, int64_t, 3 * (size_t)of->piece_count + 1);
    uint32_t *low = ER_TAKE(arena, uint32_t, 2 * (size_t)of->text.count + 1), place_count = 0;
    er_text low_text;
    if (!features || !relations || !told || !places || !low) return false;
    const uint32_t low_count = er_lower(of->text.points, of->text.count, low);
    if (!er_text_of(arena, low, low_count, &low_text) || !unit_features(s, low, low_count, features)) return false;
    for (uint32_t p = 0; p < asked->count; p++) {
        const er_parameter *one = &s->tool->parameters[s->tool->asked[p]];
        er_found ruled = {0};
        relate(of, one, relations + (size_t)p * n * ER_ARG_RELATIONS);
        if (one->option_count && !er_chosen(s, one, &ruled)) return false;
        for (uint32_t k = 0; k < one->option_count; k++, row += ER_ARG_OPTION_FEATURES)
            if (!option_features(s, one, k, low_text, ruled.value, row)) return false;
    }
    for (uint32_t i = 0; i < of->piece_count; i++) {
        const er_piece *piece = &of->pieces[i];
        if (piece->last <= piece->first || piece->last - piece->first > ER_ARG_LONGEST) continue;
        places[3 * place_count] = piece->kind;
        places[3 * place_count + 1] = piece->first;
        places[3 * place_count++ + 2] = piece->last - piece->first - 1;
    }
    *to = (er_headed){.stored = stored, .tool = s->tool, .units = n};
    const er_pointing pointing = {words, features, relations, told, places, n, place_count};
    if (!er_point_call(arena, stored->head, asked, &pointing, &to->shares)) return false;
    know(s, to);
    return true;
}

/* ---- Joining ---- */

static double log_of(double share)
{
    const double found = log(share > 1e-9 ? share : 1e-9);
    return found > LEAST_LOG ? found : LEAST_LOG;
}

static double floored(float share) { return (double)share > LEAST_LOG ? (double)share : LEAST_LOG; }

/* A value with its log-shares by the rules and by the head, and whether it is the head's alone. */
typedef struct {
    er_fit fit;
    uint32_t first, last; /* where the head points, which a mark may begin or end */
    double rules, head;
    bool new;
} answer;

typedef struct {
    answer *all;
    double *scores;     /* of every fit; */
    uint32_t *of;       /* and whose it is */
    uint32_t count, score_count;
} answers;

static bool same_value(const er_json *a, const er_json *b)
{
    return a->kind == b->kind && (a->kind == ER_JSON_TEXT ? er_same(a->text, b->text) : a->number == b->number && a->whole == b->whole);
}

static void add(answers *to, const er_fit *fit, uint32_t first, uint32_t last, bool new)
{
    uint32_t at = 0;
    while (at < to->count && !(to->all[at].first == first && to->all[at].last == last && same_value(to->all[at].fit.value, fit->value))) at++;
    if (at == to->count) to->all[to->count++] = (answer){.fit = *fit, .first = first, .last = last, .new = new};
    to->scores[to->score_count] = fit->score;
    to->of[to->score_count++] = at;
}

/* The likeliest spans that the rules do not have, in order. */
static bool add_new(const er_suitor *s, const er_parameter *one, const float *spans, uint32_t count, answers *to, bool any_script)
{
    uint32_t best[MOST_NEW], n = 0;
    const uint32_t known = to->count;
    for (uint32_t i = 0; i < count; i++) {
        if (!(spans[i] >= LEAST_NEW)) continue;
        if (n == MOST_NEW && spans[i] <= spans[best[n - 1]]) continue;
        uint32_t k = n < MOST_NEW ? n++ : n - 1;
        for (; k && spans[i] > spans[best[k - 1]]; k--) best[k] = best[k - 1];
        best[k] = i;
    }
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k && best[k] < best[k - 1]; k--) {
            const uint32_t other = best[k];
            best[k] = best[k - 1];
            best[k - 1] = other;
        }
    for (uint32_t i = 0; i < n; i++) {
        const uint32_t first = best[i] / ER_ARG_LONGEST, last = first + best[i] % ER_ARG_LONGEST + 1;
        bool there = false;
        er_fit fit;
        for (uint32_t k = 0; k < known && !there; k++) there = to->all[k].first == first && to->all[k].last == last;
        if (there) continue;
        if (!er_fit_of(s, one, first, last, any_script, &fit, &there)) return false;
        if (there) add(to, &fit, first, last, true);
    }
    return true;
}

static double weigh(const double *weights, const double *contexts, uint32_t count)
{
    double sum = weights[0];
    for (uint32_t i = 0; i < count; i++) sum += weights[1 + i] * contexts[i];
    return sum;
}

bool er_joined(const er_suitor *s, const er_headed *by, uint32_t asked, const er_fit **found, uint32_t *count, double *absent)
{
    enum { WHEN, NUMBER, NAME, TEXT, TOKEN, NONE };
    static const uint8_t groups[ER_KINDS] = {
        [ER_KIND_EMAIL] = TOKEN, [ER_KIND_URL] = TOKEN, [ER_KIND_PHONE] = TOKEN, [ER_KIND_ID] = TOKEN, [ER_KIND_PATH] = TOKEN,
        [ER_KIND_DURATION] = NUMBER, [ER_KIND_WHEN] = WHEN, [ER_KIND_TEXT] = TEXT, [ER_KIND_PLACE] = NAME, [ER_KIND_PERSON] = NAME,
        [ER_KIND_NUMBER] = NUMBER, [ER_KIND_BOOLEAN] = NONE, [ER_KIND_CHOICE] = NONE, [ER_KIND_COMMAND] = TEXT, [ER_KIND_ANY] = NONE,
        [ER_KIND_NESTED] = NONE};
    const er_parameter *one = &s->tool->parameters[s->tool->asked[asked]];
    const er_pool *pool = &by->stored->pool;
    const uint32_t size = by->units * ER_ARG_LONGEST;
    const float *spans = by->shares.spans + (size_t)asked * size;
    const er_fit *fits;
    uint32_t n;
    if (!er_fits_of(s, one, pool->tuned && !one->many ? spans : NULL, &fits, &n)) return false;
    answers all = {.all = ER_TAKE(s->arena, answer, n + MOST_NEW), .scores = ER_TAKE(s->arena, double, n + MOST_NEW + 1), .of = ER_TAKE(s->arena, uint32_t, n + MOST_NEW + 1)};
    er_fit *joined = ER_TAKE(s->arena, er_fit, n + MOST_NEW + 1);
    if (!all.all || !all.scores || !all.of || !joined) return false;
    for (uint32_t i = 0; i < n; i++) add(&all, &fits[i], fits[i].piece.first, fits[i].piece.last, false);
    if (!add_new(s, one, spans, size, &all, pool->any_script)) return false;
    all.scores[all.score_count] = er_absent_of(one);
    er_shares(all.scores, all.score_count + 1);
    const double nobody = log_of(all.scores[all.score_count]), nobody_by_head = floored(by->shares.absent[asked]);
    double by_rules = nobody, by_head = nobody_by_head;
    uint32_t first = all.count, second = all.count;
    for (uint32_t i = 0; i < all.count; i++) {
        answer *a = &all.all[i];
        double share = 0.0;
        for (uint32_t k = 0; k < all.score_count; k++) share += all.of[k] == i ? all.scores[k] : 0.0;
        a->rules = log_of(share);
        a->head = a->last - a->first <= ER_ARG_LONGEST ? floored(spans[a->first * ER_ARG_LONGEST + a->last - a->first - 1]) : LEAST_LOG;
        by_rules = a->rules > by_rules ? a->rules : by_rules;
        by_head = a->head > by_head ? a->head : by_head;
    }
    for (uint32_t i = all.count; i--;) {
        if (all.all[i].rules == by_rules) first = i;
        if (all.all[i].head == by_head) second = i;
    }
    double contexts[ER_POOL_SPAN_CONTEXTS - 1] = {one->required, one->many};
    if (groups[one->kind] != NONE) contexts[2 + groups[one->kind]] = 1.0;
    contexts[7] = one->has_unit;
    contexts[8] = by_head + 0.5;
    contexts[9] = by_rules + 0.5;
    contexts[10] = first == second;
    memcpy(contexts + 11, by->call, sizeof by->call);
    double weights[ER_POOL_SPANS];
    for (int i = 0; i < ER_POOL_SPANS; i++) weights[i] = weigh(pool->spans[i], contexts, ER_POOL_SPAN_CONTEXTS - 1);
    weights[3] += one->required ? pool->absent_required : pool->absent_optional;
    if (pool->tuned && one->has_unit) {
        weights[0] = weights[0] > LEAST_RULES_MEASURED ? weights[0] : LEAST_RULES_MEASURED;
        weights[1] = weights[1] < MOST_HEAD_MEASURED ? weights[1] : MOST_HEAD_MEASURED;
    }
    for (uint32_t i = 0; i <= all.count; i++) {
        const bool last = i == all.count;
        const double r = last ? nobody : all.all[i].rules, h = last ? nobody_by_head : all.all[i].head;
        const double score = weights[0] * r + weights[1] * h + (!last && all.all[i].new ? weights[2] : 0.0) + (last ? weights[3] : 0.0) +
                             (i == first ? weights[4] : 0.0) + (i == second ? weights[5] : 0.0) + weights[6] * exp(h);
        if (last) {
            *absent = score;
            break;
        }
        er_fit fit = all.all[i].fit;
        fit.score = score;
        uint32_t k = i;
        for (; k && (score > joined[k - 1].score || (score == joined[k - 1].score && fit.piece.first < joined[k - 1].piece.first)); k--) joined[k] = joined[k - 1];
        joined[k] = fit;
    }
    *found = joined;
    *count = all.count;
    return true;
}

bool er_option_shares(const er_suitor *s, const er_headed *by, uint32_t asked, const bool *ruled, double *shares)
{
    const er_parameter *one = &s->tool->parameters[s->tool->asked[asked]];
    const er_pool *pool = &by->stored->pool;
    const float *each = by->shares.options;
    for (uint32_t p = 0; p < asked; p++) each += s->tool->pointed.counts[p];
    const double absent = floored(by->shares.absent[asked]);
    double most = absent, weights[ER_POOL_OPTIONS], contexts[ER_POOL_OPTION_CONTEXTS - 1] = {one->required, one->kind == ER_KIND_BOOLEAN};
    for (uint32_t i = 0; i < one->option_count; i++) {
        if (ruled[i]) contexts[2] = 1.0;
        most = floored(each[i]) > most ? floored(each[i]) : most;
    }
    contexts[3] = most + 0.5;
    memcpy(contexts + 4, by->call, sizeof by->call);
    for (int i = 0; i < ER_POOL_OPTIONS; i++) weights[i] = weigh(pool->options[i], contexts, ER_POOL_OPTION_CONTEXTS - 1);
    weights[2] += one->required ? pool->no_option_required : pool->no_option_optional;
    for (uint32_t i = 0; i < one->option_count; i++) shares[i] = weights[0] * floored(each[i]) + (ruled[i] ? weights[1] : 0.0);
    shares[one->option_count] = weights[0] * absent + weights[2];
    er_shares(shares, one->option_count + 1);
    return true;
}
