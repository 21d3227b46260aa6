/* What the user's words ask for, by the rules of their language: clauses and wishes (16.4, 16.9), opposites (16.10), the
   language itself (16.11), values (16.12), and whether a request only asks (16.13). Knows nothing of tools' vectors. */

#ifndef ER_SAYINGS_H
#define ER_SAYINGS_H

#include "common.h"

enum { ER_MOST_WISHES = 3, ER_CLAUSE = 3 /* words of a clause (16.4) */ };

/* What a text's words say of opposites: a bit a side, side 2p and 2p + 1 of pair p; and stems. */
typedef struct {
    uint64_t on;           /* sides that the words are on */
    const er_text *negated, *quoted; /* stems */
    uint32_t negated_count, quoted_count;
} er_sides;

typedef struct {
    er_language language;
    bool sure;                        /* that it is this one, and not English */
    er_points points;
    er_span clauses[ER_MOST_CLAUSES]; /* at least one, the whole query if none is long enough */
    uint32_t clause_count;
    er_span wishes[ER_MOST_WISHES];
    er_sides wish_sides[ER_MOST_WISHES]; /* of each wish's own text, by the query's language */
    uint32_t wish_count;              /* 0, 2 or 3 */
    uint32_t words;                   /* of the query, as the language counts them */
    bool question, explains, bare;    /* 16.7 */
    bool only_asks;                   /* 16.13 */
    uint32_t values;                  /* a bit a kind that the query holds */
    er_sides sides;
} er_sayings;

/* The language of the first ER_LOOKED_AT letters, and whether nobody doubts that it is this one, and not English. */
er_language er_language_of(const er_points *, bool *sure);

/* Reads a query. False: no memory. Everything lives in the arena. */
bool er_say(er_arena *, const er_points *, er_sayings *);

/* The clauses, first ER_MOST_CLAUSES, of a text by a language's rules, with at least so many words each; for tests. */
uint32_t er_clauses_of(er_arena *, er_language, const er_points *, uint32_t least_words, er_span *room, uint32_t most);
/* The same without the punctuation around them and without repeats, the text itself left out, for whoever searches for each. */
uint32_t er_split_clauses(er_arena *, er_language, const er_points *, uint32_t least_words, er_span *room, uint32_t most);

/* ---- What tools do, found once a tool set ---- */

typedef struct {
    const uint64_t *does, *takes; /* (tools): a bit a side */
    const uint32_t *kinds;        /* (tools): a bit a kind of value that it takes */
    const bool *changes;          /* (tools): whether it changes something */
    const bool *ends, *speaks;    /* (tools): whether the name ends what another tool began, or passes words on (16.10) */
    /* Words of names (16.1), each once, and the tools whose names have them. */
    const er_text *stems;
    const uint32_t *holder_starts, *holders; /* by stem (stem_count + 1), (entries) */
    const uint32_t *stem_slots;              /* (stem_mask + 1): place + 1 by hash, 0: none */
    uint32_t stem_count, stem_mask;
    uint32_t kind_counts[ER_VALUES]; /* how many tools take a kind */
    uint32_t tools;
    bool silent; /* the bundle has the role `words`: all of 16.10, 16.12 and 16.13 is 0 */
} er_habits;

struct er_tool_text; /* below */

/* Name, description and JSON Schema of a tool. */
typedef struct er_tool_text {
    er_text name, description, parameters;
} er_tool_text;

bool er_habits_of(er_arena *, const er_tool_text *, uint32_t tools, bool silent, er_habits *);

/* o and a of section 16.10 for every tool, (tools) each. */
void er_opposed(const er_habits *, const er_sides *, float *opposed, float *agrees);

/* v of section 16.12 among so many names, with the weights of `values`; (tools). */
void er_values_of(const er_habits *, uint32_t held, uint32_t names, const double *weights, float *values);

#endif
