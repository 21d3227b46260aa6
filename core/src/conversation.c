/* A turn of a conversation beside those before it: what it keeps of them, and its steps (section 9.1). */

#include "turns.h"

uint32_t er_different(const int32_t *places, uint32_t count, uint32_t *made)
{
    uint32_t found = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t k = 0;
        while (k < found && made[k] != (uint32_t)places[i]) k++;
        if (places[i] >= 0 && k == found) made[found++] = (uint32_t)places[i];
    }
    return found;
}

static er_turn *room(er_arena *arena, const er_names *names)
{
    er_turn *turn = ER_TAKE(arena, er_turn, 1);
    if (!turn) return NULL;
    turn->alone = ER_TAKE(arena, double, names->n);
    turn->onward = ER_TAKE(arena, double, names->n);
    turn->scores = ER_TAKE(arena, double, names->n);
    turn->marks = ER_TAKE(arena, uint8_t, names->n);
    turn->places = ER_TAKE(arena, int32_t, ER_MOST_CALLS);
    turn->made = ER_TAKE(arena, uint32_t, ER_MOST_CALLS);
    return turn->alone && turn->onward && turn->scores && turn->marks && turn->places && turn->made ? turn : NULL;
}

/* Behind what is there, of which the oldest one makes room. */
static void add(er_earlier *earlier, int32_t place)
{
    if (earlier->count == ER_MOST_EARLIER) memmove(earlier->at, earlier->at + 1, --earlier->count * sizeof *earlier->at);
    earlier->at[earlier->count++] = place;
}

bool er_turn_of(er_arena *arena, const er_text *calls, size_t count, size_t last, const er_model *model, const er_names *names, er_turn **made)
{
    if (last > count) return er_refuse(arena->error, ER_BAD_INPUT, "last_count is %zu, but earlier_count is %zu", last, count);
    er_turn *turn = room(arena, names);
    if (!turn) return false;
    for (size_t i = count > ER_MOST_EARLIER ? count - ER_MOST_EARLIER : 0; i < count; i++) {
        if (!calls[i].at) return er_refuse(arena->error, ER_BAD_INPUT, "earlier: call %zu has no name", i + 1);
        const int64_t tool = er_held_find(model, calls[i]);
        const int32_t place = tool < 0 ? -1 : (int32_t)names->places[tool];
        add(&turn->all, place);
        if (i >= count - last) add(&turn->last, place);
    }
    *made = turn;
    return true;
}

bool er_turn_fork(er_arena *arena, const er_turn *turn, const er_names *names, er_turn **made)
{
    if (!(*made = room(arena, names))) return false;
    (*made)->all = turn->all;
    (*made)->last = turn->last;
    return true;
}

bool er_turn_probabilities(er_task *task, const bool *blocked, float *found)
{
    const er_request *r = &task->read->request;
    er_turn *turn = task->turn;
    const er_history *own = &task->history;
    const uint32_t left = ER_MOST_CALLS - own->count, looked = turn->all.count < left ? turn->all.count : left;
    memcpy(turn->places, turn->all.at, looked * sizeof *turn->places);
    memcpy(turn->places + looked, task->places, own->count * sizeof *turn->places);
    const uint32_t count = looked + own->count;
    const er_history every = {turn->places, turn->made, count, er_different(turn->places, count, turn->made)};
    if (!er_later_probabilities(r, &task->work, own, blocked, found)) return false;
    const double alone = er_apart(found, r->n, r->end, turn->alone);
    if (!er_later_probabilities(r, &task->work, &every, NULL, found)) return false;
    const er_turn_step step = {
        .alone = turn->alone, .onward = turn->onward, .alone_end = alone,
        .onward_end = er_apart(found, r->n, r->end, turn->onward), .allowed = r->allowed, .blocked = blocked, .request = r, .n = r->n,
        .end = r->end, .words = r->sayings->words, .all = &turn->all, .last = &turn->last, .made = task->places,
        .made_count = own->count, .demonstrated = r->stage->has_head,
    };
    er_mix_turn(&step, turn->marks, turn->scores, found);
    return true;
}
