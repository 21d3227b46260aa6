#include "learn_records.h"

#include "parts.h"
#include "sha256.h"
#include "unicode.h"
#include "utf8.h"
#include "vectors.h"

static const double MOST_TIME = 1e12, MOST_NUMBER = 1e9, LEAST_LOG = -30.0;
static const float LONGEST_ROW = 20.0f * 1.001f;
static const int64_t MOST_ID = (int64_t)1 << 53;
static const char *const sources[] = {"accepted", "corrected", "demonstration"};

struct er_told {
    er_told *next;
    int64_t id;
    double learned_at;
    er_text query;
    er_source source;
};

static bool wrong(const er_fields *f, const char *key, const char *expected)
{
    return er_refuse(f->arena->error, ER_BAD_BUNDLE, "\"%s\" must hold %s", key, expected);
}

/* ---- Reading: fields ---- */

/* Floats, halves (type "<f2") or whole numbers in a range. */
static bool ranged(const er_fields *f, const char *key, const char *type, int64_t rows, int64_t columns, double low, double high, er_array *found)
{
    if (!strcmp(type, "<f2") ? !er_field_halves(f, key, rows, columns, found) : !er_field_array(f, key, type, rows, columns, found)) return false;
    const size_t count = (size_t)found->rows * found->columns;
    bool fine = true;
    for (size_t i = 0; i < count; i++) {
        const double value = type[1] == 'f' ? (double)((const float *)found->at)[i]
                             : type[2] == '4' ? (double)((const int32_t *)found->at)[i] : (double)((const int64_t *)found->at)[i];
        fine &= value >= low && value <= high; /* NaN is not */
    }
    return fine || er_refuse(f->arena->error, ER_BAD_BUNDLE, "\"%s\" must hold numbers from %g to %g", key, low, high);
}

static bool names_of(const er_fields *f, const char *key, const er_text **names, uint32_t *count)
{
    if (!er_field_texts(f, key, names, count)) return false;
    const bool whole = !strcmp(key, "names"); /* begins with `<end>` */
    if (whole && (!*count || !er_is((*names)[0], "<end>"))) return wrong(f, key, "<end> first");
    for (uint32_t i = whole; i < *count; i++)
        if (!er_is_tool_name((*names)[i])) return er_refuse(f->arena->error, ER_BAD_BUNDLE, "\"%s\" is no name of a tool", er_show((*names)[i]).at);
    return true;
}

static bool take_names(const er_fields *f, er_knowledge *s, const er_text *names, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        if (er_label_of(s, names[i]) != ER_STRANGER) return er_refuse(f->arena->error, ER_BAD_BUNDLE, "\"%s\" is a name that is new twice", er_show(names[i]).at);
        if (!er_label_add(s, names[i], f->arena->error)) return false;
    }
    return true;
}

/* Section 9: what is a query. */
static bool is_query(er_text text)
{
    bool blank = true;
    for (size_t i = 0; blank && i < text.length;) blank = er_is_space(er_point_at(text, &i));
    return !blank && er_count_points(text) <= ER_MOST_QUERY;
}

/* What is told of a plan, and the names of its calls. */
static bool read_told(const er_fields *f, er_told *told, const er_text **calls, uint32_t *count)
{
    const er_pack *query = er_pack_get(f->map, "query");
    er_text origin;
    told->query = (er_text){NULL, 0};
    if (query && query->kind != ER_PACK_NIL) {
        if (query->kind != ER_PACK_TEXT || !is_query(er_pack_text(query))) return wrong(f, "query", "a query or nil");
        told->query = er_pack_text(query);
    }
    if (!er_field_whole(f, "id", INT64_MIN, INT64_MAX, &told->id) || !er_field_number(f, "learned_at", -MOST_TIME, MOST_TIME, &told->learned_at) ||
        !er_field_text(f, "origin", &origin) || !names_of(f, "calls", calls, count))
        return false;
    if (told->learned_at < 0) told->learned_at = 0;
    for (int i = 0; i < 3; i++) {
        told->source = (er_source)i;
        if (er_is(origin, sources[i])) return true;
    }
    return wrong(f, "origin", "accepted, corrected or demonstration");
}

