/* What all other files here share. */

#ifndef EDGERET_ARITHMETIC_H
#define EDGERET_ARITHMETIC_H

#include <math.h>
#include <stdint.h>

#if defined(_WIN32)
#define PUBLIC __declspec(dllexport)
#else
#define PUBLIC __attribute__((visibility("default")))
#endif

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

/* As Python has them of ASCII. */
static inline int is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r') || (c >= 0x1c && c <= 0x1f); }
static inline char lower(char c) { return c >= 'A' && c <= 'Z' ? (char)(c + 32) : c; }

/* e^x to within 2e-7 of itself, for many x at once: a library's expf takes them one by one. NaN stays NaN. */
static inline float exponential(float x)
{
    x = x < -87.0f ? -87.0f : x;
    x = x > 88.0f ? 88.0f : x;
    const float shifted = x * 1.44269504f + 12582912.0f; /* 1.5 * 2^23: the nearest whole number in its last bits */
    const float whole = shifted - 12582912.0f;
    const float r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
    float p = 1.9875691500e-4f;
    p = p * r + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = p * r * r + r + 1.0f;
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

/* Which labels have a row of the increments: `at` by label + 1, -1 for none. Of their history, the first `counts` rows
   are for how many calls were made, then come two of every row: for a label that was called, and for the last one. */
typedef struct {
    const int64_t *at;
    int64_t length, counts;
} Rows;

static inline int64_t row_of(const Rows *rows, int64_t label)
{
    return label + 1 < rows->length ? rows->at[label + 1] : -1;
}

/* A plan, walked from its first step on: its labels, how many were called so far, and which calls were a label's first. */
typedef struct {
    const int64_t *targets;
    int64_t made, distinct, *first; /* room for as many as there are steps */
} Walk;

static inline void walk_on(Walk *walk)
{
    int64_t i = 0;
    while (i < walk->distinct && walk->targets[walk->first[i]] != walk->targets[walk->made]) i++;
    if (i == walk->distinct) walk->first[walk->distinct++] = walk->made;
    walk->made++;
}

/* Lists the rows of the history that the next step adds, at most made + 2; how many. As Increments.features. */
static inline int64_t list_features(const Walk *walk, const Rows *rows, int64_t *found)
{
    int64_t row, listed = 0;
    found[listed++] = walk->made < rows->counts ? walk->made : rows->counts - 1;
    for (int64_t i = 0; i < walk->distinct; i++)
        if ((row = row_of(rows, walk->targets[walk->first[i]])) >= 0) found[listed++] = rows->counts + 2 * row;
    if (walk->made && (row = row_of(rows, walk->targets[walk->made - 1])) >= 0)
        found[listed++] = rows->counts + 2 * row + 1;
    return listed;
}

#endif
