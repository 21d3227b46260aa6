/* A task: one request, its calls and failures, and where its steps compute. */

#ifndef ER_TASK_H
#define ER_TASK_H

#include <stdatomic.h>

#include "request.h"

/* What forks share: who leaves last gives it back. */
typedef struct {
    atomic_uint holders;
    er_request request;
    er_encoded encoded;
} er_read;

typedef struct {
    uint32_t place;  /* among the names */
    uint32_t after;  /* how many calls had been made */
    bool retried;
} er_failure;

typedef struct er_turn er_turn; /* turns.h */

struct er_task {
    er_arena arena;
    er_arena told;          /* of what er_explain told last */
    er_arena filled;        /* of what er_arguments told last */
    struct er_reading *pieces; /* of the query, once its arguments were asked for, */
    const float *unit_words; /* and what its units say to the head; NULL: not yet */
    const er_model *model;
    er_watch watch;
    er_read *read;          /* by the stage that decides now */
    bool first;             /* that is the small encoder, in front of the bundle's own */
    er_points query;
    er_encoding *own;       /* what the bundle's own encoder made of it, once somebody asked; in the arena */
    er_turn *turn;          /* what came before it in a conversation; NULL: it stands alone */
    bool *allowed;          /* (n); NULL: all */
    bool wide;              /* all tools are compared, however many there are, */
    er_read *narrow;        /* and these were not, whose encoding somebody may have; NULL: nobody */
    er_learner *learner;    /* NULL: the bundle decides alone */
    er_recall *recall;      /* of what it learned; `work` has it once the bundle's own encoder decides */
    er_workspace work;
    int32_t *places;        /* (ER_MOST_CALLS): of the calls */
    uint32_t *made;         /* (ER_MOST_CALLS): the different ones of them */
    er_history history;
    er_failure *failures;   /* (ER_MOST_CALLS) */
    uint32_t failed;
    bool *blocked;          /* (n) */
    uint32_t *order;        /* (n): candidates, best first */
    uint32_t listed;        /* how many of them are in order; 0 before the first decision */
};

/* The query as a stage's encoder has it; the bundle's own where `encoded` is NULL and the small one is not sure. */
er_read *er_read_query(const er_model *, const er_stage *, const er_points *, const er_encoding *, const bool *allowed, er_task *, er_error *);
void er_unread(er_read *);

/* A query's code points, copied, since tasks need them to the end; refuses what is blank, too long or no UTF-8. */
bool er_check_query(er_arena *, er_text query, er_points *);

/* Which names failed and may not be chosen now; NULL where none is. */
const bool *er_blocked(er_task *);

/* Where the bundle's own encoder decides from now on. */
bool er_hand_over(er_task *, er_error *);
bool er_decide(er_task *, const er_next_options *, er_decision *, er_error *);
/* How probable an answer with this tool must be, before any call or behind one. */
double er_floor_of(const er_task *, int32_t tool, const er_next_options *);
bool er_take_next(const er_next_options *given, er_next_options *own, er_error *);

#endif
