/* SHA-256 of bytes added in pieces of so many, by the processor's own instructions: for tests/core/test_sha256.py. */

#include "sha256.h"

int probe_sha256(const uint8_t *bytes, size_t length, size_t piece, uint8_t digest[32])
{
    er_sha256 sum;
    er_sha256_begin(&sum);
    for (size_t at = 0; at < length; at += piece) er_sha256_add(&sum, bytes + at, length - at < piece ? length - at : piece);
    er_sha256_end(&sum, digest);
    return er_sha256_native() != NULL;
}
