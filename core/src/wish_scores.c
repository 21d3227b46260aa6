/* Section 16.9: how much of each wish every tool is, and which wishes no call is for. */

#include "request.h"
#include "vectors.h"

static const float DEPTH = 5.0f, ALONE = 8.0f, NONE = -1e30f;

struct er_wishes {
    uint32_t count, n;
    float *behind; /* (count, n): d */
    float *shares; /* (count, n): by d′ */
    float *owners; /* (count, n): by d */
};

/* How far each number is behind the largest, at most so far. */
static void fall_behind(float *row, uint32_t n, float depth)
{
    const float most = er_largest(row, n) > NONE ? er_largest(row, n) : NONE;
    for (uint32_t p = 0; p < n; p++) row[p] = row[p] - most < -depth ? -depth : row[p] - most;
}

static void share(const float *row, uint32_t n, float *shares)
{
    double sum = 0;
    for (uint32_t p = 0; p < n; p++) sum += shares[p] = expf(row[p]);
    for (uint32_t p = 0; p < n; p++) shares[p] = (float)(shares[p] / sum);
}

/* A wish as a query of its own: its text, and the tokens of the whole that it holds (16.9). */
static bool read_alone(er_request *r, const er_points *query, er_span span, er_workspace *work, float *logs)
{
    const er_encoded *whole = r->encoded;
    const uint32_t d = r->dimension;
    er_points text;
    const er_text words = er_cut(query->text, query->starts[span.begin], query->starts[span.end]);
    er_encoded *part = ER_TAKE(&r->arena, er_encoded, 1);
    er_request *alone = ER_TAKE(&r->arena, er_request, 1);
    float *vector = ER_TAKE(&r->arena, float, d);
    er_span *spans = ER_TAKE(&r->arena, er_span, whole->count + 1);
    if (!part || !alone || !vector || !spans || !er_points_of(&r->arena, words, &text)) return false;
    uint32_t first = 0, last = 0;
    while (first < whole->count && whole->spans[first].begin < span.begin + whole->prefix) first++;
    while (last < whole->count && whole->spans[last].end <= span.end + whole->prefix) last++;
    for (uint32_t i = first; i < last; i++) {
        er_add(vector, 1.0f, whole->tokens + (size_t)i * d, d);
        spans[i - first] = (er_span){whole->spans[i].begin - span.begin - whole->prefix, whole->spans[i].end - span.begin - whole->prefix};
    }
    er_unit(vector, d, 1e-12);
    *part = (er_encoded){vector, whole->tokens + (size_t)first * d, spans, last > first ? last - first : 0, 0};
    const er_history none = {0};
    alone->arena.error = r->arena.error;
    const bool read = er_request_say(alone, r->model, r->stage, &text, part) && er_request_weigh(alone, &text, r->names, r->allowed, true);
    work->has_first_unseen = false;
    if (read) er_fuse(alone, work, &none, logs);
    er_give_back(&alone->arena);
    work->has_first_unseen = false;
    return read;
}

/* What a wish's clause, words and opposites say (the table of 16.9). */
static bool score_wish(er_request *r, const er_points *query, uint32_t wish, const uint32_t *rows, float *scores)
{
    const double *w = r->model->prior.wish;
    const er_sayings *s = r->sayings;
    const uint32_t tools = r->model->held, n = r->n;
    const float *clauses = r->cosines + (size_t)(1 + ER_SEGMENTS + r->windows) * n;
    const er_span span = s->wishes[wish];
    er_points text;
    float *name = ER_TAKE(&r->arena, float, tools), *coverage = ER_TAKE(&r->arena, float, tools);
    if (!name || !coverage || !er_points_of(&r->arena, er_cut(query->text, query->starts[span.begin], query->starts[span.end]), &text) ||
        !er_wish_overlap(&r->arena, &r->model->lexicon, r->overlap, &text, name, coverage))
        return false;
    float most = 0;
    for (uint32_t p = 0; p < n; p++)
        if (r->names->tools[p] >= 0 && coverage[r->names->tools[p]] > most) most = coverage[r->names->tools[p]];
    const float by = 1.0f / (most > 1e-6f ? most : 1e-6f), others = 1.0f / (float)(s->wish_count - 1);
    for (uint32_t p = 0; p < n; p++) {
        const float own = 10.0f * clauses[(size_t)rows[wish] * n + p];
        float rest = 0;
        for (uint32_t other = 0; other < s->wish_count; other++)
            if (other != wish) rest += 10.0f * clauses[(size_t)rows[other] * n + p];
        scores[p] = (float)w[ER_WISH_COSINE] * own + (float)w[ER_WISH_APART] * (own - rest * others);
        const int32_t tool = r->names->tools[p];
        if (tool >= 0) scores[p] += (float)w[ER_WISH_NAME] * name[tool] + (float)w[ER_WISH_COVERAGE] * coverage[tool] * by;
    }
    const er_sides *sides = &s->wish_sides[wish];
    if (!r->model->habits.silent && !er_is_narrow(r) && (sides->on || sides->negated_count || sides->quoted_count)) {
        er_opposed(&r->model->habits, sides, name, coverage);
        for (uint32_t p = 0; p < n; p++)
            if (r->names->tools[p] >= 0)
                scores[p] += (float)r->model->prior.tool[ER_TOOL_OPPOSED] * name[r->names->tools[p]] +
                             (float)r->model->prior.tool[ER_TOOL_AGREES] * coverage[r->names->tools[p]];
    }
    scores[r->end] = -INFINITY;
    return true;
}

