/* Section 9.1: three experts share the tools out, gates say how much each counts, and apart from them whether a turn is
   over. */

#include "turns.h"

#include "turns_data.h"
#include "vectors.h"

static const double LEAST_SHARE = -12.0, LEAST_CONFIDENCE = -6.0, MOST_ODDS = 10.0, USUAL_WORDS = 2.0, JUST_BELOW = 0.99;
static const double LITTLE = 0.3;

/* What is known of a tool. */
enum { MADE = 1, SOME = 2, LAST = 4, EARLIER = 8 };
enum { WHOLE_EXPERT, LAST_EXPERT, EARLIER_EXPERT, EXPERTS };
static const uint8_t SHARES_OUT[EXPERTS] = {SOME, LAST, EARLIER};

static double within(double least, double value, double most) { return value < least ? least : value > most ? most : value; }

double er_apart(const float *probabilities, uint32_t n, uint32_t end, double *found)
{
    const double over = within(1e-7, probabilities[end], 1 - 1e-7), off = log(1 - over);
    for (uint32_t p = 0; p < n; p++) {
        const double share = log(probabilities[p] > 1e-12f ? probabilities[p] : 1e-12) - off;
        found[p] = share > LEAST_SHARE ? share : LEAST_SHARE;
    }
    found[end] = 0;
    return within(-MOST_ODDS, log(over / (1 - over)), MOST_ODDS);
}

/* The logarithm of what some have together, if the turn goes on. */
static double in_all(const double *shares, const uint8_t *marks, uint32_t n, uint8_t mark)
{
    double sum = 0;
    for (uint32_t p = 0; p < n; p++)
        if (marks[p] & mark) sum += exp(shares[p]);
    return sum > 0 && log(sum) > LEAST_SHARE ? log(sum) : LEAST_SHARE;
}

/* What of the last plan is still to come: from `from` on, all before any call. */
static uint32_t left_from(const er_turn_step *s)
{
    if (!s->made_count) return 0;
    for (uint32_t i = 0; i < s->last->count; i++)
        if (s->last->at[i] == s->made[s->made_count - 1]) return i + 1;
    return s->last->count;
}

/* A place among the names, of those that may be chosen; −1 for none. */
static void add_mark(uint8_t *marks, int32_t place, uint8_t as, uint8_t only)
{
    if (place >= 0 && (marks[place] & only) == only) marks[place] |= as;
}

static double dot(const double *weights, const double *features, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++) sum += weights[i] * features[i];
    return sum;
}

/* How much each expert counts, 0 where it has nothing to share out. */
static void count(const er_turn_step *s, const turn_weights *w, const bool *any, bool follows, const double in[EXPERTS],
    double words, double confidence, double counts[EXPERTS])
{
    double logits[EXPERTS] = {0}, most = -INFINITY, sum = 0;
    for (int e = LAST_EXPERT; e < EXPERTS; e++) {
        const double told[] = {1.0, words, in[e], confidence};
        for (int i = 0; i < 4; i++) logits[e] += w->gates[e - 1][2 * i + (s->made_count > 0)] * told[i];
    }
    logits[LAST_EXPERT] += w->gates[0][8] * follows;
    for (int e = 0; e < EXPERTS; e++)
        if (any[e] && logits[e] > most) most = logits[e];
    for (int e = 0; e < EXPERTS; e++) sum += counts[e] = any[e] ? exp(logits[e] - most) : 0;
    for (int e = 0; e < EXPERTS; e++) counts[e] /= sum > 0 ? sum : 1;
}

/* Adds what an expert shares out, `whole` in all, by its scores. */
static void share_out(const double *scores, const uint8_t *marks, uint8_t mark, uint32_t n, double whole, float *found)
{
    double best = -INFINITY, sum = 0;
    for (uint32_t p = 0; p < n; p++)
        if (marks[p] & mark && scores[p] > best) best = scores[p];
    for (uint32_t p = 0; p < n; p++)
        if (marks[p] & mark) sum += exp(scores[p] - best);
    for (uint32_t p = 0; p < n; p++)
        if (marks[p] & mark) found[p] += (float)(whole * exp(scores[p] - best) / sum);
}

