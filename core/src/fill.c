/* Puts the values of a call together: outputs, choices, and the words of the request, each of which is given once. Knows
   nothing of how well anything suits. */

#include "arguments.h"
#include "format.h"

enum { MOST_ITEMS = 32, MOST_OTHERS = 3 };
static const double LEAST = 0.2, LEAST_OPTIONAL = 0.4, OF_ABSENT_REQUIRED = 0.5;
static const double LEAST_KNOWN = 0.05, LEAST_BESIDE = 0.3, OF_ABSENT_BESIDE = 0.6, LEAST_SAID = 0.2, MOST_ABSENT = 0.65;
static const double OVER_OUTPUT = 0.8, OVER_LEFTOVER = 0.5, OF_TAKEN = 0.5;
static const double OVER_ORDER = 1.0; /* so much more must the words say for two numbers the other way round */

/* What a parameter may take, with the share of each value, the likeliest first. */
typedef struct {
    double share;
    const er_fit *fit;
} pair;

typedef struct {
    const er_fit **fits, **gone; /* (count), (gone_count): those that are left, and what others took */
    pair *pairs;                 /* (pair_count), from `at` on */
    uint32_t count, gone_count, pair_count, at;
    bool waits;
} line;

static bool overlaps(const er_piece *a, const er_piece *b) { return a->first < b->last && b->first < a->last; }

static bool is_used(const er_filling *f, const er_piece *piece)
{
    for (uint32_t i = 0; i < f->used_count; i++)
        if (overlaps(piece, &f->used[i])) return true;
    return false;
}

/* The least share of a value that is taken, by the share that nobody said any. */
static double least_of(const er_filling *f, const er_parameter *one, double absent)
{
    if (f->tuned) return one->required ? LEAST_KNOWN : absent < MOST_ABSENT ? LEAST_SAID : INFINITY;
    if (f->headed) {
        if (one->required && one->kind != ER_KIND_ID) return LEAST_KNOWN; /* an id is no guess */
        return fmax(LEAST_BESIDE, absent * OF_ABSENT_BESIDE);
    }
    return one->required ? fmax(LEAST, absent * OF_ABSENT_REQUIRED) : fmax(LEAST_OPTIONAL, absent);
}

static bool same_value(const er_json *a, const er_json *b)
{
    return a->kind == b->kind && (a->kind == ER_JSON_TEXT ? er_same(a->text, b->text) : a->number == b->number && a->whole == b->whole);
}

static bool share_out(const er_filling *f, uint32_t number, line *to)
{
    const er_parameter *one = &f->suitor->tool->parameters[number];
    const uint32_t all = to->count + to->gone_count;
    to->pair_count = to->at = 0;
    if (!to->count) return true;
    const er_place place = er_mark(f->suitor->arena);
    double *scores = ER_TAKE(f->suitor->arena, double, all + 1);
    if (!scores) return false;
    for (uint32_t i = 0; i < all; i++) scores[i] = (i < to->count ? to->fits[i] : to->gone[i - to->count])->score;
    scores[all] = f->absent[number];
    er_shares(scores, all + 1);
    double absent = scores[all], taken = 0.0, total = 0.0;
    for (uint32_t i = 0; i < all; i++) *(i < to->count ? &total : &taken) += scores[i];
    absent += OF_TAKEN * taken;
    total += absent;
    for (uint32_t i = 0; i < to->count; i++) scores[i] /= total;
    const double least = least_of(f, one, absent / total);
    for (uint32_t i = 0; i < to->count; i++) {
        double share = 0.0;
        for (uint32_t k = 0; k < to->count; k++) share += same_value(to->fits[i]->value, to->fits[k]->value) ? scores[k] : 0.0;
        if (!(share >= least)) continue;
        uint32_t k = to->pair_count++;
        for (; k && share > to->pairs[k - 1].share; k--) to->pairs[k] = to->pairs[k - 1];
        to->pairs[k] = (pair){share, to->fits[i]};
    }
    er_release(f->suitor->arena, place);
    return true;
}

/* ---- Several values ---- */

