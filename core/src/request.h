/* One request: what is computed of it once (sections 16.4 and 16.5, and of head, graph and memory), for all steps. It
   changes no more once it was read, so that tasks that were forked share it. */

#ifndef ER_REQUEST_H
#define ER_REQUEST_H

#include "common.h"
#include "encode.h"
#include "model.h"
#include "names.h"

enum { ER_SEGMENTS = 3, ER_WINDOW = 8, ER_STRIDE = 4, ER_MOST_WINDOWS = 26, ER_MOST_NEIGHBOURS = 64, ER_MOST_NEAREST = 64 };

typedef struct er_wishes er_wishes;

/* Section 7: the nearest clusters and their weights. */
typedef struct {
    const uint32_t *clusters; /* (count) */
    const double *weights;
    uint32_t count;
    double similarity;
} er_place_in_graph;

/* Section 8.2: the plans that vote, nearest first. */
typedef struct {
    uint32_t plans[ER_MOST_NEIGHBOURS];
    double cosines[ER_MOST_NEIGHBOURS];
    uint32_t count;
} er_neighbours;

typedef struct er_request er_request;

struct er_request {
    er_arena arena;
    const er_model *model;
    const er_stage *stage;
    const er_names *names;
    uint32_t n, end, labels, dimension;
    const bool *allowed; /* (n); NULL: all */
    er_request *near;    /* the same request among few of very many names (section 9), which says all there is to say; NULL:
                            among all */
    const uint32_t *near_at, *at_near; /* (near->n): the place of each of them; (n): its place there, UINT32_MAX for none */
    er_watch *watch;     /* of who reads it; NULL: nobody's, and so once it was read */
    const er_encoded *encoded;
    const er_sayings *sayings;
    const er_overlap *overlap; /* by tool */
    const float *name, *parameters, *coverage, *text; /* (n): the same by place */
    bool said_any;
    const bool *said; /* (n) */

    uint32_t windows, clauses;
    const uint32_t *clause_rows; /* by clause of `sayings`: its row among `clauses`, UINT32_MAX for one without a token */
    const float *vectors;  /* (4 + windows + clauses, dimension): q, its thirds, windows, clauses */
    const float *cosines;  /* (4 + windows + clauses, n) */
    const float *window, *clause; /* (n): the best of each */
    const float *laters;   /* (windows, n): the best of a window and those behind it */
    const float *statics;  /* (n): S of 16.5 */
    const float *begun;    /* (n): scores before any call, but for a wish that is due */
    bool has_example;
    double nearest_example;
    const er_wishes *wishes; /* NULL: it asks for one thing */

    const float *fixed;      /* (labels): W·q + Zᵀz + b, and ω·S where the head rests on the prior once */
    er_place_in_graph place;
    const float *pooled[2];  /* (labels): of all demonstrations and of these clusters, after nothing in particular */
    er_neighbours neighbours;
};

/* Whether names were left out, and whether this one was. */
static inline bool er_is_narrow(const er_request *r) { return r->names->narrow; }
static inline bool er_is_left_out(const er_request *r, uint32_t place) { return r->near && r->at_near[place] == UINT32_MAX; }

typedef struct er_recall er_recall; /* of what was learned on the device: learn_recall.c */

/* What a step found there (section 19.6). */
typedef struct {
    bool counts;     /* whether anything of it moves this decision */
    double share;    /* what the bundle's calibration map counts: 1 where nothing was learned */
    double nearest;  /* the cosine of the nearest stored plan that calls a tool; below −1: none */
    bool familiar;   /* whether the others count */
    double square;   /* of the distance to the nearest mean with what was learned */
    double no_tool, called;
} er_known;

/* Where a step computes: nothing is allocated behind er_begin. */
typedef struct {
    float *scores, *logs, *prior, *popular, *memory, *first_unseen; /* (n) each */
    float *spent_name, *spent_coverage;           /* (tools) each */
    float *probabilities;                         /* (n): what the last decision found */
    float *logits, *walked, *global, *local;      /* (labels) each */
    uint8_t *seen;                                /* (words of the lexicon) */
    uint32_t *given;                              /* (n), zeros between steps */
    bool *choosable, *blocked;                    /* (n) */
    bool has_first_unseen;
    er_recall *recall;                            /* NULL: the bundle decides alone */
    er_watch *watch;                              /* NULL: none */
    er_known known;                               /* of the last step */
} er_workspace;

bool er_workspace_of(er_arena *, const er_model *, const er_names *, er_workspace *);

/* Reads a query among a stage's names. `allowed` (n) must stay; NULL for all. With `part`, a wish of another request is
   read, which asks for one thing whatever it says. */
bool er_request_read(er_request *, const er_model *, const er_stage *, const er_points *, const er_encoded *, const bool *allowed, bool part);

/* A query's own windows, clauses and sayings. */
bool er_request_parts(er_request *, const er_model *, const er_stage *, const er_points *, const er_encoded *);

/* Both halves of it: what a query is whatever is decided between, and what it says of these names. */
bool er_request_say(er_request *, const er_model *, const er_stage *, const er_points *, const er_encoded *);
bool er_request_weigh(er_request *, const er_points *, const er_names *, const bool *allowed, bool part);

/* Reads a query among few of very many names, those that `also` has (NULL: none) among them, where the stage has an HNSW graph;
   or else among all. What it has in common with er_request_read is told there. */
bool er_request_near(er_request *, const er_model *, const er_stage *, const er_points *, const er_encoded *, const bool *allowed,
    const int32_t *also, uint32_t also_count);

