/* Why a step came out as it did: what every part of it says on its own, and what it weighs in the whole. Decides nothing.

   The parts add up: a step's log-scores are the sum of its parts' own log-probabilities, each times its weight, up to a
   constant and before calibration. Parts that stand within another one say what that one is made of. */

#include "task.h"
#include "vectors.h"

enum { NEAR = sizeof((er_explanation){0}.near) / sizeof(er_demonstration), WORDS = sizeof((er_explanation){0}.words) / sizeof(er_word_told),
       CLUSTER = sizeof((er_explanation){0}.cluster) / sizeof(er_candidate) };

static const double LEAST_SHARE = 1e-12;

/* One question: for whom the parts speak, and room for one part's word of all names. */
typedef struct {
    er_task *task;
    er_arena *arena;
    const er_request *request;
    const er_history *history;
    er_explanation *told;
    uint32_t places[ER_MOST_COMPARED], count;
    float *said, *base;     /* (n) each */
    float *words, *meaning, *flow, *values, *examples; /* (n) each: weighed */
    er_recalled learned;
    double head, graph, prior, memory; /* what they count for */
    bool first, apart;      /* the end was judged apart from the tools; it is among the first two */
    double unlike;          /* the probability that nothing fits by demonstrations alone; NaN: nobody knows */
} asked;

/* ---- Votes ---- */

/* Before any call all that speaks for or against the end comes from one part, since the others share what is left. */
static double from_nothing(const asked *a, er_part_name part)
{
    if (part != (a->unlike == a->unlike ? ER_PART_FAMILIARITY : ER_PART_PRIOR)) return NAN;
    const double end = a->task->work.probabilities[a->task->read->request.end];
    const double odds = log((1 - end > LEAST_SHARE ? 1 - end : LEAST_SHARE) / (end > LEAST_SHARE ? end : LEAST_SHARE));
    return a->places[0] == a->request->end ? -odds : odds;
}

/* A part's word, of the first `known` names; NaN of the others. */
static void vote(asked *a, er_part_name part, int32_t within, double weight, uint32_t known)
{
    er_vote *vote = &a->told->votes[a->told->vote_count++];
    *vote = (er_vote){part, within, weight, {NAN, NAN, NAN}, NAN};
    for (uint32_t i = 0; i < a->count; i++)
        if (a->places[i] < known) vote->log_p[i] = a->said[a->places[i]];
    double apart = a->count > 1 ? vote->log_p[0] - vote->log_p[1] : 0.0;
    if (a->first && a->apart) apart = from_nothing(a, part);
    if (isfinite(apart)) vote->pull = weight * apart;
}

/* A part of the prior, by what it adds to scores: of tools alone. */
static void vote_of_tools(asked *a, er_part_name part, const float *scores)
{
    const er_request *r = a->request;
    memcpy(a->said, scores, r->n * sizeof(float));
    a->said[r->end] = -INFINITY;
    if (!(er_allow(r, a->said) > -INFINITY)) return;
    er_log_softmax(a->said, r->n);
    a->said[r->end] = NAN;
    vote(a, part, ER_PART_PRIOR, a->prior, r->n);
}

/* What the steps' own formulas (section 9) have of each part; and what was learned, which says what is left to the bundle. */
static bool weigh(asked *a, er_plan_teller *tell)
{
    const er_request *r = a->request;
    const er_calibration *c = &r->stage->calibration;
    const er_head *head = &r->stage->head;
    const bool own = a->history->count && !head->prior_steps;
    a->learned = (er_recalled){.base = 1.0, .known = {.share = 1.0, .nearest = -2.0}};
    er_fuse(r, &a->task->work, a->history, a->base);
    er_recall *recall = a->task->work.recall;
    if (recall && !er_by(recall)->explain(recall, a->arena, r, a->history, a->base, a->said, &a->learned, NEAR, tell, a)) return false;
    const double base = a->learned.increments + a->learned.base;
    a->prior = base;
    if (!r->stage->has_head) return true;
    a->head = base * (own ? c->later_head_weight : c->head_weight);
    a->graph = base * (own ? c->later_graph_weight : c->graph_weight);
    a->prior = a->head * head->prior_weight;
    a->memory = base * c->memory_weight;
    return true;
}