void er_mix_turn(const er_turn_step *s, uint8_t *marks, double *scores, float *found)
{
    const turn_weights *w = &WEIGHTS[s->demonstrated];
    const uint32_t n = s->n, from = left_from(s), last = s->last->count;
    const bool begun = s->made_count > 0, follows = begun && from < last;
    const int32_t following = follows ? s->last->at[from] : -1, final = !begun && last ? s->last->at[last - 1] : -1;
    const double *alone = s->alone, *onward = s->onward, words = log(s->words + 1.0) - USUAL_WORDS;
    double confidence = LEAST_CONFIDENCE;
    bool any[EXPERTS] = {false};
    for (uint32_t p = 0; p < n; p++) {
        marks[p] = p != s->end && (!s->allowed || s->allowed[p]) && !(s->blocked && s->blocked[p]) && !er_is_left_out(s->request, p) ? SOME : 0;
        confidence = marks[p] && alone[p] > confidence ? alone[p] : confidence;
    }
    for (uint32_t i = 0; i < s->made_count; i++) add_mark(marks, s->made[i], MADE, 0);
    for (uint32_t i = from; i < last; i++) add_mark(marks, s->last->at[i], LAST, SOME);
    for (uint32_t i = 0; i < s->all->count; i++) add_mark(marks, s->all->at[i], EARLIER, SOME);
    for (uint32_t p = 0; p < n; p++)
        for (int e = 0; e < EXPERTS; e++) any[e] |= (marks[p] & SHARES_OUT[e]) != 0;
    const double in[EXPERTS] = {0, in_all(alone, marks, n, LAST), in_all(alone, marks, n, EARLIER)};

    double over = 1.0, counts[EXPERTS];
    if (any[WHOLE_EXPERT]) {
        const double told[] = {1.0, s->alone_end, s->onward_end, words, confidence, s->alone_end * words, LITTLE * in[LAST_EXPERT]};
        const bool again = begun && last && s->made[s->made_count - 1] == s->last->at[last - 1];
        const double rest[] = {s->made_count == 1, again, follows};
        over = 1 / (1 + exp(-(dot(w->end + 7 * begun, told, 7) + dot(w->end + 14, rest, 3))));
    }
    count(s, w, any, follows, in, words, confidence, counts);
    memset(found, 0, n * sizeof *found);
    for (uint32_t p = 0; p < n; p++)
        scores[p] = (w->whole[0] + w->whole[3] * words) * alone[p] + (w->whole[1] + w->whole[4] * words) * onward[p] +
                    w->whole[2] * ((marks[p] & MADE) != 0);
    share_out(scores, marks, SOME, n, (1 - over) * counts[WHOLE_EXPERT], found);
    for (uint32_t p = 0; p < n; p++)
        scores[p] = w->last[0] * alone[p] + w->last[1] * onward[p] + w->last[2] * ((int32_t)p == following) +
                    w->last[3] * ((int32_t)p == final);
    share_out(scores, marks, LAST, n, (1 - over) * counts[LAST_EXPERT], found);
    for (uint32_t p = 0; p < n; p++) scores[p] = w->earlier[0] * alone[p] + w->earlier[1] * onward[p];
    share_out(scores, marks, EARLIER, n, (1 - over) * counts[EARLIER_EXPERT], found);
    const double best = er_largest(found, n);
    if (!begun && best < over && over < w->nothing) over = best * JUST_BELOW;
    found[s->end] = (float)over;
    double sum = 0;
    for (uint32_t p = 0; p < n; p++) sum += found[p];
    for (uint32_t p = 0; p < n; p++) found[p] = (float)(found[p] / sum);
}
