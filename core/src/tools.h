/* A change of tools while it is made. */

#ifndef ER_TOOLS_H
#define ER_TOOLS_H

#include "common.h"
#include "model.h"

enum { ER_MOST_TOOLS = 100000 };

/* A tool that comes: by itself, or in another one's place. */
typedef struct {
    er_tool tool;
    uint32_t row, example_row; /* where its vectors begin among those that the caller gives */
} er_given;

/* Of a tool in the new order: its number before, UINT32_MAX for a new one; and where it is given, −1 for one that stays. */
typedef struct {
    uint32_t old;
    int32_t given;
} er_origin;

typedef struct {
    er_arena *arena, scratch; /* the new model's; and until it is made */
    er_arena work;            /* for one tool at a time: behind lists of all, every tool would take a block as large as those */
    const er_model *base;
    const er_change *change;
    er_given *given;          /* (count): those added, then those that replace */
    uint32_t added, count;
    bool *removed;            /* (tools of the base) */
    int32_t *instead;         /* (tools of the base): who is given in its place, −1 for nobody */
    bool unchanged;           /* all is there as it is given */
    er_origin *sources;       /* (tools) */
    uint32_t tools;
} er_changing;

/* Reads and checks what is to change, all but `sources` and `tools`. */
bool er_read_change(er_changing *);

#endif
