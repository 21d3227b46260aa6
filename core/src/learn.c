/* Section 19: a plan is learned, some are forgotten. Arrays of a lesson are taken before it changes anything. */

#include "learn.h"
#include "vectors.h"

static const uint64_t MULTIPLIER = 0x9e3779b97f4a7c15u;
static const float LEAST_LOG = -30.0f;
enum { REPLAYED = 16, SEVERAL = 4, LINE = 64, ARRAYS = 24 };

/* ---- Halves ---- */

/* The nearest one; of two that are as near, the even one. */
uint16_t er_half(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    const uint16_t sign = (uint16_t)(bits >> 16 & 0x8000);
    const float size = fabsf(value);
    if (!(size < 65520.0f)) return sign | 0x7c00;
    if (size < 6.103515625e-5f) return sign | (uint16_t)lrintf(size * 16777216.0f);
    bits &= 0x7fffffff;
    bits += 0xfff + (bits >> 13 & 1);
    return sign | (uint16_t)((bits >> 13) - (112u << 10));
}

void er_keep(const float *log_p, uint32_t n, uint32_t right, uint32_t places[ER_KEPT], float kept[ER_KEPT])
{
    uint32_t count = 0; /* the least first */
    for (uint32_t p = 0; p < n; p++) {
        uint32_t at = 0;
        if (count < ER_KEPT) {
            for (at = count++; at && kept[at - 1] >= log_p[p]; at--) kept[at] = kept[at - 1], places[at] = places[at - 1];
        } else {
            if (!(log_p[p] > kept[0])) continue;
            for (; at + 1 < count && kept[at + 1] < log_p[p]; at++) kept[at] = kept[at + 1], places[at] = places[at + 1];
        }
        kept[at] = log_p[p];
        places[at] = p;
    }
    bool there = false;
    for (uint32_t i = 0; i < count; i++) there |= places[i] == right;
    if (!there) places[0] = right, kept[0] = log_p[right];
    for (uint32_t i = 0; i < ER_KEPT; i++) {
        if (i >= count) places[i] = UINT32_MAX, kept[i] = LEAST_LOG;
        kept[i] = er_of_half(er_half(kept[i] > LEAST_LOG ? kept[i] : LEAST_LOG));
    }
}

/* ---- A lesson ---- */

/* Bytes that a lesson's arrays take at most. */
static size_t room_of(const er_knowledge *s, const er_plan *plan)
{
    const size_t longest = (plan->length > s->longest ? plan->length : s->longest) + 1u, lessons = REPLAYED + 1, steps = lessons * longest;
    const size_t new_rows = ((size_t)plan->length + 1) * (ER_KEPT + 1), rows = s->rows + new_rows < ER_ROWS ? s->rows + new_rows : ER_ROWS;
    return ARRAYS * LINE + (s->name_count + 1) * 7 * sizeof(float) + sizeof(er_mixing) + lessons * (8 + (s->dimension + rows + 1) * sizeof(float)) +
           steps * (8 + ER_KEPT * 8 + (rows + 1) * sizeof(float)) + longest * 8 + lessons * longest * (longest + 5) / 2 * 8 + rows + 1;
}

static void allocate_rows(er_knowledge *s, const er_plan *plan)
{
    const float probable = logf(0.02f);
    for (uint32_t k = 0; k <= plan->length; k++) er_row_add(s, k < plan->length ? plan->calls[k] : ER_LAST, true);
    /* In rising order of their numbers: who reads the file again must give them the same rows. */
    for (int32_t before = -1;;) {
        int32_t next = INT32_MAX;
        for (size_t i = 0; i < ((size_t)plan->length + 1) * ER_KEPT; i++)
            if (plan->log_p[i] > probable && plan->kept[i] > before && plan->kept[i] < next) next = plan->kept[i];
        if (next == INT32_MAX) return;
        er_row_add(s, next, false);
        before = next;
    }
}

/* The plan, and some of those that are stored, learned in one step. */
static bool teach(er_knowledge *s, er_arena *arena, const er_plan *plan)
{
    const er_plan *lessons[REPLAYED + 1] = {plan};
    float weights[REPLAYED + 1] = {1.0f};
    allocate_rows(s, plan);
    s->learned++;
    uint32_t count = 1;
    /* One plan or two, again and again in one step, would swing the weights about. */
    for (uint32_t i = 0; i < REPLAYED && s->plan_count >= SEVERAL; i++) {
        const uint64_t drawn = ((uint64_t)s->learned * REPLAYED + i) * MULTIPLIER, n = s->plan_count;
        const er_plan *stored = s->plans[((drawn >> 32) * n + ((drawn & UINT32_MAX) * n >> 32)) >> 32];
        weights[count] = stored->weight < 1.0f ? stored->weight : 1.0f;
        lessons[count++] = stored;
    }
    return er_teach(s, arena, lessons, weights, count);
}