static bool vote_all(asked *a)
{
    const er_request *r = a->request;
    const er_stage *stage = r->stage;
    er_workspace *work = &a->task->work;
    const bool steps = stage->has_head && stage->head.prior_steps;
    float *const learned = ER_TAKE(a->arena, float, r->n);
    if (!learned) return false;
    memcpy(learned, a->said, r->n * sizeof(float));
    if (stage->has_head) {
        er_head_logits(r, a->history, a->said);
        er_log_softmax(a->said, r->labels);
        vote(a, ER_PART_HEAD, -1, a->head, r->labels);
    }
    er_prior_log_probabilities(r, work, a->history, a->said);
    memcpy(a->base, a->said, r->n * sizeof(float));
    vote(a, ER_PART_PRIOR, stage->has_head && !steps ? ER_PART_HEAD : -1, a->prior, r->n);
    er_request apart = *r; /* forks may read the same one meanwhile */
    apart.arena = *a->arena;
    const bool fine = er_evidence_apart(&apart, a->words, a->flow, a->values, a->examples);
    *a->arena = apart.arena;
    if (!fine) return false;
    er_prior_evidence(r, work, a->history, a->words, a->meaning, a->flow, a->values);
    vote_of_tools(a, ER_PART_WORDS, a->words);
    vote_of_tools(a, ER_PART_MEANING, a->meaning);
    vote_of_tools(a, ER_PART_FLOW, a->flow);
    if (r->sayings->values) vote_of_tools(a, ER_PART_VALUES, a->values);
    if (apart.has_example) vote_of_tools(a, ER_PART_EXAMPLES, a->examples);
    if (stage->has_head) {
        er_graph_walk(r, work, a->history, work->walked);
        for (uint32_t y = 0; y < r->labels; y++) a->said[y] = logf(work->walked[y]);
        vote(a, ER_PART_GRAPH, -1, a->graph, r->labels);
    }
    if (steps && stage->has_memory) {
        for (uint32_t p = 0; p < r->n; p++) a->base[p] += r->names->popular[p];
        er_memory_log_probabilities(r, a->history, a->base, a->said);
        er_log_softmax(a->said, r->n);
        vote(a, ER_PART_MEMORY, -1, a->memory, r->n);
    }
    memcpy(a->said, learned, r->n * sizeof(float));
    if (a->learned.counts) vote(a, ER_PART_LEARNED, -1, a->learned.increments + a->learned.memory, r->n);
    if (a->unlike == a->unlike) {
        for (uint32_t p = 0; p < r->n; p++) a->said[p] = NAN;
        a->said[r->end] = (float)log(a->unlike > LEAST_SHARE ? a->unlike : LEAST_SHARE);
        vote(a, ER_PART_FAMILIARITY, -1, 1.0, r->n);
    }
    return true;
}

/* ---- What is near ---- */

static er_text name_of(const asked *a, uint32_t place)
{
    const int32_t tool = a->request->names->tools[place];
    return tool < 0 ? ER_TEXT("<end>") : a->task->model->tools[tool].name;
}

