/* What words a request shares with tools (16.1, 16.2), who takes what whom gives (16.3), and which words are like others
   (5.2, 16.8). Knows nothing of encoders. */

#ifndef ER_LEXICON_H
#define ER_LEXICON_H

#include "common.h"
#include "sayings.h"

/* Words of tools, each with a place, rising by code points; sets of them a tool, rising, in one array: name, text,
   parameters. Behind them those that only parameters say further down, which no request is known by. */
typedef struct {
    const er_text *words;   /* (all): stems */
    const er_text *forms;   /* (count): of section 5.2, among names and descriptions; the word itself where only parameters have it */
    uint32_t count, all, tools;
    const uint32_t *starts, *places; /* (3 tools + 1), (entries): places of the name of tool i from starts[i], of its text from
                                        starts[tools + i], of its parameters from starts[2 tools + i] */
    const uint32_t *deep_starts, *deep_holders; /* by word, (all + 1), (entries): tools that say it anywhere, to a depth of
                                        four (16.7, `explained`); NULL for words that a bundle brought */
    const uint32_t *holder_starts, *holders;   /* by word: sets that hold it, as numbers 0 to 3 tools − 1 (count + 1), (entries) */
    const uint32_t *in_texts; /* (count): n(w) */
    const uint32_t *slots;    /* (mask + 1): place + 1 by hash, 0: none */
    uint32_t mask;
    const float *rarities;      /* as er_rarities has them among the tools alone, for search */
    const float *forms_vectors; /* (count, 64): unit vectors of forms, made by er_lexicon_vectors; NULL before */
} er_lexicon;

/* Words that a bundle brought arranged (6.2), or NULL. */
typedef struct {
    const er_text *words, *forms;
    uint32_t count;
    const uint32_t *starts, *numbers;
} er_arranged_words;

typedef struct {
    er_tool_text tool;
    const er_text *examples; /* whose words count as the text's where the index has their vectors */
    uint32_t example_count;
} er_described;

bool er_lexicon_of(er_arena *, const er_described *, uint32_t tools, const er_arranged_words *, er_lexicon *);

/* The words of a text in order, with repeats, common ones left out, as stems; and each before it was stemmed. For
   er_words_of and tests. */
typedef struct {
    er_text stem, written; /* written: lower case */
} er_word;

bool er_words_of(er_arena *, const er_points *, const er_word **, uint32_t *count);
bool er_is_common(er_text word); /* in lower case */
er_text er_stem(er_arena *, er_text word);
/* A name in words (section 6). */
bool er_name_in_words(er_arena *, er_text name, er_text *);

/* What a request shares with every tool: (tools) each, in the index's order. */
typedef struct {
    const float *name, *parameters, *coverage, *text;
    const bool *said;
    bool any_said;
    const uint32_t *known; /* Q: places of different words, rising */
    const float *rarities; /* (lexicon.count): ρ among so many names; shared, see er_rarities */
    uint32_t known_count;
    double known_rarity;   /* ρ(Q) */
    uint32_t different;    /* words of the query, known or not, each once, common ones left out */
    uint32_t explained;    /* the most of these that one tool says in name, text or parameters, to a depth of four */
    const er_word *words;  /* all words, in order */
    uint32_t word_count;
} er_overlap;

/* The place of a word, or UINT32_MAX. */
uint32_t er_word_place(const er_lexicon *, er_text word);

/* ρ of every word among so many names, (lexicon.count); behind them what a tool's shared words are multiplied with, for
   name, text and parameters, (tools) each. */
bool er_rarities(er_arena *, const er_lexicon *, uint32_t names, const float **);

bool er_overlap_of(er_arena *, const er_lexicon *, const float *rarities, uint32_t names, const er_points *, er_overlap *);

/* spent_name and spent_coverage (16.6), (tools) each, of tools that were called; no allocation: `seen` has room for
   lexicon.count bytes and comes and goes zeroed. */
void er_spent(const er_lexicon *, const er_overlap *, const uint32_t *called, uint32_t count, uint8_t *seen, float *name, float *coverage);

/* `name` and `coverage` of a wish (16.9), (tools) each: of the words of Q that stand in its text; not yet divided by the
   largest. */
bool er_wish_overlap(er_arena *, const er_lexicon *, const er_overlap *, const er_points *wish, float *name, float *coverage);

/* `name` and `coverage` of hybrid search, with words of like meaning (16.8), (tools) each. `vector_of` gives a word's unit
   vector of 64 numbers (zeros: none). */
typedef void er_vector_of(const void *of, er_text word, float vector[64]);

bool er_lexicon_vectors(er_arena *, er_lexicon *, er_vector_of *, const void *of);
bool er_alike(er_arena *, const er_lexicon *, const er_overlap *, er_vector_of *, const void *of, float *name, float *coverage);

/* ---- Flow ---- */

/* Pairs of takers and givers of a kind, by taker and by giver, each rising: (tools + 1) starts. */
typedef struct {
    const uint32_t *giver_starts, *givers; /* by taker: whom it takes from */
    const uint32_t *taker_starts, *takers; /* by giver: who takes from it */
    uint32_t pairs;
} er_pairs;

typedef struct {
    er_pairs named, keyed;
} er_flow;

bool er_flow_of(er_arena *, const er_lexicon *, const er_tool_text *, uint32_t tools, er_flow *);

#endif
