/* What earlier calls took and gave: values that a request may say again, whose output a parameter takes, and which field of a
   result is its value. Knows nothing of requests. */

#include "arguments.h"
#include "regex.h"
#include "unicode.h"

/* ---- Values ---- */

static bool is_value(const er_json *value) { return value->kind == ER_JSON_TEXT || value->kind == ER_JSON_NUMBER; }

static void mark_used(const er_json *value, uint32_t count, uint32_t by, uint32_t *used)
{
    uint32_t k;
    if (value->kind == ER_JSON_TEXT && er_is_reference(value->text, &k) && k <= count) used[k - 1] = by;
    for (uint32_t i = 0; (value->kind == ER_JSON_ARRAY || value->kind == ER_JSON_OBJECT) && i < value->count; i++) mark_used(&value->items[i], count, by, used);
}

bool er_earlier_of(er_arena *arena, const er_made *calls, uint32_t count, er_text tool, er_earlier *found)
{
    uint32_t values = 0;
    uint32_t *used = ER_TAKE(arena, uint32_t, count + 1);
    if (!used) return false;
    for (uint32_t c = 0; c < count; c++) {
        const er_json *given = calls[c].arguments;
        for (uint32_t i = 0; i < given->count; i++) values += given->items[i].kind == ER_JSON_ARRAY ? given->items[i].count : 1;
        mark_used(given, count, c + 1, used);
    }
    er_text *said = ER_TAKE(arena, er_text, values + 1), *taken = ER_TAKE(arena, er_text, values + 1);
    er_text *names = ER_TAKE(arena, er_text, values + 1), *named = ER_TAKE(arena, er_text, values + 1);
    if (!said || !taken || !names || !named) return false;
    *found = (er_earlier){.calls = calls, .count = count, .used = used, .said = {said, 0}, .taken = {taken, 0}, .named_names = names, .named_values = named};
    for (uint32_t c = 0; c < count; c++) {
        const er_json *given = calls[c].arguments;
        const bool own = er_same(calls[c].tool, tool);
        for (uint32_t i = 0; i < given->count; i++) {
            const er_json *value = &given->items[i], *items = value->kind == ER_JSON_ARRAY ? value->items : value;
            for (uint32_t k = 0; k < (value->kind == ER_JSON_ARRAY ? value->count : 1); k++) {
                er_text shown, low;
                if (!is_value(&items[k])) continue;
                if (!er_json_shown(arena, &items[k], &shown) || !er_lowered(arena, shown, &low)) return false;
                if (!er_has(found->said, low)) said[found->said.count++] = low;
                if (own) {
                    if (!er_has(found->taken, low)) taken[found->taken.count++] = low;
                } else {
                    names[found->named_count] = given->keys[i];
                    named[found->named_count++] = low;
                }
            }
        }
    }
    return true;
}

/* ---- Outputs ---- */

enum { LEAST_COUNTED = 2, LEAST_SEEN = 8, FIRST_STEMS = 6 };
static const double COUNTED = 10.0, FLOOR = 0.5, FLOOR_SEEN = 1.4;
static const double NAMED = 3.0, FIRST = 0.5, EMAIL = 1.0, USED = 0.6, USED_ID = 0.2, REMADE = 0.5, OWNED = 1.2, TOLD = 0.8;
static const char *const idle = "first function id it nam need needed other take text tool user";
static const char *const handles = "id path"; /* what a tool gives to be used, not to be read */

static bool is_named(er_arena *arena, er_text told, er_text name)
{
    er_points in, of;
    if (!name.length || !er_points_of(arena, told, &in) || !er_points_of(arena, name, &of)) return false;
    for (uint32_t i = 0; i + of.count <= in.count; i++) {
        if (memcmp(in.points + i, of.points, of.count * sizeof *of.points)) continue;
        const uint32_t before = i ? in.points[i - 1] : ' ', behind = i + of.count < in.count ? in.points[i + of.count] : ' ';
        if (!er_is_word(before) && before != '.' && before != '-' && !er_is_word(behind) && behind != '-') return true;
    }
    return false;
}

