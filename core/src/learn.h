/* What is learned on a device (docs/FORMAT.md 19): plans that vote, rows that are added to the bundle's own word, a mixture
   of both with it, and a guard. Knows nothing of files; overlay.h keeps it.

   A state is written under its learner's lock and read under it. Memory is taken before anything changes: what was begun
   comes to its end. */

#ifndef ER_LEARN_H
#define ER_LEARN_H

#include "names.h"
#include "request.h"

#include <stdlib.h>

#ifndef ER_ALLOCATE /* as in common.c */
#define ER_ALLOCATE(size) calloc(1, (size))
#endif

enum {
    ER_KEPT = 8,             /* labels that are kept of every step of a plan */
    ER_ROWS = 512,           /* labels with a row of the increments */
    ER_COUNTS = 6,           /* numbers of calls made that are told apart */
    ER_STEPS = 10000,        /* calls and ends of all plans that are stored */
    ER_PLAN_CALLS = 255,
    ER_MOST_LABELS = 400000, /* in the table of names */
    ER_LAST = 0,             /* the label of `<end>` */
    ER_NOBODY = -1,          /* no label */
    ER_STRANGER = -2         /* of a call that is not in the table */
};

/* One plan: to be learned, or stored. */
typedef struct {
    int64_t id, time;   /* time: the memory's, when it was learned last */
    double learned_at;  /* seconds since 1970 */
    er_text query;      /* `at` is NULL where no words are kept */
    er_source source;
    uint32_t length;    /* of its calls */
    int32_t shown;
    float weight;
    bool redundant;
    float *vector;      /* (dimension): as halves keep it */
    int32_t *calls;     /* (length): labels */
    int32_t *kept;      /* (length + 1, ER_KEPT): labels of the bundle's own word at every step, −1 for none */
    float *log_p;       /* (length + 1, ER_KEPT): as halves keep them */
} er_plan;

/* What a model demonstrates, by which learners go; it stays as long as the model. */
typedef struct {
    const er_model *model;
    const uint32_t *called; /* (labels): how often demonstrations called each; NULL without a head */
    bool over, sure;        /* over: anything was demonstrated; sure: a thousand steps */
} er_demonstrated;

typedef struct {
    uint32_t dimension;
    const er_demonstrated *shown;
    int64_t serial;           /* another one for each state */

    er_arena texts;           /* of the names */
    er_text *names;           /* (name_count): by label */
    uint32_t *demonstrated;   /* (name_count) */
    int32_t *places;          /* (mapped_count): among the names of `mapped`, −1 for none */
    int32_t *firsts;          /* (name_count): room, zeros but for a moment */
    int64_t *row_at;          /* (name_count + 1): a label's row, by label + 1; −1 for none */
    uint32_t *slots;          /* (slot_mask + 1): label + 1 by hash */
    uint32_t name_count, name_room, slot_mask, mapped_count;
    uint64_t looked;          /* how often names met, which bounds a forger */
    const er_model *mapped;

    er_plan **plans;
    uint32_t plan_count, plan_room, steps, longest; /* longest: calls that any plan ever had */
    int64_t clock, next_id;

    uint32_t rows, row_room;
    int32_t *row_labels;
    float *weights, *bias, *squares; /* (rows, dimension), (rows), (rows) */
    float *history;                  /* (ER_COUNTS + 2 · row_room, row_room) */

    float mixture[3], mixture_squares[3]; /* of increments, memory and bundle */
    double judged, gained, gained_squares;
    bool muted;
    int64_t learned; /* plans that taught */

    /* What requests are compared with, by tools whose first calls were learned (section 19.6); made for `mapped`. */
    float *means, *mean_squares, *mean_weights;
    uint32_t *mean_places, mean_count, mean_room;
    double no_tool, called;
    int64_t familiar_learned; /* of when; −1: of never */
} er_knowledge;

/* ---- Plans, names and rows: learn_memory.c ---- */

er_plan *er_plan_new(uint32_t dimension, uint32_t length, er_text query); /* NULL: no memory */
/* One that is not stored anywhere, with its full weight; NULL: no memory. */
er_plan *er_plan_copy(const er_knowledge *, const er_plan *);
bool er_plan_say(er_plan *, er_text query); /* other words; false: no memory */
void er_plan_free(er_plan *);
er_knowledge *er_knowledge_new(const er_demonstrated *, int64_t serial);      /* nothing learned; NULL: no memory */
void er_knowledge_free(er_knowledge *);                                       /* with its plans */

