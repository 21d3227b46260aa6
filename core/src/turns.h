/* Section 9.1: a later turn of a conversation, which the calls of earlier turns explain. */

#ifndef ER_TURNS_H
#define ER_TURNS_H

#include "task.h"

enum { ER_MOST_EARLIER = 32 }; /* calls that a turn looks back to, the latest */

/* Places among the names, −1 for a stranger's tool, oldest first. */
typedef struct {
    int32_t at[ER_MOST_EARLIER];
    uint32_t count;
} er_earlier;

struct er_turn {
    er_earlier all, last;   /* calls of all turns before; those of the latest turn that made any */
    double *alone, *onward; /* (n): logarithms of shares */
    double *scores;         /* (n) */
    uint8_t *marks;         /* (n): what is known of each */
    int32_t *places;        /* (ER_MOST_CALLS): calls of all turns, this one's behind them */
    uint32_t *made;         /* (ER_MOST_CALLS): the different ones of them */
};

/* What a later turn keeps of calls by their tools' names, the last `last` of them by the latest turn that made any. */
bool er_turn_of(er_arena *, const er_text *calls, size_t count, size_t last, const er_model *, const er_names *, er_turn **);
bool er_turn_fork(er_arena *, const er_turn *, const er_names *, er_turn **);

/* Probabilities of all names, (n); `blocked` (n) are left out, NULL for none. False where they are not finite. */
bool er_turn_probabilities(er_task *, const bool *blocked, float *found);

/* A step of a later turn: after this turn's calls `alone`, and `onward`, after those of all turns. */
typedef struct {
    const double *alone, *onward;  /* (n): as er_apart has them */
    double alone_end, onward_end;
    const bool *allowed, *blocked; /* (n); NULL: all, none */
    const er_request *request;     /* which may leave some out */
    uint32_t n, end, words;
    const er_earlier *all, *last;
    const int32_t *made;           /* (made_count): this turn's calls */
    uint32_t made_count;
    bool demonstrated;
} er_turn_step;

/* Of probabilities (n) the logarithms of tools' shares if the turn goes on, 0 for its end; gives the end's log-odds. */
double er_apart(const float *probabilities, uint32_t n, uint32_t end, double *found);
/* Probabilities of all names; `marks` and `scores` have room for n. */
void er_mix_turn(const er_turn_step *, uint8_t *marks, double *scores, float *found);

/* The different places among so many, in order; strangers are left out. What there are. */
uint32_t er_different(const int32_t *places, uint32_t count, uint32_t *made);

#endif
