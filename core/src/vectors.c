#include "vectors.h"

#include "cpu.h"

#define SET plain
#define WIDE
#include "vectors_body.h"
#undef SET
#undef WIDE

/* The CPU is asked with every call: that is a load and a branch, and leaves nothing to be set up. A compiler's own
   __builtin_cpu_supports says no to everything in what zig 0.17 links. */
#if defined(__x86_64__) && !defined(__AVX2__)
#include <immintrin.h>
#define SET avx2
#define WIDE __attribute__((target("avx2,fma")))
/* Of eight rows' pairs of bytes, each with two whole numbers. */
static inline WIDE __m256i pairs_avx2(const int8_t *bytes, const int16_t *asked)
{
    int32_t both;
    memcpy(&both, asked, sizeof both);
    return _mm256_madd_epi16(_mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *)bytes)), _mm256_set1_epi32(both));
}
#define PAIRS(bytes, asked) (NAME(Wholes)) pairs_avx2(bytes, asked)
#include "vectors_body.h"
#undef SET
#undef WIDE
#undef PAIRS
#define ON_AVX2(call) \
    if (er_has_avx2()) return call
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

void er_sum_rows(const int8_t *rows, uint32_t n, const uint32_t *at, const float *values, uint32_t count, float *found)
{
    ON_AVX2(columns_avx2(rows, n, at, values, count, found));
    columns_plain(rows, n, at, values, count, found);
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

void er_bytes_of(const float *rows, uint32_t count, uint32_t n, int8_t *bytes, float *scales, float *errors)
{
    for (uint32_t i = 0; i < count; i++, rows += n) {
        float size = 1e-12f, square = 0;
        for (uint32_t k = 0; k < n; k++) size = fabsf(rows[k]) > size ? fabsf(rows[k]) : size;
        const float scale = size / 127, by = 127 / size;
        int8_t *at = bytes + (size_t)(i / ER_BLOCK) * (n + n % 2) * ER_BLOCK + i % ER_BLOCK * 2;
        for (uint32_t k = 0; k < n; k++) {
            const int32_t whole = (int32_t)lrintf(rows[k] * by);
            const float off = rows[k] - (float)whole * scale;
            at[(size_t)(k / 2) * 2 * ER_BLOCK + k % 2] = (int8_t)whole;
            square += off * off;
        }
        scales[i] = scale;
        errors[i] = sqrtf(square);
    }
}

void er_block_products(const int8_t *bytes, const float *scales, uint32_t blocks, uint32_t n, const int16_t *asked, float step, float *found)
{
    ON_AVX2(paired_avx2(bytes, scales, blocks, (n + 1) / 2, asked, step, found));
    paired_plain(bytes, scales, blocks, (n + 1) / 2, asked, step, found);
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
    double sums[4] = {0, 0, 0, 0}; /* each waits for its own last one */
    uint32_t i = 0;
    for (; i + 4 <= n; i += 4)
        for (uint32_t k = 0; k < 4; k++) sums[k] += (double)a[i + k] * a[i + k];
    for (; i < n; i++) sums[0] += (double)a[i] * a[i];
    return sqrt((sums[0] + sums[1]) + (sums[2] + sums[3]));
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