int64_t er_lesson(er_knowledge *s, er_plan *plan, bool again, er_error *error)
{
    er_arena arena = {.error = error};
    const size_t room = room_of(s, plan);
    int64_t id = -1;
    if (er_knowledge_reserve(s, (plan->length + 1u) * (ER_KEPT + 1), 1, error) && er_take(&arena, room, 1)) {
        er_place whole = er_mark(&arena);
        whole.used = 0;
        er_release(&arena, whole);
        er_mixing *m = ER_TAKE(&arena, er_mixing, 1);
        if (m && er_mixing_take(&arena, s->name_count, m)) {
            er_mixing_of(s, plan->vector, NULL, m);
            const int64_t same = again ? -1 : er_same_plan(s, &m->near, plan);
            /* What was shown again and again teaches nothing more. */
            const bool teaches = same < 0 || s->plans[same]->weight < 3.0f;
            bool fine = same >= 0 || er_judge(s, &arena, plan, m);
            if (again) er_plan_put_again(s, plan, &m->near), id = plan->id;
            else id = er_plan_put(s, plan, &m->near, same);
            if (teaches) fine &= teach(s, &arena, plan);
            if (!fine) id = -1; /* room_of says how much is needed, so this does not come to pass */
        }
    }
    er_give_back(&arena);
    return id;
}

/* ---- Forgetting ---- */

er_plan *er_plan_copy(const er_knowledge *s, const er_plan *plan)
{
    er_plan *copy = er_plan_new(s->dimension, plan->length, plan->query);
    if (!copy) return NULL;
    const size_t kept = ((size_t)plan->length + 1) * ER_KEPT;
    memcpy(copy->vector, plan->vector, s->dimension * sizeof(float));
    if (plan->length) memcpy(copy->calls, plan->calls, plan->length * sizeof *copy->calls);
    memcpy(copy->kept, plan->kept, kept * sizeof *copy->kept);
    memcpy(copy->log_p, plan->log_p, kept * sizeof *copy->log_p);
    copy->id = plan->id;
    copy->time = plan->time;
    copy->learned_at = plan->learned_at;
    copy->source = plan->source;
    copy->shown = plan->shown;
    return copy;
}

static uint32_t next_by_time(const er_knowledge *s, const bool *done)
{
    uint32_t found = UINT32_MAX;
    for (uint32_t i = 0; i < s->plan_count; i++)
        if (!done[i] && (found == UINT32_MAX || s->plans[i]->time < s->plans[found]->time)) found = i;
    return found;
}

er_knowledge *er_without(const er_knowledge *s, const bool *gone, int64_t serial, er_error *error)
{
    er_arena arena = {.error = error};
    bool *done = ER_TAKE(&arena, bool, s->plan_count);
    er_knowledge *other = done ? er_knowledge_new(s->shown, serial) : NULL;
    bool fine = other || er_refuse(error, ER_NO_MEMORY, "no memory to forget what was learned");
    for (uint32_t i = 1; fine && i < s->name_count; i++) fine = er_label_add(other, s->names[i], error);
    if (fine && s->plan_count) memcpy(done, gone, s->plan_count);
    if (fine && s->mapped) er_labels_map(other, s->mapped);
    if (fine) other->next_id = s->next_id;
    for (uint32_t row; fine && (row = next_by_time(s, done)) != UINT32_MAX; done[row] = true) {
        er_plan *copy = er_plan_copy(s, s->plans[row]);
        if (!copy) {
            fine = er_refuse(error, ER_NO_MEMORY, "no memory to forget what was learned");
            break;
        }
        other->clock = copy->time - 1; /* plans are as old to it as they were */
        fine = er_lesson(other, copy, true, error) >= 0;
        if (!fine) er_plan_free(copy);
    }
    er_give_back(&arena);
    if (fine) return other->clock = s->clock, other;
    er_knowledge_free(other);
    return NULL;
}

