/* Who signed a bundle, and whether they are trusted (FORMAT.md 21). Opens no file. */

#ifndef ER_SIGNATURE_H
#define ER_SIGNATURE_H

#include "common.h"

enum { ER_MOST_SIGNATURES = 1 << 16 };

typedef struct {
    er_text trust;      /* a file of public keys */
    er_text signatures; /* the file beside the bundle */
    int64_t now;        /* seconds since 1970 */
} er_trusted;

/* Refuses (ER_BAD_BUNDLE) a bundle of this content hash (64 digits) that was revoked or that too few of those keys signed,
   and (ER_BAD_INPUT) a file of keys that cannot be used. `shown` is what messages call the bundle. */
bool er_signed(er_arena *, const er_trusted *, er_text content_hash, const char *shown);

#endif
