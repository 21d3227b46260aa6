/* Sections 9 and 17: who decides, floors, and when edgeret abstains. */

#include "turns.h"
#include "vectors.h"

static const double AGAINST = 0.5, ALONE = 0.75, LATER = 0.9;
enum { FLOORS = 100 };

static double floor_by_risk(const er_calibration *c, bool later, double risk)
{
    const int at = (int)floor(200.0 * (risk + 1e-9)) - 1;
    if (at < 0) return 1.0;
    return (later ? c->later_floors : c->first_floors)[at < FLOORS ? at : FLOORS - 1];
}

double er_floor_of(const er_task *task, int32_t tool, const er_next_options *options)
{
    /* Both stages' own calibrations say it of their decisions. */
    const er_calibration *c = &task->read->request.stage->calibration;
    const bool later = task->history.count > 0;
    double floor = c->min_probability;
    if (options->min_probability != 0) floor = options->min_probability > 0 ? options->min_probability : 0;
    else if (options->risk > 0) floor = floor_by_risk(c, later, options->risk);
    if (tool >= 0 && task->model->tools[tool].risk > 0) {
        const double own = floor_by_risk(c, later, task->model->tools[tool].risk);
        floor = own > floor ? own : floor;
    }
    return floor;
}

/* Those that have weight: where the head rests on the tools' own words at every step, all steps are fused alike. */
static uint32_t parts_of(const er_task *task)
{
    const er_request *r = &task->read->request;
    const er_stage *stage = r->stage;
    const er_calibration *c = &stage->calibration;
    const bool steps = stage->head.prior_steps, later = task->history.count && !steps;
    uint32_t parts = ER_BY_TOOLS;
    if (stage->has_head) {
        parts = stage->head.prior_weight != 0 ? ER_BY_TOOLS : 0;
        if ((later ? c->later_head_weight : c->head_weight) != 0) parts |= ER_BY_HEAD;
        if ((later ? c->later_graph_weight : c->graph_weight) != 0) parts |= ER_BY_GRAPH;
        if (stage->has_memory && steps && c->memory_weight != 0) parts |= ER_BY_DEMONSTRATIONS;
    }
    return parts | (task->work.known.counts ? ER_BY_LEARNED : 0) | (task->turn ? ER_BY_TURNS : 0);
}

static void fill(const er_task *task, uint32_t best, er_reason reason, double floor, er_decision *decision)
{
    const er_request *r = &task->read->request;
    const int32_t tool = r->names->tools[best];
    const bool abstained = reason == ER_NOTHING_FITS || reason == ER_UNSURE || reason == ER_ALL_FAILED;
    *decision = (er_decision){
        .tool_number = abstained ? ER_END : tool,
        .probability = task->work.probabilities[best],
        .reason = reason,
        .abstained = abstained,
        .named = tool >= 0 && !task->history.count && r->said_any && r->said[best],
        .stage = r->stage->table ? 0 : 1,
        .demonstrated = r->stage->has_head,
        .floor = floor,
        .best = tool < 0 ? ER_TEXT("<end>") : task->model->tools[tool].name,
        .best_number = tool,
        .parts = parts_of(task),
    };
    if (decision->tool_number < 0) return;
    decision->tool = task->model->tools[tool].name;
    decision->confirm = task->model->tools[tool].confirm;
}

/* Whether the tools' own words put another tool than the best ahead. */
static bool contradicted(const er_request *r, uint32_t best)
{
    const float least = r->statics[best] + (float)AGAINST;
    for (uint32_t p = 0; p < r->n; p++)
        if (p != r->end && r->statics[p] > least) return true;
    return false;
}

/* Whether the small encoder's word stands (section 17); the decision, if so. */
static bool first_stage(er_task *task, const er_next_options *options, er_decision *decision)
{
    const er_request *r = &task->read->request;
    const er_model *m = task->model;
    const float *p = task->work.probabilities;
    const uint32_t best = er_first_largest(p, r->n);
    const bool first = !task->history.count;
    if (first && best == r->end) {
        if (options->policy != ER_AUTO || !(p[best] > m->cascade_declines)) return false;
        fill(task, best, ER_NOTHING_FITS, er_floor_of(task, ER_END, options), decision);
        return true;
    }
    const double floor = er_floor_of(task, r->names->tools[best], options);
    double least = m->cascade_least > floor ? m->cascade_least : floor;
    if (!first && least < LATER) least = LATER;
    if (best > r->end || !(p[best] >= least)) return false;
    if (first) {
        if (!(p[r->end] < m->cascade_nothing)) return false;
        if (contradicted(r, best)) {
            er_head_alone(r, &task->work, &task->history, task->work.logs);
            if (!(exp(task->work.logs[best]) >= ALONE)) return false;
        }
    }
    fill(task, best, best == r->end ? ER_DONE : ER_PROBABLE, floor, decision);
    return true;
}

bool er_hand_over(er_task *task, er_error *error)
{
    er_lap(&task->watch, ER_AT_DECIDE);
    er_read *read = er_read_query(task->model, &task->model->full, &task->query, task->own, task->allowed, task, error);
    if (!read) return false;
    er_unread(task->read);
    task->read = read;
    task->first = false;
    task->work.has_first_unseen = false;
    task->work.recall = task->recall;
    return true;
}

bool er_decide(er_task *task, const er_next_options *options, er_decision *decision, er_error *error)
{
    const bool *blocked = er_blocked(task);
    if (task->first) {
        if (!blocked && !options->own) {
            if (!er_step_probabilities(&task->read->request, &task->work, &task->history, NULL, task->work.probabilities))
                return er_refuse(error, ER_BAD_BUNDLE, "graph and head give no probabilities, but NaN or infinity; build the bundle again");
            er_lap(&task->watch, ER_AT_FUSE);
            if (first_stage(task, options, decision)) return true;
        }
        if (!er_hand_over(task, error)) return false;
    }
    const er_request *r = &task->read->request;
    float *p = task->work.probabilities;
    if (task->turn ? !er_turn_probabilities(task, blocked, p) : !er_step_probabilities(r, &task->work, &task->history, blocked, p))
        return er_refuse(error, ER_BAD_BUNDLE, "graph and head give no probabilities, but NaN or infinity; build the bundle again");
    er_lap(&task->watch, ER_AT_FUSE);
    uint32_t left = 0;
    for (uint32_t i = 0; blocked && i < r->n; i++) left += i != r->end && !blocked[i] && !er_is_left_out(r, i);
    const uint32_t best = er_first_largest(p, r->n);
    if (blocked && !left) {
        fill(task, best, ER_ALL_FAILED, er_floor_of(task, ER_END, options), decision);
        return true;
    }
    const double floor = er_floor_of(task, r->names->tools[best], options);
    er_reason reason = best == r->end ? ER_DONE : ER_PROBABLE;
    if (options->policy == ER_AUTO && !task->history.count && best == r->end) reason = ER_NOTHING_FITS;
    else if (options->policy == ER_AUTO && !(p[best] >= floor)) reason = ER_UNSURE;
    fill(task, best, reason, floor, decision);
    return true;
}