/* Whether a value is one of two with an "or" between them, so that nobody knows which. */
static bool is_either(const er_filling *f, const er_piece *piece)
{
    static const char *const either = "or oder ou o";
    static const uint32_t counts = 1u << ER_PIECE_NUMBER | 1u << ER_PIECE_MEASURE | 1u << ER_PIECE_DURATION | 1u << ER_PIECE_MONEY | 1u << ER_PIECE_PERCENT;
    const er_reading *of = f->suitor->reading;
    int32_t behind = -1, before = -1;
    if (er_is_plain_piece(piece->kind)) return false;
    if (piece->last < of->unit_count && er_listed_in(of->units[piece->last].lower, either)) behind = piece->last + 1;
    if (piece->first > 1 && er_listed_in(of->units[piece->first - 1].lower, either)) before = piece->first - 1;
    const uint32_t same = counts >> piece->kind & 1 ? counts : 1u << piece->kind;
    for (uint32_t i = 0; i < of->piece_count; i++)
        if (same >> of->pieces[i].kind & 1 && (of->pieces[i].first == behind || of->pieces[i].last == before)) return true;
    return false;
}

typedef struct {
    const er_json *at[MOST_ITEMS + 8];
    uint32_t count;
} values;

/* A value, or those that one run of capitals names, put in front of others or behind them. */
static bool add_split(const er_filling *f, const er_fit *fit, bool in_front, values *to)
{
    er_arena *arena = f->suitor->arena;
    const er_json *parts[8];
    uint32_t count = 0;
    er_text text = fit->value->text;
    if (fit->piece.kind == ER_PIECE_NAME && fit->value->kind == ER_JSON_TEXT)
        for (size_t i = 0; i < text.length && count + 1 < 8;) { /* a word between spaces */
            size_t begin = i, word = i;
            while (word < text.length && (text.at[word] == ' ' || text.at[word] == '\n' || text.at[word] == '\t')) word++;
            size_t end = word, behind;
            while (end < text.length && text.at[end] != ' ' && text.at[end] != '\n' && text.at[end] != '\t') end++;
            behind = end;
            while (behind < text.length && (text.at[behind] == ' ' || text.at[behind] == '\n' || text.at[behind] == '\t')) behind++;
            if (word > begin && behind > end && er_listed_in(er_cut(text, word, end), "and und et y")) {
                if (!(parts[count++] = er_json_text(arena, er_cut(text, 0, begin)))) return false;
                text = er_cut(text, behind, text.length);
                i = 0;
            } else i = end > i ? end : i + 1;
        }
    if (!count) parts[count++] = fit->value;
    else if (!(parts[count++] = er_json_text(arena, text))) return false;
    if (to->count + count > sizeof to->at / sizeof *to->at) return true;
    if (in_front) memmove(to->at + count, to->at, to->count * sizeof *to->at);
    for (uint32_t i = 0; i < count; i++) to->at[in_front ? i : to->count + i] = parts[i];
    to->count += count;
    return true;
}

static bool is_joint(const er_unit *unit) { return er_listed_in(unit->lower, ", and or & + und a an the some my \" ” “"); }
static bool is_separate(uint32_t kind) { return kind == ER_PIECE_PATH || kind == ER_PIECE_EMAIL || kind == ER_PIECE_URL; }

/* The best fit that begins there, or ends there and is of this kind. */
static const er_fit *fit_at(const line *in, uint32_t at, bool begins, uint32_t kind)
{
    for (uint32_t i = 0; i < in->count; i++) {
        const er_piece *piece = &in->fits[i]->piece;
        if (piece->kind != ER_PIECE_JOINED && (begins ? piece->first == at : piece->last == at && piece->kind == kind)) return in->fits[i];
    }
    return NULL;
}

/* The share of a value; 0 for one that is too small to be taken. */
static double share_of(const line *in, const er_fit *fit)
{
    for (uint32_t i = 0; i < in->pair_count; i++)
        if (same_value(in->pairs[i].fit->value, fit->value)) return in->pairs[i].share;
    return 0.0;
}

/* A list's values, all their shares, and the units from the first up to the last: the one that suits best, those that commas and "and" join to
   it, and those of its own kind that it is joined to. No value: the schema refuses them. */
