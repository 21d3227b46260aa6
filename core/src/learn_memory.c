/* Sections 19.1 and 19.2: the table of names, plans that vote, and rows of labels. */

#include "learn.h"
#include "vectors.h"
#include "words.h"

static const double LEAST_COSINE = 0.4, WIDTH = 0.05, HALF_LIFE = 1000.0, ALIKE = 1.5;
static const float SAME_QUERY = 0.9995f, MOST_WEIGHT = 3.0f, LEAST_WEIGHT = 1.0f / 64.0f;
enum { PROBABLE_ROWS = 320 };

bool er_plan_say(er_plan *plan, er_text query)
{
    char *words = query.at ? ER_ALLOCATE(query.length + 1) : NULL;
    if (query.at && !words) return false;
    free((char *)plan->query.at);
    if (query.length) memcpy(words, query.at, query.length);
    plan->query = (er_text){words, query.length};
    return true;
}

er_plan *er_plan_new(uint32_t dimension, uint32_t length, er_text query)
{
    const size_t kept = ((size_t)length + 1) * ER_KEPT;
    er_plan *plan = ER_ALLOCATE(sizeof(er_plan) + sizeof(float) * (dimension + kept) + sizeof(int32_t) * (length + kept));
    if (!plan) return NULL;
    plan->length = length;
    plan->weight = 1.0f;
    plan->shown = 1;
    plan->vector = (float *)(plan + 1);
    plan->log_p = plan->vector + dimension;
    plan->kept = (int32_t *)(plan->log_p + kept);
    plan->calls = plan->kept + kept;
    if (er_plan_say(plan, query)) return plan;
    free(plan);
    return NULL;
}

void er_plan_free(er_plan *plan)
{
    if (!plan) return;
    free((char *)plan->query.at);
    free(plan);
}

/* ---- A state ---- */

er_knowledge *er_knowledge_new(const er_demonstrated *shown, int64_t serial)
{
    er_knowledge *s = ER_ALLOCATE(sizeof(er_knowledge));
    if (!s) return NULL;
    s->dimension = er_deciding(shown->model)->spec.dimension;
    s->shown = shown;
    s->serial = serial;
    s->familiar_learned = -1;
    const float nothing[] = {0.4f, 0.5f, 0.1f}, over[] = {0.1f, 0.5f, 0.4f};
    for (int i = 0; i < 3; i++) {
        s->mixture[i] = shown->over ? over[i] : nothing[i];
        s->mixture_squares[i] = 1.0f;
    }
    er_error own = {0};
    if (er_label_add(s, ER_TEXT("<end>"), &own)) return s;
    er_knowledge_free(s);
    return NULL;
}

void er_knowledge_free(er_knowledge *s)
{
    if (!s) return;
    for (uint32_t i = 0; i < s->plan_count; i++) er_plan_free(s->plans[i]);
    void *const owned[] = {s->names, s->demonstrated, s->places, s->firsts, s->row_at, s->slots, s->plans, s->row_labels, s->weights, s->bias,
                           s->squares, s->history, s->means, s->mean_squares, s->mean_weights, s->mean_places};
    for (size_t i = 0; i < sizeof owned / sizeof *owned; i++) free(owned[i]);
    er_give_back(&s->texts);
    er_free((er_model *)s->mapped);
    free(s);
}

/* Makes an array larger; what is there stays. */
static bool grow(void *array, size_t used, size_t room, size_t each, er_error *error)
{
    void **at = array, *larger = ER_ALLOCATE(room * each);
    if (!larger) return er_refuse(error, ER_NO_MEMORY, "no memory for what is to be learned");
    if (used) memcpy(larger, *at, used * each);
    free(*at);
    *at = larger;
    return true;
}

/* ---- Names ---- */

const er_stage *er_deciding(const er_model *model) { return model->has_full ? &model->full : &model->small; }

