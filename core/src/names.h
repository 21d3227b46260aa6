/* What is decided between, arranged for requests: labels, then the tools without demonstrations, as FORMAT.md's Names.
   Made once a stage. All arrays of names are in this order. */

#ifndef ER_NAMES_H
#define ER_NAMES_H

#include "common.h"
#include "model.h"

/* Pairs of takers and givers by their places among names: (n + 1) starts. */
typedef struct {
    const uint32_t *giver_starts, *givers, *taker_starts, *takers;
    bool any;
} er_links;

struct er_names {
    uint32_t n, end, labels;   /* `end` is the place of `<end>`: the last label's */
    uint32_t every;            /* how many there are with those that a search left out */
    bool narrow;               /* it left some out, or would have */
    const int32_t *tools;      /* (n): its tool, ER_END for `<end>` */
    const uint32_t *places;    /* (held): where a tool stands here */
    const bool *allowed;       /* (n): false for tools that are gone; NULL where none is */
    const float *rows;         /* (n, dimension): unit vectors, zeros for `<end>` */
    const float *lengths;      /* (n): of the rows less their mean (16.6) */
    const float *mean;         /* (dimension): μ */
    const float *rarities;     /* ρ among n names, by word of the lexicon */
    const float *popular;      /* (n) */
    const float *owed;         /* (n): what tools lack that need others before any call, weighed (16.6) */
    er_links named, keyed;
    er_familiarity familiarity; /* the bundle's, or without demonstrations what examples stand for (section 9) */
    float *familiar_squares;    /* (rows): 1 + |m|² */
    double familiar_count;      /* C */
    const uint32_t *familiar_places; /* (rows): places of their tools */
};

bool er_names_of(er_arena *, const er_model *, const er_stage *, const er_names **);

/* Those of a stage's names that are at so many places, rising, labels among them, without flow (section 9): for one request. */
bool er_names_at(er_arena *, const er_model *, const er_stage *, const uint32_t *at, uint32_t count, const er_names **);

#endif
