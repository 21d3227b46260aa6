/* The header's functions of learning. */

#include "learn_handle.h"

#include "turns.h"
#include "unicode.h"
#include "vectors.h"

#include <stddef.h>
#include <time.h>

static const double WAIT_S = 10.0;

static er_status missing(er_error *error, const char *what)
{
    er_refuse(error, ER_BAD_INPUT, "%s is NULL", what);
    return ER_BAD_INPUT;
}

/* ---- Opening ---- */

/* How often demonstrations called each label: what followed any one call, or none (section 19.1). */
static bool count_calls(er_learner *learner)
{
    const er_stage *stage = er_deciding(learner->given);
    learner->shown.model = learner->given;
    if (!stage->has_head) return true;
    const er_graph *g = &stage->graph;
    double *sums = ER_TAKE(&learner->arena, double, stage->label_count), all = 0;
    uint32_t *called = ER_TAKE(&learner->arena, uint32_t, stage->label_count);
    if (!sums || !called) return false;
    for (uint32_t row = 0; row < g->rows; row++) {
        const int32_t *key = g->keys + (size_t)row * (g->order + 2);
        if (key[0] != -1 || key[1] != 1) continue;
        for (int32_t i = g->starts[row]; i < g->starts[row + 1]; i++) sums[g->targets[i]] += (double)g->counts[i];
    }
    for (uint32_t y = 0; y < stage->label_count; y++) {
        called[y] = sums[y] < 1e9 ? (uint32_t)sums[y] : 1000000000u;
        all += called[y];
        learner->shown.over |= sums[y] > 0;
    }
    learner->shown.called = called;
    learner->shown.sure = all >= 1000;
    return true;
}

er_learner *er_learner_new(const er_model *model, double wait_s, er_error *error)
{
    er_arena arena = {.error = error};
    er_learner *learner = ER_TAKE(&arena, er_learner, 1);
    if (!learner) return er_give_back(&arena), NULL;
    learner->arena = arena;
    learner->by = &er_learner_recalling;
    atomic_init(&learner->holders, 1);
    er_mutex_make(&learner->turn);
    er_mutex_make(&learner->lock);
    learner->given = er_held(model);
    learner->model = er_held(model);
    learner->wait_s = wait_s;
    learner->fold_after = ER_UNFOLDED;
    const bool fine = count_calls(learner);
    learner->arena.error = NULL;
    if (fine) return learner;
    er_learner_close(learner);
    return NULL;
}

er_status er_learner_open(const er_model *model, const char *path, const er_learner_options *options, er_learner **made, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!made) return missing(error, "the place for the learner");
    *made = NULL;
    if (!model) return missing(error, "model");
    er_learner_options own_options;
    if (!er_options(&own_options, sizeof own_options, options, sizeof options->size, "er_learner_options", error)) return error->status;
    const double wait_s = own_options.wait_s;
    const er_text secret = own_options.key.at ? own_options.key : (er_text){NULL, 0};
    const er_text bytes = {own_options.bytes, own_options.byte_count};
    if ((path && bytes.at) || (bytes.length && !bytes.at)) return er_refuse(error, ER_BAD_INPUT, "%s; name a file or give bytes", path ? "a file and bytes both hold an overlay" : "bytes is NULL"), ER_BAD_INPUT;
    if (path && !path[0]) return er_refuse(error, ER_BAD_INPUT, "the overlay's path is empty; NULL is for none"), ER_BAD_INPUT;
    if (!(wait_s >= 0.0 && wait_s <= 1e6)) return er_refuse(error, ER_BAD_INPUT, "wait_s is %g; seconds from 0 on", wait_s), ER_BAD_INPUT;
    if (secret.at && (secret.length < ER_LEAST_KEY || secret.length > ER_MOST_KEY))
        return er_refuse(error, ER_BAD_INPUT, "key has %zu bytes; give %d to %d", secret.length, ER_LEAST_KEY, ER_MOST_KEY), ER_BAD_INPUT;
    er_learner *learner = er_learner_new(model, wait_s > 0.0 ? wait_s : WAIT_S, error);
    if (!learner) return er_status_of(error);
    bool fine = true;
    if (own_options.fold_after) learner->fold_after = own_options.fold_after;
    learner->arena.error = error;
    if (path) {
        char *copy = ER_TAKE(&learner->arena, char, strlen(path) + 1);
        fine = copy != NULL;
        if (fine) learner->path = strcpy(copy, path);
    }
    if (fine && path && secret.at) {
        er_key *key = ER_TAKE(&learner->arena, er_key, 1);
        fine = key != NULL;
        if (fine) er_key_of(secret, key), learner->key = key;
    }
    if (fine && (path || bytes.at)) fine = er_learner_read(learner, bytes, error);
    else if (fine && !(learner->state = er_knowledge_new(&learner->shown, ++learner->serials)))
        fine = er_refuse(error, ER_NO_MEMORY, "no memory to learn");
    learner->arena.error = NULL;
    if (fine) {
        learner->named = learner->folded = learner->state->name_count;
        return *made = learner, ER_OK;
    }
    er_learner_close(learner);
    return er_status_of(error);
}