int64_t er_label_of(const er_knowledge *s, er_text name)
{
    if (!s->name_count) return ER_STRANGER;
    for (uint32_t slot = er_hash(name) & s->slot_mask; s->slots[slot]; slot = (slot + 1) & s->slot_mask)
        if (er_same(s->names[s->slots[slot] - 1], name)) return (int64_t)s->slots[slot] - 1;
    return ER_STRANGER;
}

static void place_name(er_knowledge *s, uint32_t label)
{
    uint32_t slot = er_hash(s->names[label]) & s->slot_mask;
    for (; s->slots[slot]; slot = (slot + 1) & s->slot_mask) s->looked++;
    s->slots[slot] = label + 1;
}

void er_labels_place(er_knowledge *s)
{
    memset(s->slots, 0, ((size_t)s->slot_mask + 1) * sizeof *s->slots);
    s->looked = 0;
    for (uint32_t i = 0; i < s->name_count; i++) place_name(s, i);
}

/* How often demonstrations called it. */
static uint32_t demonstrated(const er_demonstrated *shown, er_text name)
{
    if (!shown->called) return 0;
    const er_names *names = er_deciding(shown->model)->names;
    if (er_is(name, "<end>")) return shown->called[names->end];
    const int64_t tool = er_held_find(shown->model, name);
    return tool >= 0 && names->places[tool] < names->end ? shown->called[names->places[tool]] : 0;
}

bool er_label_add(er_knowledge *s, er_text name, er_error *error)
{
    const uint32_t n = s->name_count;
    if (n == ER_MOST_LABELS) return er_refuse(error, ER_FULL, "%d names of tools were learned, the most that are kept; forget everything", ER_MOST_LABELS);
    if (n == s->name_room) {
        const uint32_t room = n ? 2 * n : 16;
        uint32_t *slots = ER_ALLOCATE(4 * room * sizeof *slots);
        if (!slots) return er_refuse(error, ER_NO_MEMORY, "no memory for what is to be learned");
        free(s->slots);
        s->slots = slots;
        s->slot_mask = 4 * room - 1;
        er_labels_place(s);
        if (!grow(&s->names, n, room, sizeof *s->names, error) || !grow(&s->demonstrated, n, room, sizeof *s->demonstrated, error) ||
            !grow(&s->places, s->mapped_count, room, sizeof *s->places, error) || !grow(&s->firsts, 0, room, sizeof *s->firsts, error) ||
            !grow(&s->row_at, n + (n > 0), room + 1, sizeof *s->row_at, error))
            return false;
        for (uint32_t i = n ? n + 1 : 0; i <= room; i++) s->row_at[i] = -1;
        s->name_room = room;
    }
    s->texts.error = error;
    char *copy = ER_TAKE(&s->texts, char, name.length + 1);
    s->texts.error = NULL;
    if (!copy) return false;
    if (name.length) memcpy(copy, name.at, name.length);
    s->names[n] = (er_text){copy, name.length};
    place_name(s, n);
    if (s->looked > 1000 + 64 * (uint64_t)s->name_room)
        return er_refuse(error, ER_BAD_INPUT, "names that were made to be slow to tell apart");
    s->demonstrated[n] = demonstrated(s->shown, name);
    s->name_count++;
    return true;
}

void er_labels_map(er_knowledge *s, const er_model *model)
{
    if (s->mapped != model) {
        er_free((er_model *)s->mapped);
        s->mapped = er_held(model);
        s->mapped_count = 0;
        s->familiar_learned = -1;
    }
    const er_names *names = er_deciding(model)->names;
    for (; s->mapped_count < s->name_count; s->mapped_count++) {
        const uint32_t label = s->mapped_count;
        const int64_t tool = label == ER_LAST ? -1 : er_held_find(model, s->names[label]);
        s->places[label] = label == ER_LAST ? (int32_t)names->end : tool < 0 ? -1 : (int32_t)names->places[tool];
    }
}

/* ---- Rows ---- */