static bool several(const er_filling *f, const er_parameter *one, const er_fit *fit, const line *in, er_piece *used, const er_json **found, double *share)
{
    const er_fit *picked[MOST_ITEMS + 1] = {fit};
    uint32_t count = 1;
    const er_reading *of = f->suitor->reading;
    values all = {.count = 0};
    uint32_t first = fit->piece.first, last = fit->piece.last;
    if (!add_split(f, fit, false, &all)) return false;
    while (all.count < MOST_ITEMS) {
        uint32_t at = last;
        while (at < of->unit_count && is_joint(&of->units[at])) at++;
        const er_fit *next = at > fit->piece.first ? fit_at(in, at, true, 0) : NULL;
        if (!next || is_used(f, &next->piece)) break;
        if (at == last && !(is_separate(fit->piece.kind) && is_separate(next->piece.kind))) break;
        if (!add_split(f, next, false, &all)) return false;
        picked[count++] = next;
        last = next->piece.last;
    }
    while (all.count < MOST_ITEMS) {
        uint32_t at = first;
        while (at && is_joint(&of->units[at - 1])) at--;
        const er_fit *next = fit_at(in, at, false, fit->piece.kind);
        if (!next || is_used(f, &next->piece)) break;
        if (at == first && !is_separate(fit->piece.kind)) break;
        if (!add_split(f, next, true, &all)) return false;
        picked[count++] = next;
        first = next->piece.first;
    }
    *used = fit->piece;
    used->first = (uint16_t)first;
    used->last = (uint16_t)last;
    *found = er_several(f->suitor->arena, all.at, all.count, one);
    *share = 0.0;
    for (uint32_t i = 0; i < count; i++) {
        bool known = false;
        for (uint32_t k = 0; k < i && !known; k++) known = same_value(picked[k]->value, picked[i]->value);
        *share += known ? 0.0 : share_of(in, picked[i]);
    }
    return true;
}

/* ---- Words ---- */

static bool give(er_filling *f, uint32_t number, line *lines, er_found *found)
{
    const er_parameter *one = &f->suitor->tool->parameters[number];
    const er_reading *of = f->suitor->reading;
    line *own = &lines[number];
    const pair best = own->pairs[own->at++];
    const er_output *output = &f->outputs[number];
    er_piece used = best.fit->piece;
    const er_json *value = best.fit->value;
    double share = best.share;
    if (output->call && !output->named && best.share < (output->leftover ? OVER_LEFTOVER : OVER_OUTPUT)) return true;
    if (!one->many && is_either(f, &best.fit->piece)) return true;
    if (one->many && !several(f, one, best.fit, own, &used, &value, &share)) return false;
    if (!value) return true;
    f->used[f->used_count++] = used;
    *found = (er_found){.value = value, .source = ER_FROM_WORDS, .rule = (uint8_t)(ER_RULE_PIECE + best.fit->piece.kind), .score = share,
                        .spanned = true, .span = {of->units[used.first].begin, of->units[used.last - 1].end}};
    for (uint32_t i = own->at; i < own->pair_count && found->other_count < MOST_OTHERS; i++) {
        const er_json *other = own->pairs[i].fit->value;
        bool there = er_json_same(other, best.fit->value);
        for (uint32_t k = 0; k < found->other_count && !there; k++) there = er_json_same(other, found->others[k]);
        if (!there) found->others[found->other_count++] = other;
    }
    own->waits = false;
    for (uint32_t p = 0; p < f->suitor->tool->wanted; p++) {
        line *other = &lines[p];
        uint32_t kept = 0;
        if (!other->waits) continue;
        for (uint32_t i = 0; i < other->count; i++) {
            if (overlaps(&other->fits[i]->piece, &used)) other->gone[other->gone_count++] = other->fits[i];
            else other->fits[kept++] = other->fits[i];
        }
        if (kept == other->count) continue;
        other->count = kept;
        if (!share_out(f, p, other)) return false;
    }
    return true;
}

/* ---- Two numbers together ---- */

/* Whether two numbers stand in a row with one word between them that joins two measures. */
static bool is_pair(const er_reading *of, const er_piece *a, const er_piece *b)
{
    return a->last + 1u == b->first && er_listed_in(of->units[a->last].lower, "over by x × / on to and zu auf mal sur par sobre por");
}

/* What a parameter would take of the same units. */
static const er_fit *same_units(const line *in, const er_piece *piece)
{
    const er_fit *best = NULL;
    for (uint32_t k = 0; k < in->count + in->gone_count; k++) {
        const er_fit *fit = k < in->count ? in->fits[k] : in->gone[k - in->count];
        if (fit->piece.first == piece->first && fit->piece.last == piece->last && fit->piece.kind == piece->kind && (!best || fit->score > best->score)) best = fit;
    }
    return best;
}