uint32_t er_used_names(const er_knowledge *s, bool current, int32_t *numbers)
{
    memset(numbers, 0, s->name_count * sizeof *numbers);
    numbers[ER_LAST] = 1;
    for (uint32_t i = 0; i < s->plan_count; i++) {
        const er_plan *plan = s->plans[i];
        for (uint32_t k = 0; k < plan->length; k++) numbers[plan->calls[k]] = 1;
        for (size_t k = 0; k < ((size_t)plan->length + 1) * ER_KEPT; k++)
            if (plan->kept[k] >= 0) numbers[plan->kept[k]] = 1;
    }
    for (uint32_t r = 0; r < s->rows; r++) numbers[s->row_labels[r]] = 1;
    int32_t count = 0;
    for (uint32_t i = 0; i < s->name_count; i++) {
        const bool here = current && i < s->mapped_count && s->places[i] >= 0;
        numbers[i] = numbers[i] || here ? count++ : -1;
    }
    return (uint32_t)count;
}

void er_renumber(er_knowledge *s, const int32_t *numbers)
{
    uint32_t count = 0, mapped = 0;
    for (uint32_t i = 0; i < s->name_count; i++) {
        if (numbers[i] < 0) continue;
        s->names[count] = s->names[i];
        s->demonstrated[count] = s->demonstrated[i];
        if (i < s->mapped_count) s->places[mapped++] = s->places[i];
        s->row_at[count + 1] = s->row_at[i + 1];
        count++;
    }
    for (uint32_t i = count; i < s->name_count; i++) s->row_at[i + 1] = -1;
    s->name_count = count;
    s->mapped_count = mapped;
    for (uint32_t i = 0; i < s->plan_count; i++) {
        er_plan *plan = s->plans[i];
        for (uint32_t k = 0; k < plan->length; k++) plan->calls[k] = numbers[plan->calls[k]];
        for (size_t k = 0; k < ((size_t)plan->length + 1) * ER_KEPT; k++)
            if (plan->kept[k] >= 0) plan->kept[k] = numbers[plan->kept[k]];
    }
    for (uint32_t r = 0; r < s->rows; r++) s->row_labels[r] = numbers[s->row_labels[r]];
    size_t bytes = 0;
    for (uint32_t i = 0; i < count; i++) bytes += s->names[i].length;
    er_arena texts = {0};
    char *copy = ER_TAKE(&texts, char, bytes + 1);
    if (copy) { /* else the old texts serve as well */
        for (uint32_t i = 0; i < count; copy += s->names[i++].length)
            s->names[i].at = s->names[i].length ? memcpy(copy, s->names[i].at, s->names[i].length) : copy;
        er_give_back(&s->texts);
        s->texts = texts;
    }
    er_labels_place(s);
}

/* ---- What is familiar (19.6) ---- */

void er_familiar(er_knowledge *s)
{
    if (s->familiar_learned == s->learned) return;
    const uint32_t d = s->dimension;
    const er_names *names = er_deciding(s->mapped)->names;
    const er_familiarity *shown = &names->familiarity;
    s->mean_count = 0;
    s->no_tool = shown->no_tool;
    s->called = names->familiar_count;
    for (uint32_t i = 0; i < s->plan_count; i++) {
        const er_plan *plan = s->plans[i];
        const double weight = plan->weight;
        if (!plan->length) {
            s->no_tool += weight;
            continue;
        }
        const int32_t label = plan->calls[0], place = s->places[label];
        if (place < 0) continue;
        s->called += weight;
        if (!s->firsts[label]) {
            const uint32_t row = s->mean_count++;
            s->firsts[label] = (int32_t)s->mean_count;
            memset(s->means + (size_t)row * d, 0, d * sizeof(float));
            s->mean_weights[row] = 0.0f;
            s->mean_places[row] = (uint32_t)place;
            for (uint32_t k = 0; k < shown->rows; k++) {
                if (names->familiar_places[k] != (uint32_t)place) continue;
                er_add(s->means + (size_t)row * d, shown->counts[k], shown->means + (size_t)k * d, d);
                s->mean_weights[row] = shown->counts[k];
            }
        }
        const uint32_t row = (uint32_t)s->firsts[label] - 1;
        er_add(s->means + (size_t)row * d, plan->weight, plan->vector, d);
        s->mean_weights[row] += plan->weight;
    }
    for (uint32_t i = 0; i < s->plan_count; i++)
        if (s->plans[i]->length) s->firsts[s->plans[i]->calls[0]] = 0;
    for (uint32_t row = 0; row < s->mean_count; row++) {
        float *mean = s->means + (size_t)row * d;
        for (uint32_t k = 0; k < d; k++) mean[k] /= s->mean_weights[row];
        s->mean_squares[row] = 1.0f + er_dot(mean, mean, d);
    }
    s->familiar_learned = s->learned;
}
