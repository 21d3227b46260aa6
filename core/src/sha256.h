/* SHA-256 (FIPS 180-4), piece by piece. */

#ifndef ER_SHA256_H
#define ER_SHA256_H

#include "common.h"

/* What takes whole blocks of 64 bytes into a state. */
typedef void er_sha256_blocks(uint32_t state[8], const uint8_t *bytes, size_t blocks);

typedef struct {
    uint32_t state[8];
    uint64_t length;  /* bytes so far */
    uint8_t rest[64]; /* what is no whole block yet */
    er_sha256_blocks *take;
} er_sha256;

typedef struct {
    char at[64]; /* lower-case digits, without a zero byte */
} er_hex;

void er_sha256_begin(er_sha256 *);
void er_sha256_add(er_sha256 *, const void *bytes, size_t length);
void er_sha256_end(er_sha256 *, uint8_t digest[32]);

er_hex er_hex_of(const uint8_t digest[32]);
er_hex er_sha256_of(const void *bytes, size_t length);

/* By a processor's own instructions where it has them, else NULL. Asking costs some microseconds on virtual machines. */
er_sha256_blocks *er_sha256_native(void);
extern const uint32_t er_sha256_constants[64];

#endif