/* How many of these stems, each once, but for idle ones; and of them how many a parameter has. */
static uint32_t kept(const er_text *stems, uint32_t count, const er_parameter *one, uint32_t *shared)
{
    uint32_t found = 0;
    *shared = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (er_listed_in(stems[i], idle) || er_has((er_words){stems, i}, stems[i])) continue;
        found++;
        *shared += er_has(one->stems, stems[i]) || er_has(one->told, stems[i]);
    }
    return found;
}

/* Whether one of these stems is what a tool says that it returns, in the first words of that. */
static bool gives_any(const er_taking *gives, const char *stems)
{
    for (uint32_t i = 0; i < gives->return_count && i < FIRST_STEMS; i++)
        if (er_listed_in(gives->returns[i], stems)) return true;
    return false;
}

/* An id is of no use where none is wanted, and what is told of a person is not the name. */
static bool gives_other(const er_parameter *one, const er_taking *gives)
{
    if (one->kind == ER_KIND_PERSON) return !gives_any(gives, "nam who");
    return one->kind != ER_KIND_ID && gives_any(gives, "id") && !er_has(one->stems, ER_TEXT("id")) && !er_has(one->told, ER_TEXT("id"));
}

static bool score_of(er_arena *arena, const er_parameter *one, const er_taking *gives, double *score, bool *named)
{
    er_text told, name;
    if (!er_lowered(arena, one->described, &told) || !er_lowered(arena, gives->tool->name, &name)) return false;
    *named = is_named(arena, told, name);
    *score = *named ? NAMED : 0.0;
    if (!*named && gives_other(one, gives)) return true;
    uint32_t wanted = 0, shared;
    for (uint32_t i = 0; i < one->stems.count; i++) wanted += !er_listed_in(one->stems.words[i], idle);
    for (uint32_t i = 0; i < one->told.count; i++) wanted += !er_listed_in(one->told.words[i], idle) && !er_has(one->stems, one->told.words[i]);
    for (int pass = 0; pass < 2; pass++) {
        const uint32_t count = pass && gives->return_count > FIRST_STEMS ? FIRST_STEMS : gives->return_count, own = kept(gives->returns, count, one, &shared);
        if (own && wanted) *score += (pass ? FIRST : 1.0) * shared / (own < wanted ? own : wanted);
    }
    if (one->kind == ER_KIND_EMAIL && er_has(gives->spelt, ER_TEXT("email"))) *score += EMAIL;
    if (one->kind == ER_KIND_ID && gives->finds && gives->about.count) {
        uint32_t owner = 0, both = 0;
        for (uint32_t i = 0; i < one->stems.count; i++) {
            if (er_listed_in(one->stems.words[i], idle)) continue;
            owner++;
            both += er_has(gives->about, one->stems.words[i]);
        }
        if (both) *score += OWNED * both / (owner + gives->about.count - both);
        else if (er_within(gives->about, one->told)) *score += TOLD;
    }
    return true;
}

typedef struct {
    double score;
    uint32_t parameter, call;
    bool named, counted;
} candidate;

static bool is_before(const candidate *a, const candidate *b)
{
    if (a->score != b->score) return a->score > b->score;
    if (a->parameter != b->parameter) return a->parameter < b->parameter;
    return a->call > b->call;
}

static int64_t place_of(const er_stored_arguments *stored, er_text name)
{
    for (uint32_t i = 0; stored && i < stored->name_count; i++)
        if (er_same(stored->names[i], name)) return i;
    return -1;
}

/* What demonstrations say of a parameter: the share that took such an output, below 0 where too few say anything; and the
   floor for words, infinite where so many demonstrations would have shown it. */
static double counted_share(const er_stored_arguments *stored, int64_t tool, int64_t parameter, int64_t giver, bool used, double *floor)
{
    uint64_t seen = 0, taken = 0;
    double share = -1.0;
    for (uint32_t i = 0; stored && i < stored->count_count; i++) {
        const er_counted *row = &stored->counts[i];
        if (row->tool != tool || row->parameter != parameter) continue;
        seen += row->seen + row->seen_used;
        taken += row->taken + row->taken_used;
        if (row->giver != giver) continue;
        const uint32_t own = used ? row->seen_used : row->seen;
        if (own >= LEAST_COUNTED) share = (used ? row->taken_used : row->taken) / (own + 0.5);
    }
    *floor = seen < LEAST_SEEN ? FLOOR : taken ? FLOOR_SEEN : INFINITY;
    return share;
}