void er_learner_close(er_learner *learner)
{
    if (!learner || atomic_fetch_sub(&learner->holders, 1) != 1) return;
    er_arena arena = learner->arena;
    er_knowledge_free(learner->state);
    for (const er_kept_model *one = learner->before; one; one = one->next) er_free(one->model);
    er_free(learner->model);
    er_free(learner->given);
    er_mutex_drop(&learner->turn);
    er_mutex_drop(&learner->lock);
    er_give_back(&arena);
}

const er_model *er_learner_model(const er_learner *learner)
{
    if (!learner) return NULL;
    er_learner *one = (er_learner *)learner; /* to ask changes nothing */
    er_mutex_lock(&one->lock);
    const er_model *model = one->model;
    er_mutex_unlock(&one->lock);
    return model;
}

/* ---- Learning ---- */

static double now(void)
{
#if defined(__wasm__)
    const double at = er_page_seconds();
#else
    const double at = (double)time(NULL); /* nothing but people read it, and older systems have no finer one in common */
#endif
    return at > 0 ? at : 0.0;
}

/* The bundle's own word at every step of a task's calls: the most probable places, and what each was called by. */
static bool walk(er_task *task, er_arena *arena, uint32_t *places, float *kept, er_error *error)
{
    const er_request *r = &task->read->request;
    float *logs = ER_TAKE(arena, float, r->n);
    uint32_t *made = ER_TAKE(arena, uint32_t, ER_MOST_CALLS);
    if (!logs || !made) return false;
    for (uint32_t k = 0; k <= task->history.count; k++) {
        const er_history until = {task->places, made, k, er_different(task->places, k, made)};
        er_fuse(r, &task->work, &until, logs);
        er_log_softmax(logs, r->n);
        for (uint32_t p = 0; p < r->n; p++)
            if (logs[p] != logs[p])
                return er_refuse(error, ER_BAD_BUNDLE, "graph and head give no probabilities, but NaN or infinity; build the bundle again");
        er_keep(logs, r->n, k < task->history.count ? (uint32_t)task->places[k] : r->end, places + k * ER_KEPT, kept + k * ER_KEPT);
    }
    return true;
}

/* A call may be of a tool that is not among the few of very many that the request was read for. */
static bool widen(er_task *task, er_error *error)
{
    er_encoding own = {.size = sizeof own};
    task->wide = true;
    if (er_task_encoding(task, &own, error)) return false;
    er_read *read = er_read_query(task->model, er_deciding(task->model), &task->query, &own, task->allowed, task, error);
    if (!read) return false;
    task->narrow = task->read;
    task->read = read;
    task->work.has_first_unseen = false;
    return true;
}

