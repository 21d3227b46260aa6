/* SHA-512 (FIPS 180-4), piece by piece: what signatures are made over. */

#ifndef ER_SHA512_H
#define ER_SHA512_H

#include "common.h"

typedef struct {
    uint64_t state[8];
    uint64_t length;   /* bytes so far */
    uint8_t rest[128]; /* what is no whole block yet */
} er_sha512;

void er_sha512_begin(er_sha512 *);
void er_sha512_add(er_sha512 *, const void *bytes, size_t length);
void er_sha512_end(er_sha512 *, uint8_t digest[64]);

#endif