static void take(er_found *found, const er_json *value)
{
    for (uint32_t k = 0; k < found->other_count; k++)
        if (er_json_same(found->others[k], value)) found->others[k] = found->value;
    found->value = value;
}

/* Two bare numbers with a word such as "over" between them are of two parameters in the order in which the tool has these, unless
   the words around them speak for the other one. Both are as sure as the surer one. */
static void put_in_order(const er_filling *f, const line *lines, const er_fit **picked, er_found *found)
{
    const er_taking *tool = f->suitor->tool;
    const er_reading *of = f->suitor->reading;
    for (uint32_t p = 0; p < tool->wanted; p++)
        for (uint32_t q = p + 1; q < tool->wanted; q++) {
            if (!picked[p] || !picked[q]) continue;
            if (is_pair(of, &picked[q]->piece, &picked[p]->piece)) {
                const er_fit *x = same_units(&lines[p], &picked[q]->piece), *y = same_units(&lines[q], &picked[p]->piece);
                if (!x || !y || picked[p]->score + picked[q]->score - x->score - y->score >= OVER_ORDER) continue;
                const er_span span = found[p].span;
                picked[p] = x;
                picked[q] = y;
                take(&found[p], x->value);
                take(&found[q], y->value);
                found[p].span = found[q].span;
                found[q].span = span;
            } else if (!is_pair(of, &picked[p]->piece, &picked[q]->piece)) {
                continue;
            }
            found[p].score = found[q].score = found[p].score > found[q].score ? found[p].score : found[q].score;
        }
}

/* Gives each parameter the piece that suits it best, the surest first. What is left is shared anew. */
static bool assign(er_filling *f, line *lines, er_found *found)
{
    const uint32_t n = f->suitor->tool->wanted;
    const er_fit **picked = ER_TAKE(f->suitor->arena, const er_fit *, n + 1); /* bare numbers */
    if (!picked) return false;
    memset(picked, 0, (n + 1) * sizeof *picked);
    for (uint32_t p = 0; p < n; p++)
        if (lines[p].waits && !share_out(f, p, &lines[p])) return false;
    for (;;) {
        uint32_t best = UINT32_MAX;
        for (uint32_t p = 0; p < n; p++)
            if (lines[p].waits && lines[p].at < lines[p].pair_count &&
                (best == UINT32_MAX || lines[p].pairs[lines[p].at].share > lines[best].pairs[lines[best].at].share))
                best = p;
        if (best == UINT32_MAX) break;
        const er_fit *fit = lines[best].pairs[lines[best].at].fit;
        const er_parameter *one = &f->suitor->tool->parameters[best];
        if (!give(f, best, lines, &found[best])) return false;
        if (found[best].source == ER_FROM_WORDS && found[best].value && one->kind == ER_KIND_NUMBER && !one->many && fit->piece.kind == ER_PIECE_NUMBER) picked[best] = fit;
    }
    put_in_order(f, lines, picked, found);
    return true;
}

static bool wait_for(const er_filling *f, uint32_t number, uint32_t asked, line *to)
{
    er_arena *arena = f->suitor->arena;
    const er_parameter *one = &f->suitor->tool->parameters[number];
    const er_fit *fits;
    uint32_t count;
    f->absent[number] = er_absent_of(one);
    if (!(f->headed && asked != UINT32_MAX ? er_joined(f->suitor, &f->head, asked, &fits, &count, &f->absent[number])
                                           : er_fits_of(f->suitor, one, NULL, &fits, &count)))
        return false;
    *to = (line){.fits = ER_TAKE(arena, const er_fit *, count + 1), .gone = ER_TAKE(arena, const er_fit *, count + 1), .pairs = ER_TAKE(arena, pair, count + 1), .count = count, .waits = true};
    if (!to->fits || !to->gone || !to->pairs) return false;
    for (uint32_t i = 0; i < count; i++) to->fits[i] = &fits[i];
    return true;
}

/* ---- Options, outputs, and what is left ---- */

static bool is_option(const er_parameter *one, const er_json *value, const er_json *ruled)
{
    if (!ruled) return false;
    if (one->many) {
        if (ruled->kind != ER_JSON_ARRAY || ruled->count != 1) return false;
        ruled = ruled->items;
        return er_json_same(ruled, value);
    }
    return ruled->kind == value->kind && (value->kind != ER_JSON_NUMBER || ruled->whole == value->whole) && er_json_same(ruled, value);
}

