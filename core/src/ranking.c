/* Sections 16.8 and 16.14: the ranking of a search, by what was demonstrated and learned where words are like that, and by the
   tools' own words. */

#include <stdlib.h>

#include "search.h"
#include "task.h"
#include "vectors.h"

static const double WHOLE = 0.25;  /* how much of a clause's logarithm the whole request keeps */
static const double FOUND = 0.4;   /* what the logarithm of hybrid search's share counts for beside that of a probability */
static const double UNLIKELY = 0.01, UNSHARED = 1e-6; /* below these, tools are all the same */
static const double NOTHING = 0.5; /* of `<end>`: more, and nothing like it was demonstrated */
enum { MOST_PARTS = 16, CLAUSE = 3 /* words of one at least */, FEW = 64 /* hits that are put in their place as they come */ };

typedef struct {
    er_search_by by;
    er_search_options options;
    er_task task;      /* no more of it than reading a text takes */
    er_read *read;     /* of the whole text; NULL: demonstrations are not asked */
    er_encoded encoded;
    double *scores;    /* (tools compared): what ranks */
    double *shares;    /* (tools compared): a softmax of that; NULL: by description */
    float *likely;     /* (all tools): by demonstrations; NULL: these say nothing of the text */
} search;

/* ---- By what was demonstrated ---- */

static bool may_ask(const search *s)
{
    return s->options.strategy == ER_SEARCH_AUTO && (s->by.stage->has_head || (s->task.learner && er_by(s->task.learner)->counts(s->task.learner)));
}

/* Each tool's probability as a text's first call, (all tools); `known` is false where nothing like it was demonstrated. */
static bool ask(search *s, er_arena *arena, const er_read *read, float *found, bool *known)
{
    const er_names *names = read->request.names;
    const er_history none = {0};
    er_workspace work = {0};
    if (!er_workspace_of(arena, s->by.model, names, &work) ||
        (s->task.learner && !er_by(s->task.learner)->of(arena, s->task.learner, s->by.model, names->n, &work.recall)))
        return false;
    float *p = work.probabilities;
    if (!er_step_probabilities(&read->request, &work, &none, NULL, p))
        return er_refuse(arena->error, ER_BAD_BUNDLE, "graph and head give no probabilities, but NaN or infinity; build the bundle again");
    for (uint32_t tool = 0; tool < s->by.model->tool_count; tool++) found[tool] = p[names->places[tool]];
    *known = p[names->end] <= NOTHING;
    return true;
}

/* Whether the caller wants to go on. */
static bool tell(const search *s, er_text part, const float *probabilities, uint32_t left)
{
    return !s->options.tell || !s->options.tell(s->options.tell_context, part, probabilities, left);
}

/* The largest of a tool's probabilities for the text and for its clauses; of these a part is the whole text's, since by itself a
   clause lacks what stands around it. */
static bool ask_clauses(search *s, const float *whole)
{
    const uint32_t every = s->by.model->tool_count;
    er_arena *arena = &s->by.arena;
    er_span *spans = ER_TAKE(arena, er_span, MOST_PARTS);
    float *own = ER_TAKE(arena, float, every);
    if (!spans || !own) return false;
    /* What was learned was learned of whole requests. */
    const uint32_t count = !s->by.stage->has_head ? 0 : er_split_clauses(arena, s->read->request.sayings->language, &s->by.points, CLAUSE, spans, MOST_PARTS);
    if (arena->error->status) return false;
    bool more = tell(s, s->by.points.text, whole, count);
    for (uint32_t i = 0; more && i < count; i++) {
        const er_points *points = &s->by.points;
        const er_place mark = er_mark(arena);
        const er_text words = er_cut(points->text, points->starts[spans[i].begin], points->starts[spans[i].end]);
        er_points part;
        bool known = false, fine = er_points_of(arena, words, &part);
        er_read *read = fine ? er_read_query(s->by.model, s->by.stage, &part, NULL, NULL, &s->task, arena->error) : NULL;
        fine = read && ask(s, arena, read, own, &known);
        er_unread(read);
        er_release(arena, mark);
        if (!fine) return false;
        for (uint32_t tool = 0; known && tool < every; tool++) {
            const float both = (float)(pow(whole[tool], WHOLE) * pow(own[tool], 1 - WHOLE));
            if (both > s->likely[tool]) s->likely[tool] = both;
        }
        more = !known || tell(s, words, own, count - 1 - i);
    }
    return true;
}

static bool ask_all(search *s)
{
    const uint32_t every = s->by.model->tool_count;
    float *likely = ER_TAKE(&s->by.arena, float, every), *whole = ER_TAKE(&s->by.arena, float, every);
    bool known;
    if (!likely || !whole || !ask(s, &s->by.arena, s->read, whole, &known)) return false;
    if (!known) return true;
    memcpy(likely, whole, every * sizeof *likely);
    s->likely = likely;
    return ask_clauses(s, whole);
}

/* ---- The best ones ---- */

typedef struct {
    double score;
    float found; /* by hybrid search */
    uint32_t tool;
} ranked;

/* Equal ones as hybrid search has them, and then in the index's order. */
static bool is_before(ranked a, ranked b)
{
    if (a.score != b.score) return a.score > b.score;
    return a.found > b.found || (a.found == b.found && a.tool < b.tool);
}

static int best_first(const void *a, const void *b)
{
    return is_before(*(const ranked *)a, *(const ranked *)b) ? -1 : is_before(*(const ranked *)b, *(const ranked *)a);
}

