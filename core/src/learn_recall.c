/* What a task finds learned, step by step (section 19.6). Takes its memory when the task begins. */

#include "learn_handle.h"
#include "task.h"
#include "vectors.h"

static const double TRUSTED = 100.0;

struct er_recall {
    const er_recalling *by; /* first, as in request.h */
    er_learner *learner;
    const er_model *model;
    er_mixing mixing;
    int32_t *labels; /* (n): by place */
    int32_t *history;
    float *vector;   /* (dimension): the query's, as halves keep it */
    int64_t serial, learned; /* of what the mixing is */
    double nearest;
};

static er_learner *held(er_learner *learner)
{
    atomic_fetch_add(&learner->holders, 1);
    return learner;
}

static bool counts(er_learner *learner)
{
    er_mutex_lock(&learner->lock);
    const bool any = learner->state->plan_count > 0;
    er_mutex_unlock(&learner->lock);
    return any;
}

/* What was learned are vectors and names, which mean the same to all models with one encoder. */
bool er_learner_serves(const er_learner *learner, const er_model *model)
{
    const er_spec *own = &er_deciding(learner->given)->spec, *theirs = &er_deciding(model)->spec;
    return own->dimension == theirs->dimension && er_same(own->fingerprint, theirs->fingerprint);
}

static bool recall_of(er_arena *arena, er_learner *learner, const er_model *model, uint32_t n, er_recall **made)
{
    if (!er_learner_serves(learner, model)) return er_refuse(arena->error, ER_BAD_INPUT, "learner: it was opened with a model of another encoder; begin tasks with er_learner_model");
    er_recall *recall = ER_TAKE(arena, er_recall, 1);
    const uint32_t d = er_deciding(model)->spec.dimension;
    if (!recall || !(recall->vector = ER_TAKE(arena, float, d)) || !(recall->labels = ER_TAKE(arena, int32_t, n)) || !(recall->history = ER_TAKE(arena, int32_t, ER_MOST_CALLS)) ||
        !er_mixing_take(arena, n, &recall->mixing))
        return false;
    recall->by = learner->by;
    recall->learner = learner;
    recall->model = model;
    recall->serial = -1;
    *made = recall;
    return true;
}

/* What is looked up of a request, as long as nothing more is learned. */
static void look_up(er_recall *recall, const er_knowledge *s, const er_request *r)
{
    for (uint32_t i = 0; i < r->dimension; i++) recall->vector[i] = er_of_half(er_half(r->vectors[i]));
    er_mixing_of(s, recall->vector, s->places, &recall->mixing);
    for (uint32_t p = 0; p < r->n; p++) recall->labels[p] = ER_STRANGER;
    for (uint32_t label = 0; label < s->name_count; label++)
        if (s->places[label] >= 0) recall->labels[s->places[label]] = (int32_t)label;
    recall->nearest = -2.0;
    for (uint32_t i = 0; i < recall->mixing.near.count && recall->nearest < -1; i++)
        if (s->plans[recall->mixing.near.rows[i]]->length) recall->nearest = recall->mixing.near.cosines[i];
    recall->serial = s->serial;
    recall->learned = s->learned;
}

static void compare(er_knowledge *s, const er_request *r, er_known *known)
{
    er_familiar(s);
    known->familiar = true;
    known->square = INFINITY;
    known->no_tool = s->no_tool;
    known->called = s->called;
    for (uint32_t i = 0; i < s->mean_count; i++) {
        if (r->allowed && !r->allowed[s->mean_places[i]]) continue;
        const double square = s->mean_squares[i] - 2.0 * er_dot(s->means + (size_t)i * s->dimension, r->vectors, s->dimension);
        known->square = square < known->square ? square : known->square;
    }
}

/* What the state makes of a request, anew where it learned since; false where nothing is stored. */
static bool recall_now(er_recall *recall, er_knowledge *s, const er_request *r, const er_history *h)
{
    if (!s->plan_count) return false;
    er_labels_map(s, recall->model);
    if (recall->serial != s->serial || recall->learned != s->learned) look_up(recall, s, r);
    recall->mixing.places = s->places;
    for (uint32_t i = 0; i < h->count; i++) recall->history[i] = h->places[i] < 0 ? ER_STRANGER : recall->labels[h->places[i]];
    return true;
}

static void mix(er_recall *recall, const er_request *r, const er_history *h, float *logs, er_known *known)
{
    er_learner *learner = recall->learner;
    er_mutex_lock(&learner->lock);
    er_knowledge *s = learner->state;
    if (recall_now(recall, s, r, h)) {
        known->share = TRUSTED / (TRUSTED + s->plan_count);
        known->nearest = recall->nearest;
        known->counts = !s->muted && recall->mixing.trust > 0;
        if (!s->muted) er_mix_step(s, &recall->mixing, recall->history, h->count, logs);
        if (!s->muted && !h->count) compare(s, r, known);
    }
    er_mutex_unlock(&learner->lock);
}

/* The nearest plans; false: no memory, or whoever is told has none. */
static bool tell_near(const er_knowledge *s, const er_mixing *m, uint32_t most, er_plan_teller *tell, void *context)
{
    er_text calls[ER_PLAN_CALLS];
    for (uint32_t i = 0; i < m->near.count && i < most; i++) {
        const er_plan *plan = s->plans[m->near.rows[i]];
        for (uint32_t k = 0; k < plan->length; k++) calls[k] = s->names[plan->calls[k]];
        if (!tell(context, plan->query, calls, plan->length, m->near.cosines[i])) return false;
    }
    return true;
}

static bool explain(er_recall *recall, er_arena *arena, const er_request *r, const er_history *h, const float *logs, float *found, er_recalled *told,
    uint32_t most, er_plan_teller *tell, void *context)
{
    float *said = ER_TAKE(arena, float, r->n);
    if (!said) return false;
    bool fine = true;
    double weights[3];
    er_learner *learner = recall->learner;
    er_mutex_lock(&learner->lock);
    er_knowledge *s = learner->state;
    if (recall_now(recall, s, r, h) && !s->muted && recall->mixing.trust > 0) {
        told->counts = true;
        told->known.nearest = recall->nearest;
        er_mix_apart(s, &recall->mixing, recall->history, h->count, logs, weights, said, found);
        told->increments = weights[0];
        told->memory = weights[1];
        told->base = weights[2];
        compare(s, r, &told->known);
        fine = tell_near(s, &recall->mixing, most, tell, context);
    }
    er_mutex_unlock(&learner->lock);
    return fine;
}

const er_recalling er_learner_recalling = {held, er_learner_close, counts, recall_of, mix, explain};
