#include "vectors.h"

#define JOIN(a, b) a##_##b
#define NAMED(a, b) JOIN(a, b)

#define NAME(x) NAMED(x, plain)
#define WIDE
#include "vectors_body.h"
#undef NAME
#undef WIDE

/* The CPU is asked with every call: that is a load and a branch, and leaves nothing to be set up. A compiler's own
   __builtin_cpu_supports says no to everything in what zig 0.17 links. */
#if defined(__x86_64__) && !defined(__AVX2__)
#define NAME(x) NAMED(x, avx2)
#define WIDE __attribute__((target("avx2,fma")))
#include "vectors_body.h"
#undef NAME
#undef WIDE
extern int64_t edgeret_has_avx2(void); /* kernel_cpu.c */
#define ON_AVX2(call) \
    if (edgeret_has_avx2()) return call
#else
#define ON_AVX2(call) (void)0
#endif

float er_dot(const float *a, const float *b, uint32_t n)
{
    ON_AVX2(dot_avx2(a, b, n));
    return dot_plain(a, b, n);
}

void er_products(const float *rows, uint32_t count, uint32_t n, const float *vector, float *found)
{
    er_many_products(rows, count, n, vector, 1, found);
}

void er_many_products(const float *rows, uint32_t count, uint32_t n, const float *vectors, uint32_t many, float *found)
{
    ON_AVX2(many_avx2(rows, count, n, vectors, many, found));
    many_plain(rows, count, n, vectors, many, found);
}

void er_byte_products(const int8_t *rows, const float *scales, uint32_t count, uint32_t n, const float *vector, float *found)
{
    ON_AVX2(bytes_avx2(rows, scales, count, n, vector, found));
    bytes_plain(rows, scales, count, n, vector, found);
}

float er_whole_numbers(const float *vector, uint32_t n, int16_t *found)
{
    const uint32_t room = INT32_MAX / (128 * n); /* so that sums stay in 32 bits */
    float size = 1e-12f;
    for (uint32_t i = 0; i < n; i++) size = fabsf(vector[i]) > size ? fabsf(vector[i]) : size;
    const float step = size / (float)(room < 32767 ? room : 32767);
    for (uint32_t i = 0; i < n; i++) found[i] = (int16_t)lrintf(vector[i] / step);
    return step;
}

void er_nearest_bytes(
    const int8_t *rows, const float *scales, uint32_t count, uint32_t n, const int16_t *asked, const float *steps, uint32_t many, float *near)
{
    ON_AVX2(nearest_avx2(rows, scales, count, n, asked, steps, many, near));
    nearest_plain(rows, scales, count, n, asked, steps, many, near);
}

void er_add(float *a, float weight, const float *b, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++) a[i] += weight * b[i];
}

double er_length(const float *a, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += (double)a[i] * a[i];
    return sqrt(sum);
}

void er_unit(float *a, uint32_t n, double least)
{
    const double length = er_length(a, n), by = 1.0 / (length > least ? length : least);
    for (uint32_t i = 0; i < n; i++) a[i] = (float)(a[i] * by);
}

float er_largest(const float *values, uint32_t n)
{
    float best = values[0];
    for (uint32_t i = 1; i < n; i++) best = values[i] > best ? values[i] : best;
    return best;
}

uint32_t er_first_largest(const float *values, uint32_t n)
{
    uint32_t best = 0;
    for (uint32_t i = 1; i < n; i++) best = values[i] > values[best] ? i : best;
    return best;
}

void er_log_softmax(float *values, uint32_t n)
{
    const double most = er_largest(values, n);
    double sum = 0;
    for (uint32_t i = 0; i < n; i++) sum += exp(values[i] - most);
    const double by = most + log(sum);
    for (uint32_t i = 0; i < n; i++) values[i] = (float)(values[i] - by);
}