static bool takes_none(er_kind kind) { return kind == ER_KIND_NUMBER || kind == ER_KIND_BOOLEAN || kind == ER_KIND_CHOICE || kind == ER_KIND_NESTED; }

/* The latest output that is there to be read, that nobody took yet and that demonstrations do not speak against; 0: none. */
static uint32_t left_for(const er_taking *tool, const er_parameter *one, const er_earlier *earlier, const er_stored_arguments *stored, const bool *taken)
{
    const int64_t own = place_of(stored, tool->tool->name), parameter = own < 0 ? -1 : place_of(stored, one->name);
    for (uint32_t k = earlier->count; k--;) {
        const er_made *call = &earlier->calls[k];
        double floor;
        if (!call->giver || taken[k] || earlier->used[k] || er_same(call->tool, tool->tool->name)) continue;
        if (gives_any(call->giver, handles) || !(call->giver->return_count || call->giver->finds)) continue;
        if (counted_share(parameter < 0 ? NULL : stored, own, parameter, parameter < 0 ? -1 : place_of(stored, call->tool), false, &floor) < 0.0 && floor != INFINITY) return k + 1;
    }
    return 0;
}

/* What nobody took yet goes to a text that nobody dictated: one output a call, to one that is required if there is any. */
static void leave_rest(const er_taking *tool, const er_earlier *earlier, const er_stored_arguments *stored, const bool *taken, er_output *found)
{
    for (uint32_t i = 0; i < 2 * tool->wanted; i++) {
        const uint32_t p = i % tool->wanted;
        const er_parameter *one = &tool->parameters[p];
        if (one->required != (i < tool->wanted) || found[p].call || one->kind != ER_KIND_TEXT || one->inside.length || one->many) continue;
        const uint32_t call = left_for(tool, one, earlier, stored, taken);
        if (!call) continue;
        found[p] = (er_output){.call = call, .score = FLOOR, .leftover = true};
        return;
    }
}

/* Two parameters that take from one tool, called twice: the first of them from the first call. */
static void put_in_order(const er_taking *tool, const er_earlier *earlier, er_output *found)
{
    for (uint32_t c = 0; c < earlier->count; c++) {
        uint32_t names = 0, made = 0, at = 0;
        bool first = true;
        for (uint32_t k = 0; k < c; k++) first &= !er_same(earlier->calls[k].tool, earlier->calls[c].tool);
        for (uint32_t k = 0; k < earlier->count; k++) made += er_same(earlier->calls[k].tool, earlier->calls[c].tool);
        for (uint32_t p = 0; p < tool->wanted; p++)
            names += found[p].call && found[p].named && er_same(earlier->calls[found[p].call - 1].tool, earlier->calls[c].tool);
        if (!first || names < 2 || names > made) continue;
        uint32_t skipped = made - names, call = 0;
        for (uint32_t p = 0; p < tool->wanted && at < names; p++) {
            if (!found[p].call || !found[p].named || !er_same(earlier->calls[found[p].call - 1].tool, earlier->calls[c].tool)) continue;
            while (call < earlier->count && (!er_same(earlier->calls[call].tool, earlier->calls[c].tool) || skipped)) {
                skipped -= skipped && er_same(earlier->calls[call].tool, earlier->calls[c].tool);
                call++;
            }
            found[p].call = ++call;
            at++;
        }
    }
}

/* Whether what took an output gives the like of it, as a PDF is a file like the one that it was made of. */
static bool is_made_of(const er_taking *maker, const er_taking *giver)
{
    return maker && ((gives_any(maker, "path") && gives_any(giver, "path")) || (gives_any(maker, "id") && gives_any(giver, "id")));
}

