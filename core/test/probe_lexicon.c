/* Words, overlaps, flow and likeness as flat arrays: for tests/core/test_words.py and test_lexicon.py. */

#include <stdlib.h>

#include "lexicon.h"
#include "unicode.h"

typedef struct {
    er_arena arena;
    er_error error;
    er_lexicon lexicon;
    er_flow flow;
    uint32_t names;
    const float *rarities;
    uint8_t *seen;
} probe;

/* Texts, each behind its length in four bytes; gives the bytes, or −1 where there is no room. */
typedef struct {
    char *at;
    size_t used, room;
} writer;

static void put(writer *w, er_text text)
{
    const uint32_t length = (uint32_t)text.length;
    if (w->used + 4 + text.length > w->room) return (void)(w->used = w->room + 1);
    memcpy(w->at + w->used, &length, 4);
    if (length) memcpy(w->at + w->used + 4, text.at, length);
    w->used += 4 + text.length;
}

static int64_t written(const writer *w, bool done) { return done && w->used <= w->room ? (int64_t)w->used : -1; }

/* Stem and word, and so on. */
int64_t probe_words(const char *text, size_t length, char *found, size_t room)
{
    er_error why = {0};
    er_arena arena = {.error = &why};
    er_points points;
    const er_word *words;
    uint32_t count = 0;
    writer w = {found, 0, room};
    const bool done = er_points_of(&arena, (er_text){text, length}, &points) && er_words_of(&arena, &points, &words, &count);
    for (uint32_t i = 0; done && i < count; i++) put(&w, words[i].stem), put(&w, words[i].written);
    er_give_back(&arena);
    return written(&w, done);
}

/* Its stem, and the name that it may be in words. */
int64_t probe_word(const char *text, size_t length, char *found, size_t room)
{
    er_error why = {0};
    er_arena arena = {.error = &why};
    er_text name;
    writer w = {found, 0, room};
    const bool done = er_name_in_words(&arena, (er_text){text, length}, &name);
    put(&w, er_stem(&arena, (er_text){text, length}));
    if (done) put(&w, name);
    er_give_back(&arena);
    return written(&w, done);
}

void probe_lexicon_free(probe *p)
{
    er_give_back(&p->arena);
    free(p);
}

/* With flow, but for words that a bundle brought. */
probe *probe_lexicon(const er_described *tools, uint32_t count, uint32_t names, const er_arranged_words *arranged)
{
    probe *p = calloc(1, sizeof *p);
    er_tool_text *texts = calloc(count + 1, sizeof *texts);
    for (uint32_t i = 0; i < count; i++) texts[i] = tools[i].tool;
    p->arena.error = &p->error;
    p->names = names;
    const bool done = er_lexicon_of(&p->arena, tools, count, arranged, &p->lexicon) && er_rarities(&p->arena, &p->lexicon, names, &p->rarities) &&
                      (p->seen = ER_TAKE(&p->arena, uint8_t, p->lexicon.count + 1)) &&
                      (arranged || er_flow_of(&p->arena, &p->lexicon, texts, count, &p->flow));
    free(texts);
    if (done) return p;
    probe_lexicon_free(p);
    return NULL;
}

/* count, all, entries, pairs of both kinds. */
void probe_sizes(const probe *p, uint32_t found[5])
{
    found[0] = p->lexicon.count;
    found[1] = p->lexicon.all;
    found[2] = p->lexicon.starts[3 * p->lexicon.tools];
    found[3] = p->flow.named.pairs;
    found[4] = p->flow.keyed.pairs;
}

/* Words, then forms. */
int64_t probe_word_list(const probe *p, char *found, size_t room)
{
    writer w = {found, 0, room};
    for (uint32_t i = 0; i < p->lexicon.all; i++) put(&w, p->lexicon.words[i]);
    for (uint32_t i = 0; i < p->lexicon.count; i++) put(&w, p->lexicon.forms[i]);
    return written(&w, true);
}

void probe_sets(const probe *p, uint32_t *starts, uint32_t *places, float *rarities)
{
    const er_lexicon *l = &p->lexicon;
    memcpy(starts, l->starts, (3 * l->tools + 1) * sizeof *starts);
    memcpy(places, l->places, l->starts[3 * l->tools] * sizeof *places);
    memcpy(rarities, p->rarities, l->count * sizeof *rarities);
}

/* Pairs of a taker and a giver; and of a giver and a taker. */
void probe_flow(const probe *p, int keyed, uint32_t *pairs, uint32_t *turned)
{
    const er_pairs *flow = keyed ? &p->flow.keyed : &p->flow.named;
    for (uint32_t tool = 0; tool < p->lexicon.tools; tool++) {
        for (uint32_t i = flow->giver_starts[tool]; i < flow->giver_starts[tool + 1]; i++) *pairs++ = tool, *pairs++ = flow->givers[i];
        for (uint32_t i = flow->taker_starts[tool]; i < flow->taker_starts[tool + 1]; i++) *turned++ = tool, *turned++ = flow->takers[i];
    }
}

/* shared (9, tools): name, parameters, coverage, text, said; spent name and coverage of `called`; those of a wish.
   counts: known, different, explained, words. */
int probe_overlap(
    probe *p, const char *text, size_t length, const char *wish, size_t wish_length, const uint32_t *called, uint32_t called_count,
    float *shared, uint32_t counts[4])
{
    const er_lexicon *l = &p->lexicon;
    const uint32_t n = l->tools;
    const er_place mark = er_mark(&p->arena);
    er_points query, part;
    er_overlap o;
    const bool done = er_points_of(&p->arena, (er_text){text, length}, &query) && er_points_of(&p->arena, (er_text){wish, wish_length}, &part) &&
                      er_overlap_of(&p->arena, l, p->rarities, p->names, &query, &o) &&
                      er_wish_overlap(&p->arena, l, &o, &part, shared + 7 * (size_t)n, shared + 8 * (size_t)n);
    if (done) {
        const float *rows[] = {o.name, o.parameters, o.coverage, o.text};
        for (int i = 0; i < 4; i++) memcpy(shared + i * (size_t)n, rows[i], n * sizeof *shared);
        for (uint32_t i = 0; i < n; i++) shared[4 * (size_t)n + i] = o.said[i];
        er_spent(l, &o, called, called_count, p->seen, shared + 5 * (size_t)n, shared + 6 * (size_t)n);
        counts[0] = o.known_count;
        counts[1] = o.different;
        counts[2] = o.explained;
        counts[3] = o.word_count;
    }
    er_release(&p->arena, mark);
    return done;
}

int probe_vectors(probe *p, er_vector_of *vector_of) { return er_lexicon_vectors(&p->arena, &p->lexicon, vector_of, NULL); }

/* alike (2, tools) */
int probe_alike(probe *p, const char *text, size_t length, er_vector_of *vector_of, float *alike)
{
    const er_place mark = er_mark(&p->arena);
    er_points query;
    er_overlap o;
    const bool done = er_points_of(&p->arena, (er_text){text, length}, &query) && er_overlap_of(&p->arena, &p->lexicon, p->rarities, p->names, &query, &o) &&
                      er_alike(&p->arena, &p->lexicon, &o, vector_of, NULL, alike, alike + p->lexicon.tools);
    er_release(&p->arena, mark);
    return done;
}