/* ---- Reading: records ---- */

static void take_kept(er_plan *plan, const int32_t *labels, const float *log_p)
{
    for (size_t i = 0; i < ((size_t)plan->length + 1) * ER_KEPT; i++) {
        plan->kept[i] = labels[i];
        plan->log_p[i] = labels[i] < 0 ? (float)LEAST_LOG : log_p[i];
    }
}

static bool no_memory(const er_fields *f) { return er_refuse(f->arena->error, ER_NO_MEMORY, "no memory for what was learned"); }

static bool take_plan(er_reading *reading, const er_fields *f)
{
    er_knowledge *s = reading->state;
    er_told told;
    const er_text *calls, *fresh;
    uint32_t length, count;
    er_array vector, labels, log_p;
    if (!read_told(f, &told, &calls, &length)) return false;
    if (length > ER_PLAN_CALLS) return wrong(f, "calls", "at most 255 calls");
    const uint32_t steps = length + 1;
    if (!er_field_halves(f, "vector", s->dimension, 0, &vector) || !names_of(f, "new_names", &fresh, &count) || !take_names(f, s, fresh, count) ||
        !ranged(f, "offset_labels", "<i4", steps, ER_KEPT, ER_NOBODY, s->name_count - 1, &labels) ||
        !ranged(f, "offset_log_p", "<f2", steps, ER_KEPT, LEAST_LOG, 0.01, &log_p))
        return false;
    const float *numbers = vector.at;
    if (!er_units(numbers, 1, s->dimension)) return wrong(f, "vector", "a vector of length 1");
    er_plan *plan = er_plan_new(s->dimension, length, told.query);
    if (!plan) return no_memory(f);
    bool fine = true;
    for (uint32_t k = 0; k < length; k++) {
        const int64_t label = er_label_of(s, calls[k]);
        fine &= label > ER_LAST;
        plan->calls[k] = (int32_t)label;
    }
    memcpy(plan->vector, numbers, s->dimension * sizeof(float));
    take_kept(plan, labels.at, log_p.at);
    plan->learned_at = told.learned_at;
    plan->source = told.source;
    if (!fine) wrong(f, "calls", "names of the table");
    if (fine && er_lesson(s, plan, false, f->arena->error) >= 0) return reading->unfolded++, true;
    er_plan_free(plan);
    return false;
}