/* ln(c) / 10 where c examples of some tools (−1: none) have the vector of example k. */
float er_twins_among(const er_index *, uint32_t dimension, const int32_t *tools, uint32_t count, uint32_t k);

/* near[k] = the largest of near[k] and of the cosines of these vectors, in whole numbers (16.5), to example k. */
bool er_nearest_examples(er_arena *, const er_index *, uint32_t dimension, const float *vectors, uint32_t many, float *near);

/* ---- After calls: places among the names, or labels; −1 for a stranger's tool ---- */

typedef struct {
    const int32_t *places;  /* (count): of the calls so far; −1: no tool here */
    const uint32_t *made;   /* (made_count): their different places, in order */
    uint32_t count, made_count;
} er_history;

/* Section 16.6: scores of all names, −inf for `<end>`; (n). */
void er_prior_scores(const er_request *, er_workspace *, const er_history *, float *scores);
/* −inf for what is not allowed; the best of the rest. */
float er_allow(const er_request *, float *scores);
/* Section 16.7: the log-odds that nothing fits, or after calls that the plan is over; `best` of the scores. */
double er_end_logit(const er_request *, er_workspace *, const er_history *, double best);
/* Log-probabilities of all names (16.7), (n). */
void er_prior_log_probabilities(const er_request *, er_workspace *, const er_history *, float *);
/* What of it comes from where, weighed and added to, (n) each: words, meaning, what tools give and take, kinds of values. */
void er_prior_evidence(const er_request *, er_workspace *, const er_history *, float *words, float *meaning, float *flow, float *values);
/* The same of what no call changes and nothing keeps by itself, and of examples; takes memory of this request. */
bool er_evidence_apart(er_request *, float *words, float *flow, float *values, float *examples);
/* What an open wish adds to the log-odds of the end, whatever was demonstrated (section 9). */
double er_open_offset(const er_request *, const er_history *);

/* ---- Wishes (16.9) ---- */

bool er_wishes_of(er_request *, const er_points *);
/* How far tools are behind the best one of the first open wish, (n); NULL without one. */
const float *er_due(const er_wishes *, const er_history *);
/* Which wishes are open, by their numbers among the sayings' in order; how many. */
uint32_t er_which_open(const er_wishes *, const er_history *, uint32_t which[ER_MOST_WISHES]);
/* The same of a request that may ask for one thing, or decide between few of very many names. */
uint32_t er_open_wishes(const er_request *, const er_history *, uint32_t which[ER_MOST_WISHES]);
/* open, open_clear and answered. */
void er_open(const er_wishes *, const er_history *, double found[3]);

/* ---- What was demonstrated ---- */

bool er_head_read(er_request *, const er_points *);
void er_head_logits(const er_request *, const er_history *, float *logits);
bool er_graph_read(er_request *);
void er_graph_walk(const er_request *, er_workspace *, const er_history *, float *probabilities);
void er_memory_read(er_request *);
/* Section 8.2, of all names, (n), from m. */
void er_memory_log_probabilities(const er_request *, const er_history *, const float *popular, float *);

/* ---- Together (section 9) ---- */

/* Log-scores of all names, fused, up to a constant; (n). */
void er_fuse(const er_request *, er_workspace *, const er_history *, float *logs);
/* What was learned says of a step by itself (n), log-probabilities, and what it and the bundle's own word count for, from the
   bundle's log-scores; the nearest plans are told by whom `explain` is given. */
typedef struct {
    bool counts;
    double increments, memory, base;
    er_known known;
} er_recalled;

typedef bool er_plan_teller(void *context, er_text query, const er_text *calls, uint32_t call_count, double cosine);
/* What decisions ask of a learner, which brings the answers with it: what learns is linked where somebody opens one. A learner and
   a recall begin with the place of this. */
typedef struct {
    er_learner *(*held)(er_learner *); /* by one more holder, */
    void (*left)(er_learner *);        /* or one less */
    bool (*counts)(er_learner *);      /* whether anything was learned */
    /* A task's place at a learner of its model, over n names. */
    bool (*of)(er_arena *, er_learner *, const er_model *, uint32_t n, er_recall **);
    /* Log-scores (n) with what was learned; before any call `known` also says what is familiar. */
    void (*mix)(er_recall *, const er_request *, const er_history *, float *logs, er_known *);
    bool (*explain)(er_recall *, er_arena *, const er_request *, const er_history *, const float *logs, float *found, er_recalled *, uint32_t most,
        er_plan_teller *, void *context);
} er_recalling;

static inline const er_recalling *er_by(const void *learner_or_recall) { return *(const er_recalling *const *)learner_or_recall; }

/* The probability that nothing fits, by how far the request is from what was demonstrated and learned; NaN where nothing was. */
double er_unlike(const er_request *, const er_known *);
/* The same history among few of very many names, where those were left out (section 9). */
typedef struct {
    int32_t places[ER_MOST_CALLS];
    uint32_t made[ER_MOST_CALLS];
    er_history history;
} er_few_calls;

const er_history *er_among_few(const er_request *, const er_history *, er_few_calls *);
/* The head's own log-probabilities of labels, for the second witness of section 17. */
void er_head_alone(const er_request *, er_workspace *, const er_history *, float *logs);
/* Calibrated probabilities of all names, (n); `blocked` (n) are left out, NULL for none. False where they are not finite. */
bool er_step_probabilities(const er_request *, er_workspace *, const er_history *, const bool *blocked, float *);
/* The same as behind a call, also before any: `<end>` has what was fused, whether or not anything fits (section 9.1). */
bool er_later_probabilities(const er_request *, er_workspace *, const er_history *, const bool *blocked, float *);

#endif