/* With the turn, and the file locked. */
static bool learn_plan(er_learner *learner, er_locked *file, const er_task *task, er_plan **given, const uint32_t *places, int64_t *id, er_error *error)
{
    er_knowledge *s = learner->state;
    const er_names *names = task->read->request.names;
    er_plan *plan = *given;
    er_mutex_lock(&learner->lock); /* names may move, which decisions look at */
    bool fine = true;
    for (uint32_t p = 0; fine && p < names->n; p++) {
        const er_text name = p == names->end ? ER_TEXT("<end>") : task->model->tools[names->tools[p]].name;
        if (er_label_of(s, name) == ER_STRANGER) fine = er_label_add(s, name, error);
    }
    if (fine) fine = er_knowledge_reserve(s, (plan->length + 1u) * (ER_KEPT + 1), 1, error);
    if (fine) er_labels_map(s, task->model);
    er_mutex_unlock(&learner->lock);
    er_arena arena = {.error = error};
    int32_t *labels = fine ? ER_TAKE(&arena, int32_t, names->n) : NULL;
    fine = labels != NULL;
    for (uint32_t label = 0; fine && label < s->name_count; label++)
        if (s->places[label] >= 0) labels[s->places[label]] = (int32_t)label;
    for (uint32_t k = 0; fine && k < plan->length; k++) plan->calls[k] = labels[task->places[k]];
    for (uint32_t i = 0; fine && i < (plan->length + 1) * ER_KEPT; i++) plan->kept[i] = places[i] == UINT32_MAX ? ER_NOBODY : labels[places[i]];
    er_give_back(&arena);
    if (!fine) return false;
    plan->id = s->next_id;
    plan->learned_at = now();
    if (learner->path && !er_learner_append(learner, file, plan, error)) return false;
    learner->named = s->name_count;
    er_mutex_lock(&learner->lock);
    *id = er_lesson(s, plan, false, error);
    er_mutex_unlock(&learner->lock);
    if (*id < 0) return learner->stamp.known = false; /* it is kept, and learned when the file is taken up again */
    *given = NULL;
    learner->unfolded++;
    if (learner->unfolded > learner->fold_after || learner->named - learner->folded > ER_NEW_NAMES) {
        er_error own = {0}; /* the plan is kept already; the next one tries again */
        er_learner_fold(learner, file, s, &own);
    }
    return true;
}

static void report_of(er_learner *learner, er_report *report, int64_t id)
{
    er_mutex_lock(&learner->lock);
    const er_knowledge *s = learner->state;
    const uint64_t plans = s->plan_count, rows = s->rows, d = s->dimension;
    er_report found = {.stored = s->plan_count, .used = !s->muted, .gain = s->judged > 0 ? s->gained / s->judged : 0.0, .id = id};
    if (plans) found.bytes = plans * (2 * d + 32) + 4 * (s->steps - plans) + s->steps * ER_KEPT * 6 + rows * (4 * d + 16 + 4 * (ER_COUNTS + 2 * rows)) + 24;
    er_mutex_unlock(&learner->lock);
    er_fill(report, &found, sizeof found);
}

