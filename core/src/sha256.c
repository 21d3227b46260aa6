#include "sha256.h"

const uint32_t er_sha256_constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5, 0xd807aa98, 0x12835b01, 0x243185be,
    0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174, 0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa,
    0x5cb0a9dc, 0x76f988da, 0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967, 0x27b70a85,
    0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85, 0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3,
    0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070, 0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f,
    0x682e6ff3, 0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static inline uint32_t turned(uint32_t a, int by) { return a >> by | a << (32 - by); }

static void plain(uint32_t state[8], const uint8_t *bytes, size_t blocks)
{
    for (; blocks; blocks--, bytes += 64) {
        uint32_t w[64], s[8];
        for (int i = 0; i < 16; i++)
            w[i] = (uint32_t)bytes[4 * i] << 24 | (uint32_t)bytes[4 * i + 1] << 16 | (uint32_t)bytes[4 * i + 2] << 8 | bytes[4 * i + 3];
        for (int i = 16; i < 64; i++) {
            const uint32_t a = w[i - 15], b = w[i - 2];
            w[i] = w[i - 16] + (turned(a, 7) ^ turned(a, 18) ^ a >> 3) + w[i - 7] + (turned(b, 17) ^ turned(b, 19) ^ b >> 10);
        }
        memcpy(s, state, sizeof s);
        for (int i = 0; i < 64; i++) {
            const uint32_t e = s[4], a = s[0];
            const uint32_t one =
                s[7] + (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & s[5]) ^ (~e & s[6])) + er_sha256_constants[i] + w[i];
            const uint32_t two = (turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
            memmove(s + 1, s, 7 * sizeof *s);
            s[4] += one;
            s[0] = one + two;
        }
        for (int i = 0; i < 8; i++) state[i] += s[i];
    }
}

void er_sha256_begin(er_sha256 *sum)
{
    static const uint32_t first[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    er_sha256_blocks *native = er_sha256_native();
    memcpy(sum->state, first, sizeof first);
    sum->length = 0;
    sum->take = native ? native : plain;
}

void er_sha256_add(er_sha256 *sum, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    const size_t there = sum->length % 64;
    sum->length += length;
    if (there) {
        const size_t more = length < 64 - there ? length : 64 - there;
        memcpy(sum->rest + there, at, more);
        at += more;
        length -= more;
        if (there + more < 64) return;
        sum->take(sum->state, sum->rest, 1);
    }
    sum->take(sum->state, at, length / 64);
    if (length % 64) memcpy(sum->rest, at + (length - length % 64), length % 64);
}

void er_sha256_end(er_sha256 *sum, uint8_t digest[32])
{
    static const uint8_t padding[64] = {0x80};
    uint8_t bits[8];
    for (int i = 0; i < 8; i++) bits[i] = (uint8_t)(sum->length * 8 >> (56 - 8 * i));
    er_sha256_add(sum, padding, (119 - sum->length % 64) % 64 + 1);
    er_sha256_add(sum, bits, 8);
    for (int i = 0; i < 32; i++) digest[i] = (uint8_t)(sum->state[i / 4] >> (24 - 8 * (i % 4)));
}

er_hex er_hex_of(const uint8_t digest[32])
{
    static const char digits[] = "0123456789abcdef";
    er_hex hex;
    for (int i = 0; i < 32; i++) {
        hex.at[2 * i] = digits[digest[i] >> 4];
        hex.at[2 * i + 1] = digits[digest[i] & 15];
    }
    return hex;
}

er_hex er_sha256_of(const void *bytes, size_t length)
{
    er_sha256 sum;
    uint8_t digest[32];
    er_sha256_begin(&sum);
    er_sha256_add(&sum, bytes, length);
    er_sha256_end(&sum, digest);
    return er_hex_of(digest);
}
