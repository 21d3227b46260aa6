/* Texts by what they say: which of them stands there twice, and where one stands. Knows nothing of what they are. */

#ifndef ER_DISTINCT_H
#define ER_DISTINCT_H

#include "common.h"

typedef struct {
    const er_text *texts;
    const uint32_t *slots; /* (mask + 1): place + 1 by hash, 0: none */
    uint32_t mask;
} er_places;

/* `alike` is the place of the first text that stood there before, −1 if there is none; the first one of equals is found.
   Refuses texts that were made to meet in one place, since telling them apart would take for ever. */
bool er_places_of(er_arena *, const er_text *, uint32_t count, er_places *, int64_t *alike);

/* −1: not there. */
int64_t er_place_of(const er_places *, er_text);

/* The same without keeping anything. */
bool er_first_alike(er_arena *, const er_text *, uint32_t count, int64_t *alike);

#endif