static bool option_of(const er_filling *f, const er_parameter *one, uint32_t asked, er_found *found)
{
    er_arena *arena = f->suitor->arena;
    const uint32_t n = one->option_count;
    if (!er_chosen(f->suitor, one, found)) return false;
    if (!f->headed || asked == UINT32_MAX || !n) return true;
    bool *ruled = ER_TAKE(arena, bool, n);
    double *shares = ER_TAKE(arena, double, n + 1);
    uint32_t *order = ER_TAKE(arena, uint32_t, n);
    if (!ruled || !shares || !order) return false;
    for (uint32_t i = 0; i < n; i++) ruled[i] = is_option(one, one->options[i], found->value);
    if (!er_option_shares(f->suitor, &f->head, asked, ruled, shares)) return false;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t k = i;
        for (; k && shares[i] > shares[order[k - 1]]; k--) order[k] = order[k - 1];
        order[k] = i;
    }
    const er_found by_rule = *found;
    *found = (er_found){.source = ER_FROM_CHOICE, .rule = ER_RULE_OPTION, .score = shares[order[0]]};
    const er_json *value = one->options[order[0]], *whole = one->many ? er_json_list(arena, value, 1) : value;
    if (!whole) return false;
    if (shares[order[0]] < least_of(f, one, shares[n]) || !er_takes(arena, one, whole)) return true;
    found->value = whole;
    found->spanned = by_rule.value && ruled[order[0]] && by_rule.spanned;
    if (found->spanned) found->span = by_rule.span;
    for (uint32_t i = 1; i < n && i <= MOST_OTHERS; i++) found->others[found->other_count++] = one->options[order[i]];
    return true;
}

static const er_json *reference_to(er_arena *arena, uint32_t call)
{
    char *made = ER_TAKE(arena, char, 24);
    return made ? er_json_text(arena, (er_text){made, er_format(made, 24, "$out_%u", call)}) : NULL;
}

/* An output: the value that its result has, where somebody told it, or else what stands for it. */
static bool from_output(const er_filling *f, const er_parameter *one, const er_output *output, er_found *found)
{
    er_arena *arena = f->suitor->arena;
    const er_made *call = &f->suitor->earlier->calls[output->call - 1];
    const er_json *reference = reference_to(arena, output->call);
    const bool id = one->kind == ER_KIND_ID;
    if (!reference) return false;
    *found = (er_found){.source = ER_FROM_OUTPUT, .score = output->score};
    if (call->result && !one->many) {
        found->value = er_result_value(arena, call, one, true);
        found->rule = output->named ? ER_RULE_NAMED_RESULT : ER_RULE_RESULT;
        found->others[0] = reference;
        found->other_count = 1;
        if (found->value) return true;
        found->other_count = 0;
    }
    found->rule = output->counted ? ER_RULE_COUNTED : output->named ? (id ? ER_RULE_NAMED_ID : ER_RULE_NAMED_TEXT) : id ? ER_RULE_WORDS_ID : ER_RULE_WORDS_TEXT;
    found->value = reference;
    if (!one->many) return true;
    er_json *items = ER_TAKE(arena, er_json, output->beside_count + 1);
    const er_json **each = ER_TAKE(arena, const er_json *, output->beside_count + 1);
    uint32_t n = 0;
    if (!items || !each) return false;
    for (uint32_t k = 1; k <= f->suitor->earlier->count; k++) {
        bool meant = k == output->call;
        for (uint32_t i = 0; i < output->beside_count; i++) meant |= output->beside[i] == k;
        if (!meant) continue;
        const er_json *one_of = reference_to(arena, k);
        if (!one_of) return false;
        items[n] = *one_of;
        each[n] = &items[n];
        n++;
    }
    found->value = er_several(arena, each, n, one) ? er_json_list(arena, items, n) : er_json_list(arena, reference, 1);
    return found->value != NULL;
}

static const er_json *argument_of(const er_made *call, er_text name)
{
    for (uint32_t i = 0; i < call->arguments->count; i++)
        if (er_same(call->arguments->keys[i], name)) return &call->arguments->items[i];
    return NULL;
}

static bool is_text_reference(const er_json *value) { return value && value->kind == ER_JSON_TEXT && er_is_reference(value->text, NULL); }