static bool grow_rows(er_knowledge *s, uint32_t room, er_error *error)
{
    const size_t n = s->rows, d = s->dimension, f = sizeof(float);
    float *history = ER_ALLOCATE(f * (ER_COUNTS + 2 * (size_t)room) * room), *weights = ER_ALLOCATE(f * room * d);
    float *bias = ER_ALLOCATE(f * room), *squares = ER_ALLOCATE(f * room);
    int32_t *labels = ER_ALLOCATE(sizeof *labels * room);
    if (!history || !weights || !bias || !squares || !labels) {
        free(history), free(weights), free(bias), free(squares), free(labels);
        return er_refuse(error, ER_NO_MEMORY, "no memory for what is to be learned");
    }
    if (n) {
        for (size_t i = 0; i < ER_COUNTS + 2 * n; i++) memcpy(history + i * room, s->history + i * s->row_room, n * f);
        memcpy(weights, s->weights, n * d * f);
        memcpy(bias, s->bias, n * f);
        memcpy(squares, s->squares, n * f);
        memcpy(labels, s->row_labels, n * sizeof *labels);
    }
    free(s->history), free(s->weights), free(s->bias), free(s->squares), free(s->row_labels);
    s->history = history;
    s->weights = weights;
    s->bias = bias;
    s->squares = squares;
    s->row_labels = labels;
    s->row_room = room;
    return true;
}

bool er_knowledge_reserve(er_knowledge *s, uint32_t rows, uint32_t plans, er_error *error)
{
    uint32_t room = s->row_room ? s->row_room : 8, wanted = s->rows + rows < ER_ROWS ? s->rows + rows : ER_ROWS;
    while (room < wanted) room *= 2;
    if (room > s->row_room && !grow_rows(s, room, error)) return false;
    if (s->plan_count + plans > s->plan_room) {
        const uint32_t more = s->plan_room ? 2 * s->plan_room + plans : 16 + plans;
        if (!grow(&s->plans, s->plan_count, more, sizeof *s->plans, error)) return false;
        s->plan_room = more;
    }
    const uint32_t distinct = s->plan_count + plans < s->name_count ? s->plan_count + plans : s->name_count;
    if (distinct > s->mean_room) {
        const uint32_t more = 2 * distinct;
        s->familiar_learned = -1;
        s->mean_room = s->mean_count = 0;
        if (!grow(&s->means, 0, (size_t)more * s->dimension, sizeof(float), error) || !grow(&s->mean_squares, 0, more, sizeof(float), error) ||
            !grow(&s->mean_weights, 0, more, sizeof(float), error) || !grow(&s->mean_places, 0, more, sizeof(uint32_t), error))
            return false;
        s->mean_room = more;
    }
    return true;
}

void er_row_add(er_knowledge *s, int32_t label, bool called)
{
    if (s->row_at[label + 1] >= 0 || s->rows >= (called ? ER_ROWS : PROBABLE_ROWS)) return;
    s->row_at[label + 1] = s->rows;
    s->row_labels[s->rows] = label;
    s->squares[s->rows] = 1.0f + (float)s->demonstrated[label];
    s->rows++;
}

/* ---- Plans ---- */

void er_near_of(const er_knowledge *s, const float *vector, er_near *near)
{
    near->count = 0;
    for (uint32_t row = 0; row < s->plan_count; row++) {
        const float cosine = er_dot(s->plans[row]->vector, vector, s->dimension);
        if (!(cosine >= (float)LEAST_COSINE)) continue;
        if (near->count == ER_MOST_NEIGHBOURS && cosine <= near->cosines[near->count - 1]) continue;
        uint32_t at = near->count < ER_MOST_NEIGHBOURS ? near->count++ : near->count - 1;
        for (; at && near->cosines[at - 1] < cosine; at--) {
            near->cosines[at] = near->cosines[at - 1];
            near->rows[at] = near->rows[at - 1];
        }
        near->cosines[at] = cosine;
        near->rows[at] = row;
    }
    for (uint32_t i = 0; i < near->count; i++) {
        const er_plan *plan = s->plans[near->rows[i]];
        const double age = (double)(plan->time - s->clock) * (log(2.0) / HALF_LIFE);
        near->exponents[i] = (float)((near->cosines[i] - 1.0) / WIDTH + log(plan->weight) + age - 2.0 * ALIKE);
    }
}

