/* Where the time of a request goes: every moment since a task begins or decides belongs to exactly one stage. */

#ifndef ER_WATCH_H
#define ER_WATCH_H

#include "common.h"

/* In the order of er_times. */
typedef enum { ER_AT_TOKENIZE, ER_AT_ENCODE, ER_AT_SEARCH, ER_AT_GRAPH, ER_AT_HEAD, ER_AT_FUSE, ER_AT_LEARNED, ER_AT_DECIDE, ER_LAPS } er_lap_of;

typedef struct {
    double (*clock)(void *context); /* NULL: nobody asks */
    void *context;
    double last, spent[ER_LAPS];
} er_watch;

/* What passed until now belongs to nobody. */
static inline void er_watch_on(er_watch *watch)
{
    if (watch->clock) watch->last = watch->clock(watch->context);
}

/* What passed since the last lap belongs to this stage; NULL where there is no watch. */
static inline void er_lap(er_watch *watch, er_lap_of stage)
{
    if (!watch || !watch->clock) return;
    const double now = watch->clock(watch->context);
    watch->spent[stage] += now - watch->last;
    watch->last = now;
}

#endif
