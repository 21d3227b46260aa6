/* What loops over numbers share: one source for several sets of instructions, and a few functions of numbers. */

#ifndef ER_ARITHMETIC_H
#define ER_ARITHMETIC_H

#include <math.h>
#include <stdint.h>

/* For what is compiled once for each of several sets of instructions: NAME(x) is x_SET, and BEGIN(features) to END may
   use them. */
#define JOIN(a, b) a##_##b
#define JOINED(a, b) JOIN(a, b)
#define NAME(name) JOINED(name, SET)

#define PRAGMA(of) _Pragma(#of)
#if defined(__clang__)
#define BEGIN(features) PRAGMA(clang attribute push(__attribute__((target(features))), apply_to = function))
#define END PRAGMA(clang attribute pop)
#else
#define BEGIN(features) PRAGMA(GCC push_options) PRAGMA(GCC target(features))
#define END PRAGMA(GCC pop_options)
#endif

/* e^r of an r next to 0, of a number or of a vector of them. */
#define SMALL_POWER(r)                                                                                             \
    ((((((1.9875691500e-4f * (r) + 1.3981999507e-3f) * (r) + 8.3334519073e-3f) * (r) + 4.1665795894e-2f) * (r) +   \
       1.6666665459e-1f) * (r) + 5.0000001201e-1f) * (r) * (r) + (r) + 1.0f)

/* e^x to within 2e-7 of itself, for many x at once: a library's expf takes them one by one. NaN stays NaN. */
static inline float exponential(float x)
{
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    const float shifted = x * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: the nearest whole number in its last bits */
    const float whole = shifted - 12582912.0f;
    const float r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
    const float p = SMALL_POWER(r);
    union { float value; uint32_t bits; } bits = {shifted}, power;
    power.bits = (bits.bits + 127u) << 23;
    return p * power.value;
}

static inline float largest(const float *values, int64_t n)
{
    float best = values[0], bests[8];
    int64_t i = 0;
    for (int64_t k = 0; k < 8; k++) bests[k] = best;
    for (; i + 8 <= n; i += 8) /* eight at once: one would wait for the one before */
        for (int64_t k = 0; k < 8; k++) bests[k] = values[i + k] > bests[k] ? values[i + k] : bests[k];
    for (; i < n; i++) best = values[i] > best ? values[i] : best;
    for (int64_t k = 0; k < 8; k++) best = bests[k] > best ? bests[k] : best;
    return best;
}

static inline float bounded(float value, float bound)
{
    value = value > bound ? bound : value;
    return value < -bound ? -bound : value;
}

#endif