static ranked rank_of(const search *s, uint32_t i)
{
    return (ranked){s->scores ? s->scores[i] : s->by.scores[i], s->by.scores[i], i};
}

/* The best `most` of all, in order. */
static ranked *rank(search *s, uint32_t most)
{
    ranked *found = ER_TAKE(&s->by.arena, ranked, (size_t)s->by.tools + 1);
    uint32_t count = 0;
    if (!found) return NULL;
    if (most > FEW) {
        for (uint32_t i = 0; i < s->by.tools; i++) found[i] = rank_of(s, i);
        qsort(found, s->by.tools, sizeof *found, best_first);
        return found;
    }
    for (uint32_t i = 0; most && i < s->by.tools; i++) {
        const ranked one = rank_of(s, i);
        if (count == most && !is_before(one, found[count - 1])) continue;
        uint32_t place = count < most ? count++ : most - 1;
        for (; place && is_before(one, found[place - 1]); place--) found[place] = found[place - 1];
        found[place] = one;
    }
    return found;
}

static void softmax(const double *scores, uint32_t count, double *shares)
{
    double best = -INFINITY, sum = 0;
    for (uint32_t i = 0; i < count; i++) best = scores[i] > best ? scores[i] : best;
    for (uint32_t i = 0; i < count; i++) sum += shares[i] = exp(scores[i] - best);
    for (uint32_t i = 0; i < count; i++) shares[i] /= sum;
}

/* By hybrid search's evidence; and where demonstrations speak, by what is probable and by the shares of that. */
static bool weigh(search *s)
{
    const uint32_t count = s->by.tools;
    s->scores = ER_TAKE(&s->by.arena, double, count);
    s->shares = ER_TAKE(&s->by.arena, double, count);
    if (!s->scores || !s->shares) return false;
    for (uint32_t i = 0; i < count; i++) s->scores[i] = s->by.scores[i];
    softmax(s->scores, count, s->shares);
    for (uint32_t i = 0; s->likely && i < count; i++) {
        const double share = s->shares[i] > UNSHARED ? s->shares[i] : UNSHARED;
        s->scores[i] = log(s->likely[s->by.which[i]] + UNLIKELY) + FOUND * log(share);
    }
    if (s->likely) softmax(s->scores, count, s->shares);
    return true;
}

static bool write_hits(search *s, er_hit *room, size_t *count)
{
    const er_search_by *by = &s->by;
    const uint32_t most = *count < by->tools ? (uint32_t)*count : by->tools;
    const ranked *found = rank(s, most);
    if (!found) return false;
    for (uint32_t i = 0; i < most; i++) {
        const uint32_t at = found[i].tool, tool = by->which[at];
        room[i] = (er_hit){tool, by->model->tools[tool].name, found[i].score, s->shares ? s->shares[at] : 0.0, by->cosines[at]};
    }
    *count = by->tools;
    return true;
}

/* What the bundle's own encoder made of these words for a task; NULL where none was given, or it has yet to read them. */
static const er_encoded *read_before(const search *s)
{
    const er_task *task = s->options.task;
    return task && !task->first ? &task->read->encoded : NULL;
}

static bool find(search *s, er_text query, er_hit *room, size_t *count)
{
    er_search_by *by = &s->by;
    if (!er_check_query(&by->arena, query, &by->points)) return false;
    if (may_ask(s)) {
        s->read = er_read_query(by->model, by->stage, &by->points, NULL, NULL, &s->task, by->arena.error);
        if (!s->read) return false;
        by->encoded = &s->read->encoded;
    } else if (!(by->encoded = read_before(s))) {
        if (!er_encode_text(&by->arena, by->model, by->stage, &by->points, NULL, &s->encoded)) return false;
        by->encoded = &s->encoded;
    }
    if (s->options.strategy == ER_SEARCH_DESCRIPTION) return er_by_description(by) && write_hits(s, room, count);
    return er_hybrid(by) && (!s->read || ask_all(s)) && weigh(s) && write_hits(s, room, count);
}

er_status er_search(
    const er_model *model, er_text query, const er_search_options *options, er_hit *room, size_t *count, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    const char *missing = !model ? "model" : !count ? "count" : !room && *count ? "room" : NULL;
    if (missing) return er_refuse(error, ER_BAD_INPUT, "%s is NULL", missing), ER_BAD_INPUT;
    search s = {.by = {.arena = {.error = error}, .request = {.arena = {.error = error}}, .model = model}};
    s.by.stage = model->has_full ? &model->full : &model->small;
    if (!er_options(&s.options, sizeof s.options, options, offsetof(er_search_options, learner), "er_search_options", error)) return error->status;
    if (s.options.strategy > ER_SEARCH_DESCRIPTION)
        return er_refuse(error, ER_BAD_INPUT, "options.strategy is %d; take one of er_search_strategy", (int)s.options.strategy), ER_BAD_INPUT;
    if (s.options.task && (s.options.task->model != model || !er_same(s.options.task->query.text, query)))
        return er_refuse(error, ER_BAD_INPUT, "options.task is of another model, or was begun with other words"), ER_BAD_INPUT;
    s.task.model = model;
    s.task.learner = s.options.learner;
    const bool done = find(&s, query, room, count);
    er_unread(s.read);
    er_give_back(&s.by.request.arena);
    er_give_back(&s.by.arena);
    if (done) return ER_OK;
    return er_status_of(error);
}