/* Among those that are told, the nearest first; of a plan that is as near the first one. */
static bool tell_one(asked *a, er_text query, const er_text *calls, uint32_t count, double cosine, bool learned)
{
    er_demonstration *near = a->told->near;
    uint32_t at = a->told->near_count;
    if (at == NEAR && !(cosine > near[NEAR - 1].cosine)) return true;
    er_text *copy = ER_TAKE(a->arena, er_text, count + 1u);
    char *words = query.length ? ER_TAKE(a->arena, char, query.length) : NULL;
    if (!copy || (query.length && !words)) return false;
    if (query.length) memcpy(words, query.at, query.length);
    for (uint32_t i = 0; i < count; i++) {
        char *name = ER_TAKE(a->arena, char, calls[i].length + 1); /* what was learned may be forgotten meanwhile */
        if (!name) return false;
        memcpy(name, calls[i].at, calls[i].length);
        copy[i] = (er_text){name, calls[i].length};
    }
    if (at < NEAR) a->told->near_count++;
    else at--;
    for (; at && near[at - 1].cosine < cosine; at--) near[at] = near[at - 1];
    near[at] = (er_demonstration){{words, query.length}, copy, count, learned, cosine};
    return true;
}

static bool tell_learned(void *context, er_text query, const er_text *calls, uint32_t count, double cosine)
{
    return tell_one(context, query, calls, count, cosine, true);
}

static bool tell_near(asked *a)
{
    const er_request *r = a->request;
    const er_memory *memory = &r->stage->memory;
    if (!r->stage->has_memory) return true;
    for (uint32_t i = 0; i < r->neighbours.count && i < NEAR; i++) {
        const uint32_t plan = r->neighbours.plans[i];
        const int32_t *calls = memory->calls + memory->starts[plan];
        const uint32_t count = (uint32_t)(memory->starts[plan + 1] - memory->starts[plan]);
        er_text *names = ER_TAKE(a->arena, er_text, count + 1u);
        if (!names) return false;
        for (uint32_t k = 0; k < count; k++) names[k] = name_of(a, (uint32_t)calls[k]);
        if (!tell_one(a, (er_text){NULL, 0}, names, count, r->neighbours.cosines[i], false)) return false;
    }
    return true;
}

/* What the nearest clusters call next, of equals the first. */
static void tell_cluster(asked *a)
{
    const er_request *r = a->request;
    er_candidate *room = a->told->cluster;
    if (!r->stage->has_head) return;
    const float *walked = a->task->work.walked;
    a->told->similarity = r->place.similarity;
    for (uint32_t y = 0; y < r->labels; y++) {
        uint32_t at = a->told->cluster_count;
        if (at == CLUSTER && !(walked[y] > room[CLUSTER - 1].probability)) continue;
        if (at < CLUSTER) a->told->cluster_count++;
        else at--;
        for (; at && room[at - 1].probability < walked[y]; at--) room[at] = room[at - 1];
        room[at] = (er_candidate){r->names->tools[y], name_of(a, y), walked[y]};
    }
}

/* ---- Words ---- */

static bool has_word(const er_lexicon *l, uint32_t tool, uint32_t word)
{
    for (uint32_t field = 1; field < 3; field++) /* a tool's text and parameters both hold its name's words */
        for (uint32_t i = l->starts[field * l->tools + tool]; i < l->starts[field * l->tools + tool + 1]; i++)
            if (l->places[i] == word) return true;
    return false;
}

static bool shorter(er_text a, er_text b)
{
    return a.length != b.length ? a.length < b.length : memcmp(a.at, b.at, a.length) < 0;
}

/* The request's words by their stems, each as it is written shortest. */
static void tell_words(asked *a)
{
    const er_overlap *overlap = a->request->overlap;
    const er_lexicon *l = &a->task->model->lexicon;
    const er_word *words = overlap->words;
    for (uint32_t i = 0; i < overlap->word_count && a->told->word_count < WORDS; i++) {
        uint32_t before = 0;
        while (!er_same(words[before].stem, words[i].stem)) before++;
        if (before < i) continue;
        const uint32_t place = er_word_place(l, words[i].stem);
        er_word_told *told = &a->told->words[a->told->word_count++];
        *told = (er_word_told){words[i].written, place >= l->count, 0};
        for (uint32_t k = i + 1; k < overlap->word_count; k++)
            if (er_same(words[k].stem, words[i].stem) && shorter(words[k].written, told->word)) told->word = words[k].written;
        for (uint32_t k = 0; k < a->count && !told->unknown; k++) {
            const int32_t tool = a->request->names->tools[a->places[k]];
            if (tool >= 0 && has_word(l, (uint32_t)tool, place)) told->has |= 1u << k;
        }
    }
}