static int by_number(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static bool differ(er_arena *arena, const int64_t *numbers, uint32_t count)
{
    int64_t *sorted = ER_TAKE(arena, int64_t, count);
    if (!sorted) return false;
    if (count) memcpy(sorted, numbers, count * sizeof *sorted), qsort(sorted, count, sizeof *sorted, by_number);
    for (uint32_t i = 1; i < count; i++)
        if (sorted[i] == sorted[i - 1]) return false;
    return true;
}

static bool take_plans(const er_fields *f, er_knowledge *s)
{
    er_array lengths, calls, vectors, ids, times, weights, shown, redundant, labels, log_p;
    int64_t clock, next_id;
    if (!ranged(f, "lengths", "<i4", ER_ANY, 0, 0, ER_PLAN_CALLS, &lengths)) return false;
    const uint32_t plans = lengths.rows, d = s->dimension;
    uint64_t steps = plans;
    for (uint32_t i = 0; i < plans; i++) steps += (uint64_t)((const int32_t *)lengths.at)[i];
    if (steps > ER_STEPS) return wrong(f, "lengths", "at most 10000 steps in all");
    if (!er_field_whole(f, "clock", 0, MOST_ID, &clock) || !er_field_whole(f, "next_id", 0, MOST_ID, &next_id) ||
        !ranged(f, "calls", "<i4", (int64_t)(steps - plans), 0, ER_LAST + 1, s->name_count - 1, &calls) ||
        !ranged(f, "vectors", "<f2", plans, d, -1.01, 1.01, &vectors) || !ranged(f, "ids", "<i8", plans, 0, 0, (double)next_id - 1, &ids) ||
        !ranged(f, "times", "<i8", plans, 0, 0, (double)clock, &times) || !ranged(f, "weights", "<f4", plans, 0, 1.0 / 64, 3, &weights) ||
        !ranged(f, "shown", "<i4", plans, 0, 1, 3, &shown) || !ranged(f, "redundant", "<i4", plans, 0, 0, 1, &redundant) ||
        !ranged(f, "offset_labels", "<i4", (int64_t)steps, ER_KEPT, ER_NOBODY, s->name_count - 1, &labels) ||
        !ranged(f, "offset_log_p", "<f2", (int64_t)steps, ER_KEPT, -100, 0.1, &log_p))
        return false;
    if (!differ(f->arena, ids.at, plans)) return wrong(f, "ids", "an id of its own for every plan");
    for (size_t i = 0, call = 0, step = 0; i < plans; i++) {
        const float *vector = (const float *)vectors.at + i * d;
        const uint32_t length = (uint32_t)((const int32_t *)lengths.at)[i];
        if (!(fabsf(er_dot(vector, vector, d) - 1.0f) <= 0.02f)) return wrong(f, "vectors", "unit vectors");
        er_plan *plan = er_knowledge_reserve(s, 0, 1, f->arena->error) ? er_plan_new(d, length, (er_text){NULL, 0}) : NULL;
        if (!plan) return no_memory(f);
        memcpy(plan->vector, vector, d * sizeof(float));
        if (length) memcpy(plan->calls, (const int32_t *)calls.at + call, length * sizeof(int32_t));
        take_kept(plan, (const int32_t *)labels.at + step * ER_KEPT, (const float *)log_p.at + step * ER_KEPT);
        plan->id = ((const int64_t *)ids.at)[i];
        plan->time = ((const int64_t *)times.at)[i];
        plan->weight = ((const float *)weights.at)[i];
        plan->shown = ((const int32_t *)shown.at)[i];
        plan->redundant = ((const int32_t *)redundant.at)[i];
        plan->source = ER_DEMONSTRATION;
        er_plan_store(s, plan);
        call += length;
        step += length + 1;
    }
    s->clock = clock;
    s->next_id = next_id;
    return true;
}

static bool take_rows(const er_fields *f, er_knowledge *s)
{
    er_array labels, weights, bias, squares, history;
    if (!ranged(f, "row_labels", "<i8", ER_ANY, 0, 0, s->name_count - 1, &labels)) return false;
    const uint32_t rows = labels.rows, d = s->dimension;
    if (rows > ER_ROWS || !differ(f->arena, labels.at, rows)) return wrong(f, "row_labels", "at most 512 labels, each once");
    if (!er_knowledge_reserve(s, rows, 0, f->arena->error) || !ranged(f, "row_weights", "<f4", rows, d, -LONGEST_ROW, LONGEST_ROW, &weights) ||
        !ranged(f, "row_bias", "<f4", rows, 0, -LONGEST_ROW, LONGEST_ROW, &bias) || !ranged(f, "row_squares", "<f4", rows, 0, 1, MOST_NUMBER, &squares) ||
        !ranged(f, "row_history", "<f4", ER_COUNTS + 2 * (int64_t)rows, rows ? (int64_t)rows : ER_ANY, -LONGEST_ROW, LONGEST_ROW, &history))
        return false;
    if (history.columns != rows) return wrong(f, "row_history", "a column for every row");
    if (!rows) return true;
    for (uint32_t r = 0; r < rows; r++) er_row_add(s, (int32_t)((const int64_t *)labels.at)[r], true);
    memcpy(s->weights, weights.at, (size_t)rows * d * sizeof(float));
    memcpy(s->bias, bias.at, rows * sizeof(float));
    memcpy(s->squares, squares.at, rows * sizeof(float));
    for (size_t i = 0; i < ER_COUNTS + 2 * (size_t)rows; i++)
        memcpy(s->history + i * s->row_room, (const float *)history.at + i * rows, rows * sizeof(float));
    return true;
}

static bool take_mixture(const er_fields *f, er_knowledge *s)
{
    er_array weights, squares;
    const er_pack *guard;
    double numbers[4];
    if (!ranged(f, "mixture_weights", "<f4", 3, 0, 0, 4, &weights) || !ranged(f, "mixture_squares", "<f4", 3, 0, 1, MOST_NUMBER, &squares) ||
        !er_field_list(f, "guard", &guard))
        return false;
    memcpy(s->mixture, weights.at, sizeof s->mixture);
    memcpy(s->mixture_squares, squares.at, sizeof s->mixture_squares);
    bool fine = guard->count == 4;
    for (uint32_t i = 0; fine && i < 4; i++) {
        numbers[i] = guard->items[i].number;
        fine = guard->items[i].kind == ER_PACK_NUMBER && fabs(numbers[i]) < MOST_NUMBER;
    }
    if (!fine || numbers[0] < 0 || numbers[2] < 0 || (numbers[3] != 0 && numbers[3] != 1)) return wrong(f, "guard", "sums of judged plans and a 0 or 1");
    s->judged = numbers[0];
    s->gained = numbers[1];
    s->gained_squares = numbers[2];
    s->muted = numbers[3] == 1;
    return er_field_whole(f, "learned", 0, MOST_ID, &s->learned);
}

/* What was told of plans goes to those that are stored. */
static bool tell(er_reading *reading, const er_fields *f, er_knowledge *s)
{
    for (const er_told *told = reading->told; told; told = told->next)
        for (uint32_t i = 0; i < s->plan_count; i++) {
            er_plan *plan = s->plans[i];
            if (plan->id != told->id) continue;
            if (!er_plan_say(plan, told->query)) return no_memory(f);
            plan->source = told->source;
            plan->learned_at = told->learned_at;
            break;
        }
    return true;
}

static bool take_state(er_reading *reading, const er_fields *f)
{
    int64_t dimension;
    const er_text *names;
    uint32_t count;
    const er_knowledge *before = reading->state;
    if (!er_field_whole(f, "dimension", before->dimension, before->dimension, &dimension) || !names_of(f, "names", &names, &count)) return false;
    er_knowledge *s = er_knowledge_new(before->shown, ++*reading->serials);
    if (!s) return no_memory(f);
    if (take_names(f, s, names + 1, count - 1) && take_plans(f, s) && take_rows(f, s) && take_mixture(f, s) && tell(reading, f, s)) {
        er_knowledge_free(reading->state);
        reading->state = s;
        reading->unfolded = 0;
        return true;
    }
    er_knowledge_free(s);
    return false;
}

static bool take_told(er_reading *reading, const er_fields *f)
{
    er_told told, *kept;
    const er_text *calls;
    uint32_t count;
    if (!read_told(f, &told, &calls, &count)) return false;
    reading->arena.error = f->arena->error;
    kept = ER_TAKE(&reading->arena, er_told, 1);
    char *words = told.query.at ? ER_TAKE(&reading->arena, char, told.query.length + 1) : NULL;
    if (!kept || (told.query.at && !words)) return false;
    *kept = told;
    kept->next = NULL;
    if (words) kept->query.at = memcpy(words, told.query.at, told.query.length);
    *(reading->last ? reading->last : &reading->told) = kept;
    reading->last = &kept->next;
    return true;
}

bool er_others_add(uint8_t digest[ER_DIGEST], er_text kind, const er_pack *value)
{
    er_bytes bytes = {0};
    er_sha256 sum;
    er_put_text(&bytes, kind);
    er_put_value(&bytes, value);
    er_sha256_begin(&sum);
    er_sha256_add(&sum, digest, ER_DIGEST);
    if (!bytes.failed) er_sha256_add(&sum, bytes.at, bytes.length);
    er_sha256_end(&sum, digest);
    er_bytes_free(&bytes);
    return !bytes.failed;
}

bool er_record_take(void *context, er_text kind, const er_fields *record)
{
    er_reading *reading = context;
    if (er_is(kind, "plan")) return take_plan(reading, record);
    if (er_is(kind, "learned-state")) return take_state(reading, record);
    if (er_is(kind, "learned-plan")) return take_told(reading, record);
    if (!er_others_add(reading->others, kind, record->map)) return no_memory(record);
    if (er_is(kind, "tools") && reading->model) return er_tools_take(&reading->model, record);
    return true;
}