bool er_wishes_of(er_request *r, const er_points *query)
{
    const er_sayings *s = r->sayings;
    const uint32_t n = r->n;
    uint32_t rows[ER_MOST_WISHES];
    for (uint32_t i = 0; i < s->clause_count; i++)
        if (r->clause_rows[i] == UINT32_MAX) return true; /* a piece without a token: it asks for one thing */
    for (uint32_t wish = 0; wish < s->wish_count; wish++) {
        uint32_t i = 0;
        while (i < s->clause_count && s->clauses[i].begin != s->wishes[wish].begin) i++;
        if (i == s->clause_count) return true;
        rows[wish] = r->clause_rows[i];
    }
    er_wishes *wishes = ER_TAKE(&r->arena, er_wishes, 1);
    er_workspace work;
    if (!wishes || !er_workspace_of(&r->arena, r->model, r->names, &work)) return false;
    wishes->count = s->wish_count;
    wishes->n = n;
    float **parts[] = {&wishes->behind, &wishes->shares, &wishes->owners};
    for (int i = 0; i < 3; i++)
        if (!(*parts[i] = ER_TAKE(&r->arena, float, (size_t)wishes->count * n))) return false;
    for (uint32_t wish = 0; wish < wishes->count; wish++) {
        float *row = wishes->behind + (size_t)wish * n;
        if (!score_wish(r, query, wish, rows, row) || !read_alone(r, query, s->wishes[wish], &work, work.logs)) return false;
        fall_behind(row, n, DEPTH);
        work.logs[r->end] = -INFINITY;
        fall_behind(work.logs, n, ALONE);
        for (uint32_t p = 0; p < n; p++) row[p] += work.logs[p];
        row[r->end] = -INFINITY;
        fall_behind(row, n, DEPTH);
        share(row, n, wishes->shares + (size_t)wish * n);
        /* What gives to the best tool is for the wish, too. */
        const uint32_t best = er_first_largest(row, n);
        const er_links *kinds[] = {&r->names->named, &r->names->keyed};
        for (int kind = 0; kind < 2; kind++)
            for (uint32_t i = kinds[kind]->giver_starts[best]; i < kinds[kind]->giver_starts[best + 1]; i++)
                row[kinds[kind]->givers[i]] = 0.0f;
        share(row, n, wishes->owners + (size_t)wish * n);
    }
    r->wishes = wishes;
    return true;
}

/* Whether a call is for the wish: its share is largest there, the first of equals. */
static bool is_open(const er_wishes *wishes, uint32_t wish, const er_history *h)
{
    for (uint32_t i = 0; i < h->made_count; i++) {
        uint32_t owner = 0;
        for (uint32_t k = 1; k < wishes->count; k++)
            if (wishes->owners[(size_t)k * wishes->n + h->made[i]] > wishes->owners[(size_t)owner * wishes->n + h->made[i]]) owner = k;
        if (owner == wish) return false;
    }
    return true;
}

uint32_t er_which_open(const er_wishes *wishes, const er_history *h, uint32_t which[ER_MOST_WISHES])
{
    uint32_t count = 0;
    for (uint32_t wish = 0; wish < wishes->count; wish++)
        if (is_open(wishes, wish, h)) which[count++] = wish;
    return count;
}

const float *er_due(const er_wishes *wishes, const er_history *h)
{
    for (uint32_t wish = 0; wish < wishes->count; wish++)
        if (is_open(wishes, wish, h)) return wishes->behind + (size_t)wish * wishes->n;
    return NULL;
}

void er_open(const er_wishes *wishes, const er_history *h, double found[3])
{
    found[0] = found[1] = 0.0;
    for (uint32_t wish = 0; wish < wishes->count; wish++) {
        if (!is_open(wishes, wish, h)) continue;
        found[0] = 1.0;
        const float *shares = wishes->shares + (size_t)wish * wishes->n;
        for (uint32_t p = 0; p < wishes->n; p++) {
            bool made = false;
            for (uint32_t i = 0; i < h->made_count && !made; i++) made = h->made[i] == p;
            if (!made && shares[p] > found[1]) found[1] = shares[p];
        }
    }
    found[2] = found[0] > 0 ? 0.0 : 1.0;
}