/* ---- The question ---- */

/* Where they stand; what could not be chosen is refused. */
static bool compare(asked *a, const int32_t *tools, size_t count, er_error *error)
{
    const er_request *whole = &a->task->read->request;
    const bool *blocked = er_blocked(a->task);
    for (size_t i = 0; i < count; i++) {
        if (tools[i] != ER_END && (tools[i] < 0 || (uint32_t)tools[i] >= a->task->model->tool_count))
            return er_refuse(error, ER_BAD_INPUT, "no tool has the number %d; there are %u", (int)tools[i], a->task->model->tool_count);
        const uint32_t place = tools[i] < 0 ? whole->end : whole->names->places[tools[i]];
        if ((whole->allowed && !whole->allowed[place]) || (blocked && blocked[place]) || er_is_left_out(whole, place))
            return er_refuse(error, ER_BAD_INPUT, "tool %d could not be chosen: it had failed, or was not among the tools given or found", (int)tools[i]);
        a->places[i] = whole->near ? whole->at_near[place] : place;
        if (i < 2) a->apart |= tools[i] == ER_END;
    }
    a->count = (uint32_t)count;
    return true;
}

static bool explain(asked *a)
{
    er_task *task = a->task;
    const uint32_t n = a->request->n;
    float **rooms[] = {&a->said, &a->base, &a->words, &a->meaning, &a->flow, &a->values, &a->examples};
    for (size_t i = 0; i < sizeof rooms / sizeof *rooms; i++)
        if (!(*rooms[i] = ER_TAKE(a->arena, float, n))) return false;
    a->first = !task->history.count && !task->turn;
    if (!tell_near(a) || !weigh(a, tell_learned)) return false;
    a->unlike = a->first ? er_unlike(a->request, &a->learned.known) : NAN;
    if (!vote_all(a)) return false;
    tell_cluster(a);
    tell_words(a);
    return true;
}

er_status er_explain(er_task *task, const int32_t *candidates, size_t count, er_explanation *told, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!task || !told || !candidates) return er_refuse(error, ER_BAD_INPUT, "%s is NULL", task ? told ? "candidates" : "the place for the explanation" : "task"), ER_BAD_INPUT;
    if (!er_sized(told, sizeof *told, "er_explanation", error)) return error->status;
    if (!count || count > ER_MOST_COMPARED) return er_refuse(error, ER_BAD_INPUT, "%zu candidates; name 1 to %d", count, ER_MOST_COMPARED), ER_BAD_INPUT;
    if (!task->listed) return er_refuse(error, ER_BAD_INPUT, "nothing was decided since the last call; ask er_next first"), ER_BAD_INPUT;
    const size_t size = told->size;
    memset(told, 0, sizeof *told);
    told->size = size;
    told->similarity = NAN;
    er_few_calls few;
    const er_request *whole = &task->read->request;
    asked a = {.task = task, .request = whole->near ? whole->near : whole, .told = told};
    a.history = whole->near ? er_among_few(whole, &task->history, &few) : &task->history;
    if (!compare(&a, candidates, count, error)) return error->status;
    er_give_back(&task->told);
    task->told = (er_arena){.error = error};
    a.arena = &task->told;
    er_watch *watch = task->work.watch;
    task->work.watch = NULL; /* no step is decided */
    const bool fine = explain(&a);
    task->work.watch = watch;
    task->told.error = NULL;
    if (fine) return ER_OK;
    told->vote_count = told->near_count = told->word_count = told->cluster_count = 0;
    return er_status_of(error);
}
