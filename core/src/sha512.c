#include "sha512.h"

static const uint64_t CONSTANTS[80] = {
    0x428a2f98d728ae22, 0x7137449123ef65cd, 0xb5c0fbcfec4d3b2f, 0xe9b5dba58189dbbc, 0x3956c25bf348b538,
    0x59f111f1b605d019, 0x923f82a4af194f9b, 0xab1c5ed5da6d8118, 0xd807aa98a3030242, 0x12835b0145706fbe,
    0x243185be4ee4b28c, 0x550c7dc3d5ffb4e2, 0x72be5d74f27b896f, 0x80deb1fe3b1696b1, 0x9bdc06a725c71235,
    0xc19bf174cf692694, 0xe49b69c19ef14ad2, 0xefbe4786384f25e3, 0x0fc19dc68b8cd5b5, 0x240ca1cc77ac9c65,
    0x2de92c6f592b0275, 0x4a7484aa6ea6e483, 0x5cb0a9dcbd41fbd4, 0x76f988da831153b5, 0x983e5152ee66dfab,
    0xa831c66d2db43210, 0xb00327c898fb213f, 0xbf597fc7beef0ee4, 0xc6e00bf33da88fc2, 0xd5a79147930aa725,
    0x06ca6351e003826f, 0x142929670a0e6e70, 0x27b70a8546d22ffc, 0x2e1b21385c26c926, 0x4d2c6dfc5ac42aed,
    0x53380d139d95b3df, 0x650a73548baf63de, 0x766a0abb3c77b2a8, 0x81c2c92e47edaee6, 0x92722c851482353b,
    0xa2bfe8a14cf10364, 0xa81a664bbc423001, 0xc24b8b70d0f89791, 0xc76c51a30654be30, 0xd192e819d6ef5218,
    0xd69906245565a910, 0xf40e35855771202a, 0x106aa07032bbd1b8, 0x19a4c116b8d2d0c8, 0x1e376c085141ab53,
    0x2748774cdf8eeb99, 0x34b0bcb5e19b48a8, 0x391c0cb3c5c95a63, 0x4ed8aa4ae3418acb, 0x5b9cca4f7763e373,
    0x682e6ff3d6b2b8a3, 0x748f82ee5defb2fc, 0x78a5636f43172f60, 0x84c87814a1f0ab72, 0x8cc702081a6439ec,
    0x90befffa23631e28, 0xa4506cebde82bde9, 0xbef9a3f7b2c67915, 0xc67178f2e372532b, 0xca273eceea26619c,
    0xd186b8c721c0c207, 0xeada7dd6cde0eb1e, 0xf57d4f7fee6ed178, 0x06f067aa72176fba, 0x0a637dc5a2c898a6,
    0x113f9804bef90dae, 0x1b710b35131c471b, 0x28db77f523047d84, 0x32caab7b40c72493, 0x3c9ebe0a15c9bebc,
    0x431d67c49c100d4c, 0x4cc5d4becb3e42b6, 0x597f299cfc657e2a, 0x5fcb6fab3ad6faec, 0x6c44198c4a475817,
};

static inline uint64_t turn(uint64_t x, int by) { return x >> by | x << (64 - by); }

static uint64_t word_at(const uint8_t *at)
{
    uint64_t value = 0;
    for (int i = 0; i < 8; i++) value = value << 8 | at[i];
    return value;
}

static void take_block(uint64_t state[8], const uint8_t *block)
{
    uint64_t w[16], s[8];
    memcpy(s, state, sizeof s);
    for (int t = 0; t < 80; t++) {
        if (t < 16) {
            w[t] = word_at(block + 8 * t);
        } else {
            const uint64_t early = w[(t + 1) & 15], late = w[(t + 14) & 15];
            w[t & 15] += (turn(early, 1) ^ turn(early, 8) ^ early >> 7) + w[(t + 9) & 15] + (turn(late, 19) ^ turn(late, 61) ^ late >> 6);
        }
        const uint64_t chosen = (s[4] & s[5]) ^ (~s[4] & s[6]), most = (s[0] & s[1]) ^ (s[0] & s[2]) ^ (s[1] & s[2]);
        const uint64_t one = s[7] + (turn(s[4], 14) ^ turn(s[4], 18) ^ turn(s[4], 41)) + chosen + CONSTANTS[t] + w[t & 15];
        const uint64_t two = (turn(s[0], 28) ^ turn(s[0], 34) ^ turn(s[0], 39)) + most;
        memmove(s + 1, s, 7 * sizeof *s);
        s[4] += one;
        s[0] = one + two;
    }
    for (int i = 0; i < 8; i++) state[i] += s[i];
}

void er_sha512_begin(er_sha512 *sum)
{
    static const uint64_t first[8] = {
        0x6a09e667f3bcc908, 0xbb67ae8584caa73b, 0x3c6ef372fe94f82b, 0xa54ff53a5f1d36f1, 0x510e527fade682d1,
        0x9b05688c2b3e6c1f, 0x1f83d9abfb41bd6b, 0x5be0cd19137e2179,
    };
    memset(sum, 0, sizeof *sum);
    memcpy(sum->state, first, sizeof first);
}

void er_sha512_add(er_sha512 *sum, const void *bytes, size_t length)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < length; i++) {
        sum->rest[sum->length++ % sizeof sum->rest] = at[i];
        if (sum->length % sizeof sum->rest == 0) take_block(sum->state, sum->rest);
    }
}

void er_sha512_end(er_sha512 *sum, uint8_t digest[64])
{
    static const uint8_t padding[128] = {0x80};
    uint8_t bits[16] = {0};
    for (int i = 0; i < 9; i++) bits[15 - i] = (uint8_t)(i < 8 ? sum->length << 3 >> 8 * i : sum->length >> 61);
    er_sha512_add(sum, padding, (239 - sum->length % 128) % 128 + 1);
    er_sha512_add(sum, bits, sizeof bits);
    for (int i = 0; i < 64; i++) digest[i] = (uint8_t)(sum->state[i / 8] >> (56 - 8 * (i % 8)));
}