bool er_outputs_of(er_arena *arena, const er_taking *tool, const er_earlier *earlier, const er_stored_arguments *stored, er_output *found)
{
    const uint32_t n = tool->wanted;
    memset(found, 0, n * sizeof *found);
    if (!earlier->count) return true;
    candidate *all = ER_TAKE(arena, candidate, (size_t)n * earlier->count + 1);
    bool *taken = ER_TAKE(arena, bool, earlier->count + 1);
    uint32_t count = 0;
    if (!all || !taken) return false;
    const int64_t own = place_of(stored, tool->tool->name);
    for (uint32_t p = 0; p < n; p++) {
        const er_parameter *one = &tool->parameters[p];
        if (one->inside.length) continue; /* an output is one value, and no part of an object */
        const int64_t parameter = own < 0 ? -1 : place_of(stored, one->name);
        for (uint32_t k = 0; k < earlier->count; k++) {
            const er_made *call = &earlier->calls[k];
            candidate c = {0.0, p, k + 1, true, true};
            double floor;
            if (!call->giver) continue;
            c.score = counted_share(parameter < 0 ? NULL : stored, own, parameter, parameter < 0 ? -1 : place_of(stored, call->tool), earlier->used[k], &floor);
            if (c.score >= 0.0) {
                c.score += COUNTED;
                if (c.score >= COUNTED + FLOOR) all[count++] = c;
                continue;
            }
            c.counted = false;
            if (floor == INFINITY) continue;
            if (!score_of(arena, one, call->giver, &c.score, &c.named)) return false;
            if (earlier->used[k]) c.score -= one->kind == ER_KIND_ID ? USED_ID : USED;
            if (earlier->used[k] && one->kind != ER_KIND_ID && is_made_of(earlier->calls[earlier->used[k] - 1].giver, call->giver)) c.score -= REMADE;
            if (takes_none(one->kind) && !c.named) continue;
            /* What takes the value itself gives no new one. */
            if (c.score >= floor && (c.named || !er_same(call->tool, tool->tool->name))) all[count++] = c;
        }
    }
    for (uint32_t i = 1; i < count; i++) {
        const candidate one = all[i];
        uint32_t k = i;
        for (; k && is_before(&one, &all[k - 1]); k--) all[k] = all[k - 1];
        all[k] = one;
    }
    for (uint32_t i = 0; i < count; i++) {
        const candidate *c = &all[i];
        er_output *to = &found[c->parameter];
        if (to->call || (taken[c->call - 1] && (!c->named || c->counted))) continue;
        *to = (er_output){.call = c->call, .score = c->counted ? c->score - COUNTED : c->score, .named = c->named, .counted = c->counted};
        if (tool->parameters[c->parameter].many) {
            uint32_t *beside = ER_TAKE(arena, uint32_t, earlier->count);
            if (!beside) return false;
            for (uint32_t k = 0; k < earlier->count; k++)
                if (k + 1 != c->call && er_same(earlier->calls[k].tool, earlier->calls[c->call - 1].tool) && earlier->used[k] == earlier->used[c->call - 1] && !taken[k])
                    beside[to->beside_count++] = k + 1;
            to->beside = beside;
            for (uint32_t k = 0; k < to->beside_count; k++) taken[beside[k] - 1] = true;
        }
        taken[c->call - 1] = true;
    }
    leave_rest(tool, earlier, stored, taken, found);
    put_in_order(tool, earlier, found);
    return true;
}

/* ---- Results ---- */

enum { MOST_FIELDS = 400, MOST_DEPTH = 3, MOST_PLAIN = 100, MOST_RESULT = 20000 };

static bool has_reference(const er_json *value)
{
    if (value->kind == ER_JSON_TEXT) return er_is_reference(value->text, NULL);
    for (uint32_t i = 0; (value->kind == ER_JSON_ARRAY || value->kind == ER_JSON_OBJECT) && i < value->count; i++)
        if (has_reference(&value->items[i])) return true;
    return false;
}

