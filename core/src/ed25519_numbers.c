#include "ed25519_numbers.h"

static inline int bits_of(int limb) { return limb % 2 ? 25 : 26; }

/* Limbs of any size below 2^62, made small. */
static void carry(er_number *n, int64_t h[10])
{
    for (int round = 0; round < 2; round++)
        for (int i = 0; i < 10; i++) {
            const int64_t over = (h[i] + ((int64_t)1 << (bits_of(i) - 1))) >> bits_of(i);
            h[i] -= over * ((int64_t)1 << bits_of(i));
            h[i == 9 ? 0 : i + 1] += i == 9 ? 19 * over : over;
        }
    for (int i = 0; i < 10; i++) n->at[i] = (int32_t)h[i];
}

void er_number_multiply(er_number *n, const er_number *a, const er_number *b)
{
    int64_t all[20] = {0};
    for (int i = 0; i < 10; i++) {
        const int64_t even = a->at[i], odd = i % 2 ? 2 * even : even; /* two limbs of 25 bits stand half a bit too low each */
        for (int j = 0; j < 10; j += 2) {
            all[i + j] += even * b->at[j];
            all[i + j + 1] += odd * b->at[j + 1];
        }
    }
    for (int i = 0; i < 10; i++) all[i] += 19 * all[i + 10];
    carry(n, all);
}

void er_number_square(er_number *n, const er_number *a, int times)
{
    for (*n = *a; times > 0; times--) er_number_multiply(n, n, n);
}

void er_number_add(er_number *n, const er_number *a, const er_number *b)
{
    for (int i = 0; i < 10; i++) n->at[i] = a->at[i] + b->at[i];
}

void er_number_subtract(er_number *n, const er_number *a, const er_number *b)
{
    for (int i = 0; i < 10; i++) n->at[i] = a->at[i] - b->at[i];
}

void er_number_of(er_number *n, const uint8_t bytes[32])
{
    int64_t h[10] = {0};
    for (int i = 0, bit = 0; i < 10; bit += bits_of(i++))
        for (int k = 0; k < bits_of(i); k++) h[i] |= (int64_t)(bytes[(bit + k) / 8] >> (bit + k) % 8 & 1) << k;
    carry(n, h);
}

void er_number_bytes(const er_number *given, uint8_t bytes[32])
{
    int64_t h[10], times, over;
    er_number n;
    for (int i = 0; i < 10; i++) h[i] = given->at[i];
    carry(&n, h);
    times = (19 * (int64_t)n.at[9] + (1 << 24)) >> 25; /* how often the prime is in it: -1, 0 or 1 */
    for (int i = 0; i < 10; i++) times = (n.at[i] + times) >> bits_of(i);
    over = 19 * times;
    memset(bytes, 0, 32);
    for (int i = 0, bit = 0; i < 10; bit += bits_of(i++)) {
        const int64_t limb = n.at[i] + over;
        over = limb >> bits_of(i);
        for (int k = 0; k < bits_of(i); k++) bytes[(bit + k) / 8] |= (uint8_t)((limb >> k & 1) << (bit + k) % 8);
    }
}

void er_number_powers(er_number *most, er_number *eleventh, const er_number *a)
{
    /* Exponents of ones alone, each behind itself: of 5, 10, 20, 40, 50, 100, 200 and 250 bits. */
    er_number second, n, p5, p10, p50;
    er_number_square(&second, a, 1);
    er_number_square(&n, &second, 2);
    er_number_multiply(&n, &n, a);
    er_number_multiply(eleventh, &n, &second);
    er_number_square(&p5, eleventh, 1);
    er_number_multiply(&p5, &p5, &n);
    er_number_square(&p10, &p5, 5);
    er_number_multiply(&p10, &p10, &p5);
    er_number_square(&n, &p10, 10);
    er_number_multiply(&p50, &n, &p10);
    er_number_square(&n, &p50, 20);
    er_number_multiply(&n, &n, &p50);
    er_number_square(&n, &n, 10);
    er_number_multiply(&p50, &n, &p10);
    er_number_square(&n, &p50, 50);
    er_number_multiply(&p10, &n, &p50);
    er_number_square(&n, &p10, 100);
    er_number_multiply(&n, &n, &p10);
    er_number_square(&n, &n, 50);
    er_number_multiply(most, &n, &p50);
}
