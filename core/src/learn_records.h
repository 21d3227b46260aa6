/* What is learned as records of an overlay (docs/FORMAT.md 15.6), and back, checked as if a stranger had written them. */

#ifndef ER_LEARN_RECORDS_H
#define ER_LEARN_RECORDS_H

#include "learn.h"
#include "overlay.h"

/* What is told of a plan that a state, which comes later in the file, has stored. */
typedef struct er_told er_told;

/* A file while it is read: what was learned so far, and the model with the tools of its records. */
typedef struct {
    er_arena arena;         /* of what is told */
    const char *shown;
    er_knowledge *state;      /* owned */
    er_model *model;        /* owned; NULL: tools are passed over */
    er_told *told, **last;
    uint32_t unfolded;      /* plans behind the last state */
    int64_t *serials;       /* of states */
    uint8_t others[ER_DIGEST]; /* of records of other kinds */
} er_reading;

er_record_taker er_record_take; /* its context is an er_reading */

/* Values of records; the kind is put before. `named`: names that stand in the file already. */
void er_put_plan(er_bytes *, const er_knowledge *, const er_plan *, uint32_t named);
void er_put_told(er_bytes *, const er_knowledge *, const er_plan *);
/* With names numbered anew, so many of them; false: no memory. */
bool er_put_state(er_bytes *, er_arena *, const er_knowledge *, const int32_t *numbers, uint32_t names);

/* What `digest` is behind a record of another kind; false: no memory. */
bool er_others_add(uint8_t digest[ER_DIGEST], er_text kind, const er_pack *value);
/* Writes the value of a change of tools as a record has it, from `before` to `after`. */
bool er_put_tools(er_bytes *, const er_model *before, const er_change *, const er_model *after, er_error *);

/* The model with the tools of a record, in the place of this one. */
bool er_tools_take(er_model **, const er_fields *record);

#endif