static const er_json *parsed(er_arena *arena, const er_json *result)
{
    if (result->kind != ER_JSON_TEXT) return result;
    size_t begin = 0;
    for (size_t next = 0; next < result->text.length && er_is_space(er_point_at(result->text, &next));) begin = next;
    if (begin == result->text.length || (result->text.at[begin] != '{' && result->text.at[begin] != '[') || result->text.length > MOST_RESULT) return result;
    const er_json *read;
    er_error *error = arena->error;
    arena->error = NULL; /* what is no JSON is a text */
    const bool fine = er_json_read(arena, result->text, 64, 10000, "a result", &read);
    arena->error = error;
    return fine ? read : result;
}

/* How well a field's name fits: the same, the same words, or the "id" of what the earlier tool is about. */
static bool rank_of(er_arena *arena, er_text name, const er_parameter *one, er_words about, int *rank)
{
    er_text spelt;
    er_words stems;
    *rank = 3;
    if (er_same(name, one->name)) return true;
    if (!er_name_in_words(arena, name, &spelt) || !er_words_in(arena, spelt, &stems)) return false;
    *rank = 2;
    if (stems.count && stems.count == one->stems.count && er_within(stems, one->stems)) return true;
    uint32_t owner = 0, both = 0;
    for (uint32_t i = 0; i < one->stems.count; i++) {
        if (er_is(one->stems.words[i], "id")) continue;
        owner++;
        both += er_has(about, one->stems.words[i]);
    }
    *rank = one->kind == ER_KIND_ID && stems.count == 1 && er_is(stems.words[0], "id") && owner && owner == both;
    return true;
}

const er_json *er_result_value(er_arena *arena, const er_made *call, const er_parameter *one, bool named)
{
    typedef struct {
        const er_json *value;
        int depth;
    } waiting;
    if (!call->result || call->result->kind == ER_JSON_NULL || one->kind == ER_KIND_BOOLEAN || one->kind == ER_KIND_NESTED || one->kind == ER_KIND_CHOICE) return NULL;
    const er_json *result = parsed(arena, call->result);
    if (result->kind != ER_JSON_OBJECT && result->kind != ER_JSON_ARRAY) {
        if (!named || (result->kind == ER_JSON_TEXT && er_is_reference(result->text, NULL))) return NULL;
        if (result->kind == ER_JSON_TEXT) {
            er_points points;
            if (!er_points_of(arena, result->text, &points) || points.count > MOST_PLAIN) return NULL;
            uint32_t begin = 0, end = points.count;
            while (begin < end && er_is_space(points.points[begin])) begin++;
            while (end > begin && er_is_space(points.points[end - 1])) end--;
            for (uint32_t i = begin; i < end; i++)
                if (points.points[i] == ' ') return NULL;
        }
        return er_fits(arena, result, one->schema) ? result : NULL;
    }
    waiting *queue = ER_TAKE(arena, waiting, MOST_FIELDS + 1);
    const er_json *best[4] = {NULL};
    bool several[4] = {false};
    uint32_t begin = 0, end = 0, seen = 0;
    if (!queue) return NULL;
    const er_words about = call->giver ? call->giver->about : (er_words){NULL, 0};
    queue[end++] = (waiting){result, 0};
    while (begin < end && seen < MOST_FIELDS) {
        const waiting at = queue[begin++];
        for (uint32_t i = 0; i < at.value->count && ++seen < MOST_FIELDS; i++) {
            const er_json *inner = &at.value->items[i];
            int rank;
            if (inner->kind == ER_JSON_OBJECT || inner->kind == ER_JSON_ARRAY) {
                if (at.depth < MOST_DEPTH && end < MOST_FIELDS) queue[end++] = (waiting){inner, at.depth + 1};
                continue;
            }
            if (!at.value->keys || !at.value->keys[i].length || !is_value(inner) || has_reference(inner)) continue;
            if (!rank_of(arena, at.value->keys[i], one, about, &rank)) return NULL;
            if (!rank || !er_fits(arena, inner, one->schema)) continue;
            if (!best[rank]) best[rank] = inner;
            else several[rank] |= !er_json_same(best[rank], inner);
        }
    }
    for (int rank = 3; rank; rank--)
        if (best[rank]) return several[rank] ? NULL : best[rank]; /* of several records nobody knows which one is meant */
    return NULL;
}
