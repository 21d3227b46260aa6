/* SHA-512 in pieces, for tests/core/test_core_ed25519.py. */

#include "sha512.h"

void probe_sha512(const uint8_t *bytes, size_t length, size_t piece, uint8_t digest[64])
{
    er_sha512 sum;
    er_sha512_begin(&sum);
    for (size_t at = 0; at < length; at += piece) er_sha512_add(&sum, bytes + at, length - at < piece ? length - at : piece);
    er_sha512_end(&sum, digest);
}