er_status er_learn(er_task *task, const er_learn_options *given_options, er_report *report, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!task) return missing(error, "task");
    er_learner *learner = task->learner;
    if (!learner) return er_refuse(error, ER_BAD_INPUT, "the task began without a learner; name one in er_begin_options"), ER_BAD_INPUT;
    er_learn_options options;
    if (!er_options(&options, sizeof options, given_options, sizeof options, "er_learn_options", error)) return error->status;
    if (report && !er_sized(report, sizeof *report, "er_report", error)) return error->status;
    if ((unsigned)options.source > ER_DEMONSTRATION) return er_refuse(error, ER_BAD_INPUT, "source is %d; ER_ACCEPTED, ER_CORRECTED and ER_DEMONSTRATION are there", (int)options.source), ER_BAD_INPUT;
    if (task->turn) return er_refuse(error, ER_BAD_INPUT, "a later turn of a conversation leans on earlier ones and cannot be learned; learn a request that stands alone"), ER_BAD_INPUT;
    const uint32_t length = task->history.count;
    if (length > ER_PLAN_CALLS) return er_refuse(error, ER_BAD_INPUT, "a plan to learn may have %d calls, found %u; learn a shorter one", ER_PLAN_CALLS, length), ER_BAD_INPUT;
    for (uint32_t k = 0; k < length; k++) {
        const int32_t tool = task->places[k] < 0 ? -1 : task->read->request.names->tools[task->places[k]];
        if (tool < 0 || (uint32_t)tool >= task->model->tool_count)
            return er_refuse(error, ER_BAD_INPUT, "call %u is of a tool that is not there; add it first: er_with_tools", k + 1), ER_BAD_INPUT;
    }
    er_arena arena = {.error = error};
    const er_watch watch = task->watch;
    task->watch.clock = NULL; /* no step is decided */
    bool fine = (!task->first || er_hand_over(task, error)) && (!task->read->request.near || widen(task, error));
    const er_request *r = &task->read->request;
    const er_text words = options.without_words ? (er_text){NULL, 0} : task->query.text;
    er_plan *plan = fine ? er_plan_new(r->dimension, length, words) : NULL;
    uint32_t *places = fine ? ER_TAKE(&arena, uint32_t, (length + 1u) * ER_KEPT) : NULL;
    fine = fine && (plan || er_refuse(error, ER_NO_MEMORY, "no memory for a plan")) && places && walk(task, &arena, places, plan->log_p, error);
    task->watch = watch;
    int64_t id = -1;
    if (fine) {
        for (uint32_t i = 0; i < r->dimension; i++) plan->vector[i] = er_of_half(er_half(r->vectors[i]));
        plan->source = options.source;
        er_locked file;
        er_mutex_lock(&learner->turn);
        fine = !learner->path || er_learner_lock(learner, &file, error);
        if (fine) {
            fine = learn_plan(learner, &file, task, &plan, places, &id, error);
            if (learner->path) er_locked_close(&file);
        }
        er_mutex_unlock(&learner->turn);
    }
    er_plan_free(plan);
    er_give_back(&arena);
    if (!fine) return er_status_of(error);
    if (report) report_of(learner, report, id);
    return ER_OK;
}

er_status er_learned(er_learner *learner, er_report *report, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!learner || !report) return missing(error, learner ? "report" : "learner");
    if (!er_sized(report, sizeof *report, "er_report", error)) return error->status;
    report_of(learner, report, -1);
    return ER_OK;
}

static bool copy_text(er_arena *arena, er_text from, er_text *to)
{
    char *at = from.length ? ER_TAKE(arena, char, from.length) : NULL;
    if (at) memcpy(at, from.at, from.length);
    *to = (er_text){at, from.length};
    return at || !from.length;
}

/* A copy of all plans as they are told, NULL without memory. */
static er_plan_told *copy_plans(const er_knowledge *s, er_arena *arena)
{
    er_plan_told *all = ER_TAKE(arena, er_plan_told, (size_t)s->plan_count + 1);
    er_text *names = ER_TAKE(arena, er_text, (size_t)s->name_count + 1); /* each copied with the first plan that calls it */
    if (!all || !names) return NULL;
    for (uint32_t i = 0; i < s->plan_count; i++) {
        const er_plan *plan = s->plans[i];
        er_text *calls = ER_TAKE(arena, er_text, (size_t)plan->length + 1);
        all[i] = (er_plan_told){plan->id, {0}, calls, plan->length, plan->source, plan->learned_at};
        if (!calls || !copy_text(arena, plan->query, &all[i].query)) return NULL;
        for (uint32_t k = 0; k < plan->length; k++) {
            er_text *name = &names[plan->calls[k]];
            if (!name->at && !copy_text(arena, s->names[plan->calls[k]], name)) return NULL;
            calls[k] = *name;
        }
    }
    return all;
}

er_status er_learned_plans(er_learner *learner, void (*tell)(void *, const er_plan_told *), void *context, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!learner || !tell) return missing(error, learner ? "tell" : "learner");
    er_arena arena = {.error = error};
    er_mutex_lock(&learner->lock);
    const uint32_t count = learner->state->plan_count;
    const er_plan_told *all = copy_plans(learner->state, &arena);
    er_mutex_unlock(&learner->lock);
    /* Not under the lock: whoever is told may wait for a thread that waits for it, as one does that holds an interpreter. */
    for (uint32_t i = 0; all && i < count; i++) tell(context, &all[i]);
    er_give_back(&arena);
    return all ? ER_OK : er_status_of(error);
}