static bool same_calls(const er_plan *a, const er_plan *b) { return a->length == b->length && !memcmp(a->calls, b->calls, a->length * sizeof *a->calls); }

int64_t er_same_plan(const er_knowledge *s, const er_near *near, const er_plan *plan)
{
    for (uint32_t i = 0; i < near->count && near->cosines[i] >= SAME_QUERY; i++)
        if (same_calls(s->plans[near->rows[i]], plan)) return near->rows[i];
    return -1;
}

/* What a plan that is stored in row `same`, or not at all, does to others. */
static void outdate(er_knowledge *s, const er_plan *plan, const er_near *near, int64_t same)
{
    for (uint32_t i = 0; i < near->count && near->cosines[i] >= SAME_QUERY; i++) {
        er_plan *other = s->plans[near->rows[i]];
        if (near->rows[i] == same) continue;
        other->weight = 0.5f * other->weight > LEAST_WEIGHT ? 0.5f * other->weight : LEAST_WEIGHT;
        other->redundant = true;
    }
    if (same < 0 && near->count && same_calls(s->plans[near->rows[0]], plan)) s->plans[near->rows[0]]->redundant = true;
}

/* The last one takes its place, so that rows stay without gaps. */
static void remove_row(er_knowledge *s, uint32_t row)
{
    s->steps -= s->plans[row]->length + 1;
    er_plan_free(s->plans[row]);
    s->plans[row] = s->plans[--s->plan_count];
}

static uint32_t least_useful(const er_knowledge *s)
{
    uint32_t found = 0;
    for (uint32_t i = 1; i < s->plan_count; i++) {
        const er_plan *a = s->plans[i], *b = s->plans[found];
        if (a->redundant != b->redundant ? a->redundant : a->time < b->time) found = i;
    }
    return found;
}

void er_plan_store(er_knowledge *s, er_plan *plan)
{
    s->plans[s->plan_count++] = plan;
    s->steps += plan->length + 1;
    if (plan->length > s->longest) s->longest = plan->length;
}

int64_t er_plan_put(er_knowledge *s, er_plan *plan, const er_near *near, int64_t same)
{
    s->clock++;
    outdate(s, plan, near, same);
    plan->time = s->clock;
    if (same >= 0) {
        er_plan *old = s->plans[same];
        const size_t kept = ((size_t)old->length + 1) * ER_KEPT;
        memcpy(plan->vector, old->vector, s->dimension * sizeof(float));
        memcpy(plan->kept, old->kept, kept * sizeof(int32_t));
        memcpy(plan->log_p, old->log_p, kept * sizeof(float));
        plan->weight = old->weight + 1.0f < MOST_WEIGHT ? old->weight + 1.0f : MOST_WEIGHT;
        plan->shown = old->shown < 3 ? old->shown + 1 : 3;
        plan->id = old->id;
        s->plans[same] = plan;
        er_plan_free(old);
        return plan->id;
    }
    while (s->plan_count && s->steps + plan->length + 1 > ER_STEPS) remove_row(s, least_useful(s));
    plan->weight = 1.0f;
    plan->shown = 1;
    plan->id = s->next_id++;
    er_plan_store(s, plan);
    return plan->id;
}

void er_plan_put_again(er_knowledge *s, er_plan *plan, const er_near *near)
{
    outdate(s, plan, near, -1);
    s->clock = plan->time;
    plan->weight = (float)plan->shown;
    plan->redundant = false;
    er_plan_store(s, plan);
}
