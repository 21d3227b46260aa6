/* SHA-512 and Ed25519, for tests/core/test_core_ed25519.py; `verify` many times over, for its time. */

#include "ed25519.h"
#include "sha512.h"

void probe_sha512(const uint8_t *bytes, size_t length, size_t piece, uint8_t digest[64])
{
    er_sha512 sum;
    er_sha512_begin(&sum);
    for (size_t at = 0; at < length; at += piece) er_sha512_add(&sum, bytes + at, length - at < piece ? length - at : piece);
    er_sha512_end(&sum, digest);
}

int probe_verify(const uint8_t key[32], const char *message, size_t length, const uint8_t signature[64], int times)
{
    int fine = 0;
    while (times-- > 0) fine = er_ed25519_verify(key, (er_text){message, length}, signature);
    return fine;
}

int probe_is_key(const uint8_t key[32]) { return er_ed25519_is_key(key); }