/* The output that an earlier call of another tool took by the same name. */
static bool reference_of(const er_filling *f, const er_parameter *one, er_found *found)
{
    const er_earlier *earlier = f->suitor->earlier;
    const er_kind kind = one->kind;
    if (one->inside.length || kind == ER_KIND_NUMBER || kind == ER_KIND_WHEN || kind == ER_KIND_TEXT || kind == ER_KIND_CHOICE || kind == ER_KIND_BOOLEAN) return true;
    for (uint32_t k = earlier->count; k--;) {
        const er_json *value = argument_of(&earlier->calls[k], one->name);
        if (!is_text_reference(value) || er_same(earlier->calls[k].tool, f->suitor->tool->tool->name)) continue;
        if (one->many && !(value = er_json_list(f->suitor->arena, value, 1))) return false;
        *found = (er_found){.value = value, .source = ER_FROM_EARLIER, .rule = ER_RULE_REFERENCE, .score = 1.0};
        return true;
    }
    return true;
}

/* What is left to a parameter that no words of the request are for. */
static bool rest_of(const er_filling *f, const er_parameter *one, const er_output *output, er_found *found)
{
    er_arena *arena = f->suitor->arena;
    const er_earlier *earlier = f->suitor->earlier;
    if (output->call) return from_output(f, one, output, found);
    for (uint32_t k = one->required && !one->many ? earlier->count : 0; k--;) {
        const er_made *call = &earlier->calls[k];
        const er_json *value = call->result && !er_same(call->tool, f->suitor->tool->tool->name) ? er_result_value(arena, call, one, false) : NULL;
        if (value) return *found = (er_found){.value = value, .source = ER_FROM_OUTPUT, .rule = ER_RULE_RESULT, .score = 1.0}, true;
    }
    for (uint32_t k = one->required || one->kind == ER_KIND_ID ? earlier->count : 0; k--;) {
        const er_json *value = argument_of(&earlier->calls[k], one->name);
        if (value && (is_text_reference(value) || (value->kind != ER_JSON_OBJECT && value->kind != ER_JSON_ARRAY && er_takes(arena, one, value))))
            return *found = (er_found){.value = value, .source = ER_FROM_EARLIER, .rule = ER_RULE_EARLIER, .score = 1.0}, true;
    }
    const er_json *standard = one->required ? er_json_get(one->whole, "default") : NULL;
    if (standard && er_takes(arena, one, standard)) *found = (er_found){.value = standard, .source = ER_FROM_DEFAULT, .rule = ER_RULE_DEFAULT, .score = 1.0};
    return true;
}

bool er_fill_call(er_filling *f, er_found *found)
{
    er_arena *arena = f->suitor->arena;
    const er_taking *tool = f->suitor->tool;
    const uint32_t n = tool->wanted;
    line *lines = ER_TAKE(arena, line, n + 1);
    f->outputs = ER_TAKE(arena, er_output, n + 1);
    f->absent = ER_TAKE(arena, double, n + 1);
    f->used = ER_TAKE(arena, er_piece, n + 1);
    if (!lines || !f->outputs || !f->absent || !f->used) return false;
    if (!er_outputs_of(arena, tool, f->suitor->earlier, f->stored, f->outputs) ||
        !er_headed_of(f->suitor, f->stored, f->words, &f->head, &f->headed))
        return false;
    for (uint32_t p = 0; p < n; p++) {
        const er_parameter *one = &tool->parameters[p];
        const er_output *output = &f->outputs[p];
        uint32_t asked = 0;
        while (asked < tool->pointed.count && tool->asked[asked] != p) asked++;
        if (asked == tool->pointed.count) asked = UINT32_MAX;
        if (output->call && output->named && one->kind != ER_KIND_NUMBER && one->kind != ER_KIND_WHEN) {
            if (!from_output(f, one, output, &found[p])) return false;
            continue;
        }
        if (!output->call && !reference_of(f, one, &found[p])) return false;
        if (found[p].value) continue;
        if (one->kind == ER_KIND_CHOICE || one->kind == ER_KIND_BOOLEAN ? !option_of(f, one, asked, &found[p]) : !wait_for(f, p, asked, &lines[p])) return false;
    }
    if (!assign(f, lines, found)) return false;
    for (uint32_t p = 0; p < n; p++)
        if (!found[p].value && !rest_of(f, &tool->parameters[p], &f->outputs[p], &found[p])) return false;
    return true;
}
