/* A few threads that sleep until there is something to share. */

#ifndef ER_WORKERS_H
#define ER_WORKERS_H

#include <stdint.h>

enum { MOST_WORKERS = 16 };

/* A worker's part of some work; workers are numbered from 0 on. */
typedef void Work(void *of, int64_t worker);

/* Runs worker 0 here, and up to `workers` - 1 others on threads that are free at once. Work must not count on any of
   them: it may be done before they wake, and is done when worker 0 is. Whether some are still at it: what they read and
   write must stay until er_gone says that they are gone. */
int64_t er_share(Work *work, void *of, int64_t workers);

/* Whether nobody is at this work any more; with `wait`, when nobody is. */
int64_t er_gone(const void *of, int64_t wait);

#endif
