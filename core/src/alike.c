/* Section 16.8, `name` and `coverage`: how much of a tool a request says where words need not be the same, by their
   vectors (5.2). */

#include <stdlib.h>

#include "lexicon.h"
#include "vectors.h"
#include "words.h"

enum { DIMENSION = 64 };

static const float FLOOR = 0.3f, LEAST = 1e-6f; /* FLOOR: a cosine that says nothing yet */

/* Whether a name or a text has a word: what only parameters say is like nothing. */
static bool is_told(const er_lexicon *l, uint32_t word)
{
    const uint32_t first = l->holder_starts[word];
    return first < l->holder_starts[word + 1] && l->holders[first] < 2 * l->tools;
}

bool er_lexicon_vectors(er_arena *arena, er_lexicon *l, er_vector_of *vector_of, const void *of)
{
    float *vectors = ER_TAKE(arena, float, ((size_t)l->count + 1) * DIMENSION);
    if (!vectors) return false;
    for (uint32_t word = 0; word < l->count; word++)
        if (is_told(l, word)) vector_of(of, l->forms[word], vectors + (size_t)word * DIMENSION);
    l->forms_vectors = vectors;
    return true;
}

typedef struct {
    er_text stem, form;
    uint32_t place;
} asked_word;

static int by_stem(const void *a, const void *b)
{
    const er_word *one = a, *other = b;
    const int order = er_compare(one->stem, other->stem);
    return order ? order : er_compare(one->written, other->written);
}

/* The different words of a request, each with its form. */
static bool ask(er_arena *arena, const er_lexicon *l, const er_overlap *o, const asked_word **found, uint32_t *count)
{
    er_word *sorted = ER_TAKE(arena, er_word, o->word_count + 1);
    asked_word *asked = ER_TAKE(arena, asked_word, o->different + 1);
    if (!sorted || !asked) return false;
    memcpy(sorted, o->words, o->word_count * sizeof *sorted);
    qsort(sorted, o->word_count, sizeof *sorted, by_stem);
    uint32_t n = 0;
    for (uint32_t i = 0; i < o->word_count; i++) {
        if (n && er_same(asked[n - 1].stem, sorted[i].stem)) {
            if (er_is_better_form(sorted[i].written, asked[n - 1].form)) asked[n - 1].form = sorted[i].written;
        } else {
            asked[n++] = (asked_word){sorted[i].stem, sorted[i].written, er_word_place(l, sorted[i].stem)};
        }
    }
    *found = asked;
    *count = n;
    return true;
}

typedef struct {
    float *near, *best;     /* (words): to the word that is asked for, and to any so far */
    float *share;           /* (tools): the largest in the tool's text, zeros between words */
    uint32_t *touched;      /* (tools): whose share is not 0 */
} room;

/* near(w, s) of all words w, for one s. */
static void compare(const er_lexicon *l, const asked_word *asked, er_vector_of *vector_of, const void *of, float *near)
{
    float vector[DIMENSION];
    vector_of(of, asked->form, vector);
    er_products(l->forms_vectors, l->count, DIMENSION, vector, near);
    for (uint32_t word = 0; word < l->count; word++) {
        const float above = (near[word] - FLOOR) * (1.0f / (1.0f - FLOOR));
        near[word] = above > 0 ? above : 0;
    }
    if (asked->place < l->count && is_told(l, asked->place)) near[asked->place] = 1; /* what is the same needs no vector */
}

static void cover(const er_lexicon *l, room *r, float weight, float *coverage)
{
    uint32_t touched = 0;
    const uint32_t n = l->tools;
    for (uint32_t word = 0; word < l->count; word++) {
        const float near = r->near[word];
        if (near <= 0) continue;
        if (near > r->best[word]) r->best[word] = near;
        for (uint32_t i = l->holder_starts[word]; i < l->holder_starts[word + 1] && l->holders[i] < 2 * n; i++) {
            if (l->holders[i] < n) continue;
            float *share = &r->share[l->holders[i] - n];
            if (*share == 0) r->touched[touched++] = l->holders[i] - n;
            if (near > *share) *share = near;
        }
    }
    for (uint32_t i = 0; i < touched; i++) {
        coverage[r->touched[i]] += r->share[r->touched[i]] * weight;
        r->share[r->touched[i]] = 0;
    }
}

bool er_alike(er_arena *arena, const er_lexicon *l, const er_overlap *o, er_vector_of *vector_of, const void *of, float *name, float *coverage)
{
    const asked_word *asked;
    uint32_t count;
    const er_place mark = er_mark(arena);
    room r = {ER_TAKE(arena, float, l->count + 1), ER_TAKE(arena, float, l->count + 1), ER_TAKE(arena, float, l->tools + 1),
              ER_TAKE(arena, uint32_t, l->tools + 1)};
    if (!r.near || !r.best || !r.share || !r.touched || !ask(arena, l, o, &asked, &count)) return false;
    memset(name, 0, l->tools * sizeof *name);
    memset(coverage, 0, l->tools * sizeof *coverage);
    const float rarest = (float)log1p((double)l->tools); /* of what no tool says */
    double total = 0;
    for (uint32_t i = 0; i < count; i++) total += asked[i].place < l->count ? o->rarities[asked[i].place] : rarest;
    for (uint32_t i = 0; i < count; i++) {
        compare(l, &asked[i], vector_of, of, r.near);
        const float rarity = asked[i].place < l->count ? o->rarities[asked[i].place] : rarest;
        cover(l, &r, (float)(rarity / total), coverage);
    }
    for (uint32_t tool = 0; tool < l->tools; tool++) {
        double said = 0, all = 0;
        for (uint32_t i = l->starts[tool]; i < l->starts[tool + 1]; i++) {
            said += (double)(o->rarities[l->places[i]] * r.best[l->places[i]]);
            all += o->rarities[l->places[i]];
        }
        name[tool] = (float)(said / (all > LEAST ? all : LEAST));
    }
    er_release(arena, mark);
    return true;
}