int64_t er_label_of(const er_knowledge *, er_text name); /* ER_STRANGER: not in the table */
/* Adds a name that is not in the table. */
bool er_label_add(er_knowledge *, er_text name, er_error *);
void er_labels_place(er_knowledge *); /* anew, where they are looked for */
/* Where all names stand among a model's. Allocates nothing. */
void er_labels_map(er_knowledge *, const er_model *);
const er_stage *er_deciding(const er_model *);

static inline bool er_is_newcomer(const er_knowledge *s, int32_t label) { return s->shown->sure && label != ER_LAST && !s->demonstrated[label]; }

/* Rows for so many more labels, plans for so many more, and means for what may be called first. */
bool er_knowledge_reserve(er_knowledge *, uint32_t rows, uint32_t plans, er_error *);
void er_row_add(er_knowledge *, int32_t label, bool called); /* where there is none yet and room for it */

typedef struct {
    uint32_t rows[ER_MOST_NEIGHBOURS];
    float cosines[ER_MOST_NEIGHBOURS], exponents[ER_MOST_NEIGHBOURS];
    uint32_t count;
} er_near;

void er_near_of(const er_knowledge *, const float *vector, er_near *);
int64_t er_same_plan(const er_knowledge *, const er_near *, const er_plan *); /* its row, −1 for none */
/* Stores a plan, or shows once more the one in row `same`, whose place it takes; its id. */
int64_t er_plan_put(er_knowledge *, er_plan *, const er_near *, int64_t same);
/* Stores a plan as another memory had it, which was shown so often. */
void er_plan_put_again(er_knowledge *, er_plan *, const er_near *);
void er_plan_store(er_knowledge *, er_plan *);

/* ---- What is said of a query: learn_mix.c ---- */

/* A query over n candidates; place n stands for what is none of them. */
typedef struct {
    uint32_t n, rows, newcomer_count;
    const int32_t *places; /* by label; NULL: candidates are labels */
    double trust;
    er_near near;
    float scores[ER_ROWS];
    uint32_t *newcomers;           /* (n) */
    float *logs, *added, *votes;   /* (n + 1) each */
} er_mixing;

bool er_mixing_take(er_arena *, uint32_t n, er_mixing *);
void er_mixing_of(const er_knowledge *, const float *vector, const int32_t *places, er_mixing *);
/* Log-probabilities (n) up to a constant, from the bundle's, which `logs` holds, after calls of these labels. */
void er_mix_step(const er_knowledge *, er_mixing *, const int32_t *history, uint32_t made, float *logs);
/* What increments and memory say together without the bundle, log-probabilities (n), and the weights of increments, memory
   and bundle; `said` has room for n. */
void er_mix_apart(const er_knowledge *, er_mixing *, const int32_t *history, uint32_t made, const float *logs, double weights[3], float *said, float *found);
/* Judges what was learned by a plan that was not yet, and moves mixture and guard. False: no memory. */
bool er_judge(er_knowledge *, er_arena *, const er_plan *, er_mixing *);

/* ---- One gradient step: learn_teach.c ---- */

bool er_teach(er_knowledge *, er_arena *, const er_plan *const *, const float *weights, uint32_t count);

/* ---- Lessons: learn.c ---- */

/* Learns a plan, which then is the state's, and gives its id; −1 without memory, where nothing was learned. `again`: of
   those that are left after forgetting. */
int64_t er_lesson(er_knowledge *, er_plan *, bool again, er_error *);
/* All but some plans (`gone`, by row), learned anew; NULL: no memory. */
er_knowledge *er_without(const er_knowledge *, const bool *gone, int64_t serial, er_error *);
/* Which names something refers to, or with `current` the latest request decided between: their new numbers, −1 for all others
   (name_count); how many stay. Then to give them these. */
uint32_t er_used_names(const er_knowledge *, bool current, int32_t *numbers);
void er_renumber(er_knowledge *, const int32_t *numbers);
void er_familiar(er_knowledge *);
/* Of a step's log-probabilities (n) the most probable labels, and what was right. */
void er_keep(const float *log_p, uint32_t n, uint32_t right, uint32_t places[ER_KEPT], float kept[ER_KEPT]);

uint16_t er_half(float);

#endif
