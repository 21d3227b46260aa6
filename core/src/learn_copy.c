/* What was learned, once more: as a learner of its own, and as an overlay's bytes. */

#include "learn_handle.h"

/* ---- Another learner ---- */

static bool copy_names(er_knowledge *to, const er_knowledge *from, er_error *error)
{
    for (uint32_t i = 1; i < from->name_count; i++) /* `<end>` is there */
        if (!er_label_add(to, from->names[i], error)) return false;
    return true;
}

/* `to` has learned nothing. */
static bool copy(er_knowledge *to, const er_knowledge *from, er_error *error)
{
    if (!copy_names(to, from, error) || !er_knowledge_reserve(to, from->rows, from->plan_count, error)) return false;
    for (uint32_t i = 0; i < from->plan_count; i++) {
        const er_plan *old = from->plans[i];
        er_plan *plan = er_plan_copy(from, old);
        if (!plan) return er_refuse(error, ER_NO_MEMORY, "no memory for a copy of what was learned");
        plan->weight = old->weight;
        plan->redundant = old->redundant;
        er_plan_store(to, plan);
    }
    const size_t d = from->dimension;
    for (uint32_t r = 0; r < from->rows; r++) er_row_add(to, from->row_labels[r], true);
    if (from->rows) {
        memcpy(to->weights, from->weights, from->rows * d * sizeof(float));
        memcpy(to->bias, from->bias, from->rows * sizeof(float));
        memcpy(to->squares, from->squares, from->rows * sizeof(float));
    }
    for (size_t i = 0; from->rows && i < ER_COUNTS + 2 * (size_t)from->rows; i++)
        memcpy(to->history + i * to->row_room, from->history + i * from->row_room, from->rows * sizeof(float));
    memcpy(to->mixture, from->mixture, sizeof to->mixture);
    memcpy(to->mixture_squares, from->mixture_squares, sizeof to->mixture_squares);
    to->longest = from->longest;
    to->clock = from->clock;
    to->next_id = from->next_id;
    to->judged = from->judged;
    to->gained = from->gained;
    to->gained_squares = from->gained_squares;
    to->muted = from->muted;
    to->learned = from->learned;
    return true;
}

er_status er_learner_copy(er_learner *learner, er_learner **made, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (made) *made = NULL;
    if (!learner || !made) return er_refuse(error, ER_BAD_INPUT, "er_learner_copy needs a learner, and a place for its copy"), ER_BAD_INPUT;
    er_learner *other = er_learner_new(learner->given, learner->wait_s, error);
    if (!other) return er_status_of(error);
    er_mutex_lock(&learner->lock);
    er_free(other->model);
    other->model = er_held(learner->model);
    other->state = er_knowledge_new(&other->shown, ++other->serials);
    const bool fine = (other->state || er_refuse(error, ER_NO_MEMORY, "no memory for a copy of what was learned")) && copy(other->state, learner->state, error);
    er_mutex_unlock(&learner->lock);
    if (fine) {
        other->named = other->folded = other->state->name_count;
        return *made = other, ER_OK;
    }
    er_learner_close(other);
    return er_status_of(error);
}

/* ---- Bytes ---- */

static bool put_all(er_bytes *bytes, const er_knowledge *s, er_contents *contents, er_error *error)
{
    er_arena arena = {.error = error};
    int32_t *numbers = ER_TAKE(&arena, int32_t, s->name_count);
    const uint32_t names = numbers ? er_used_names(s, false, numbers) : 0;
    const bool fine = numbers && er_put_learned(bytes, &arena, s, numbers, names, "what was learned", contents);
    er_give_back(&arena);
    return fine;
}

er_status er_learner_bytes(er_learner *learner, void (*tell)(void *, const void *, size_t), void *context, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!learner || !tell) return er_refuse(error, ER_BAD_INPUT, "er_learner_bytes needs a learner, and whom to tell"), ER_BAD_INPUT;
    er_bytes bytes = {0};
    er_contents contents;
    uint8_t salt[ER_SALT];
    bool fine = er_random(salt, sizeof salt) || er_refuse(error, ER_NOT_KEPT, "no random numbers here");
    if (fine) er_put_header(&bytes, salt, er_deciding(learner->given)->spec.fingerprint, learner->given->content_hash, NULL, &contents);
    er_mutex_lock(&learner->lock);
    fine = fine && put_all(&bytes, learner->state, &contents, error);
    er_mutex_unlock(&learner->lock);
    fine = fine && (!bytes.failed || er_refuse(error, ER_NO_MEMORY, "no memory for what was learned"));
    if (fine) tell(context, bytes.at, bytes.length);
    er_bytes_free(&bytes);
    return fine ? ER_OK : er_status_of(error);
}