/* ---- Forgetting ---- */

/* Words without case and with single spaces between them. */
static bool plain(er_arena *arena, er_text text, er_text *found)
{
    er_points points;
    if (!er_points_of(arena, text, &points)) return false;
    uint32_t *lower = ER_TAKE(arena, uint32_t, 2 * (size_t)points.count + 1), count = 0;
    if (!lower) return false;
    const uint32_t all = er_lower(points.points, points.count, lower);
    for (uint32_t i = 0; i < all; i++) {
        if (!er_is_space(lower[i])) lower[count++] = lower[i];
        else if (count && lower[count - 1] != ' ') lower[count++] = ' ';
    }
    if (count && lower[count - 1] == ' ') count--;
    return er_text_of(arena, lower, count, found);
}

/* Marks the plans that are to go; false: no memory, or no text. */
static bool choose(const er_knowledge *s, const er_forget_options *o, er_arena *arena, bool *gone, uint32_t *count)
{
    er_text words = {NULL, 0}, own;
    if (o->query.length && !plain(arena, o->query, &words)) return false;
    const int64_t label = o->tool.length ? er_label_of(s, o->tool) : ER_STRANGER;
    for (uint32_t i = 0; i < s->plan_count; i++) {
        const er_plan *plan = s->plans[i];
        const er_place place = er_mark(arena);
        gone[i] = o->everything != 0;
        for (size_t k = 0; k < o->id_count; k++) gone[i] |= plan->id == o->ids[k];
        if (o->query.length && plan->query.at) {
            if (!plain(arena, plan->query, &own)) return false;
            gone[i] = er_same(own, words);
        }
        for (uint32_t k = 0; k < plan->length; k++) gone[i] |= plan->calls[k] == label;
        er_release(arena, place);
        *count += gone[i];
    }
    return true;
}

static bool forget(er_learner *learner, er_locked *file, const er_forget_options *options, uint32_t *count, er_error *error)
{
    er_knowledge *s = learner->state, *left = s;
    er_arena arena = {.error = error};
    bool *gone = ER_TAKE(&arena, bool, s->plan_count);
    bool fine = gone && choose(s, options, &arena, gone, count);
    if (fine && *count == s->plan_count) {
        left = er_knowledge_new(&learner->shown, ++learner->serials);
        fine = left || er_refuse(error, ER_NO_MEMORY, "no memory to forget");
    } else if (fine && *count)
        fine = (left = er_without(s, gone, ++learner->serials, error)) != NULL;
    er_give_back(&arena);
    /* Even if none was chosen: the file may hold words of plans that others have replaced. */
    if (fine && er_learner_fold(learner, file, left, error)) return true;
    if (left != s) er_knowledge_free(left);
    return learner->stamp.known = false;
}

er_status er_forget(er_learner *learner, const er_forget_options *given_options, uint32_t *count, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!learner || !given_options) return missing(error, learner ? "options" : "learner");
    er_forget_options options;
    if (!er_options(&options, sizeof options, given_options, sizeof options, "er_forget_options", error)) return error->status;
    if ((options.query.length > 0) + (options.tool.length > 0) + (options.id_count > 0) + (options.everything != 0) != 1)
        return er_refuse(error, ER_BAD_INPUT, "say what to forget: a query, a tool, ids or everything"), ER_BAD_INPUT;
    if (options.id_count && !options.ids) return missing(error, "ids");
    er_locked file;
    uint32_t forgotten = 0;
    er_mutex_lock(&learner->turn);
    bool fine = !learner->path || er_learner_lock(learner, &file, error);
    if (fine) {
        fine = forget(learner, &file, &options, &forgotten, error);
        if (learner->path) er_locked_close(&file);
    }
    er_mutex_unlock(&learner->turn);
    if (count) *count = fine ? forgotten : 0;
    return fine ? ER_OK : er_status_of(error);
}
