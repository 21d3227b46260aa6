/* In the place of sha256_native.c, so that tests can do without a processor's instructions. */

#include "sha256.h"

er_sha256_blocks *er_sha256_native(void) { return NULL; }
