/* A transformer that reads texts: edgeret_transform gives the vectors of their tokens, as CompiledEncoder
   (encoders/compiled.py) wants them; edgeret_pack arranges a product's weights for it.

   Weights are whole numbers of 7 or 8 bits. Activations become bytes row by row, each row by a scale and a zero of its
   own, so that no token's rounding depends on another's, nor a text's on those beside it, nor on how many workers share
   them. Sums of bytes are exact, in every set of instructions the same. Knows nothing of Python. */

#include "transformer.h"

#include <sched.h>

enum { MOST_WAITS = 2000 }; /* looks at what others do, before the CPU is left to somebody else */

/* The numbers of sets, as in compiled.py. */
enum { GENERIC, AVX2, AVX_VNNI, AVX512, AVX512_VNNI, ARM64_DOTPROD, SETS };

/* No function: one outside a set of instructions cannot be handed such vectors. */
#define EITHER(where, yes, no) ((Numbers)(((Wholes)(yes) & (where)) | ((Wholes)(no) & ~(where))))

/* So many floats of a room, of which some are used already; NULL while nobody has the room yet. */
static float *claim(float *room, int64_t *used, int64_t floats)
{
    float *found = room ? room + *used : NULL;
    *used += (floats + 15) & ~(int64_t)15;
    return found;
}

/* Places all that a reading keeps in a room that begins at a multiple of 64 bytes; gives how many floats that takes. */
static int64_t furnish(Reading *job, float *room)
{
    int64_t used = 0;
    const Transformer *of = job->of;
    const int64_t hidden = of->hidden, size = hidden / of->heads, phases = 2 * of->count + 1;
    const int64_t across = (job->longest + 15) & ~(int64_t)15, block = job->block;
    int64_t widest = hidden;
    for (int64_t l = 0; l < of->count; l++)
        if (of->layers[l].wide.columns > widest) widest = of->layers[l].wide.columns;
    job->taken = (_Atomic int64_t *)claim(room, &used, 4 * phases);
    job->done = room ? job->taken + phases : NULL;
    job->together = claim(room, &used, 3 * job->count * hidden);
    job->attended = claim(room, &used, job->count * hidden);
    for (int64_t w = 0; w < job->workers; w++) {
        Desk *desk = &job->desks[w];
        desk->wide = claim(room, &used, block * widest);
        desk->next = claim(room, &used, block * hidden);
        desk->other = claim(room, &used, block * hidden);
        desk->keys = claim(room, &used, across * (size + 4));
        desk->scales = claim(room, &used, block);
        desk->zeros = (int32_t *)claim(room, &used, block);
        desk->bytes = (uint8_t *)claim(room, &used, (block * widest + 3) / 4);
    }
    return used;
}

/* Tokens that are worth a worker's while: of fewer, all would spend their time fetching the same weights. */
enum { LEAST_SHARED = 4 };

static Reading plan(const Transformer *of, int64_t count, int64_t longest, int64_t workers)
{
    const int64_t most = count / LEAST_SHARED < MOST_WORKERS ? count / LEAST_SHARED : MOST_WORKERS;
    const int64_t used = workers < most ? workers : most > 1 ? most : 1;
    return (Reading){.of = of, .count = count, .longest = longest, .workers = used, .block = (count + used - 1) / used};
}

/* Everywhere: what the compiler makes of it. */
#define SET generic
#define OFFSET 0
#define WIDTH 4
#define ACROSS 4
#define DOWN 4
typedef struct {
    int32_t each[WIDTH];
} Four;
#define Whole Four
INLINE Whole NAME(zero)(void) { return (Whole){{0}}; }
INLINE Whole NAME(load)(const int8_t *at)
{
    Whole found;
    memcpy(&found, at, sizeof found);
    return found;
}
INLINE Whole NAME(spread)(const uint8_t *at)
{
    Whole found;
    for (int i = 0; i < WIDTH; i++) memcpy(found.each + i, at, 4);
    return found;
}
INLINE Whole NAME(add_products)(Whole sum, Whole row, Whole weights)
{
    const uint8_t *bytes = (const uint8_t *)row.each;
    const int8_t *by = (const int8_t *)weights.each;
    for (int i = 0; i < 4 * WIDTH; i++) sum.each[i / 4] += bytes[i] * by[i];
    return sum;
}
INLINE void NAME(store)(int32_t *at, Whole sums) { memcpy(at, &sums, sizeof sums); }
#include "transformer_body.h"

#if defined(__x86_64__)
#include <immintrin.h>

/* The bytes of a row four at a time, as one whole number. */
INLINE int32_t four(const uint8_t *at)
{
    int32_t found;
    memcpy(&found, at, sizeof found);
    return found;
}

/* What registers of so many bits have in common, whatever multiplies. */
#define MOVES(bits)                                                                                          \
    INLINE Whole NAME(zero)(void) { return _mm##bits##_setzero_si##bits(); }                                 \
    INLINE Whole NAME(load)(const int8_t *at) { return _mm##bits##_loadu_si##bits((const void *)at); }       \
    INLINE Whole NAME(spread)(const uint8_t *at) { return _mm##bits##_set1_epi32(four(at)); }                \
    INLINE void NAME(store)(int32_t *at, Whole sums) { _mm##bits##_storeu_si##bits((void *)at, sums); }

BEGIN("avx2,fma")
#define SET avx2
#define OFFSET 0
#define Whole __m256i
#define WIDTH 8
#define ACROSS 2
#define DOWN 6
MOVES(256)
/* Two products add up in 16 bits, which weights of 7 bits never fill. */
INLINE Whole NAME(add_products)(Whole sum, Whole row, Whole weights)
{
    return _mm256_add_epi32(sum, _mm256_madd_epi16(_mm256_maddubs_epi16(row, weights), _mm256_set1_epi16(1)));
}
#include "transformer_body.h"
END

#if defined(__clang__) || __GNUC__ >= 11
#define HAS_AVX_VNNI
BEGIN("avx2,fma,avxvnni")
#define SET avx_vnni
#define OFFSET 0
#define Whole __m256i
#define WIDTH 8
#define ACROSS 2
#define DOWN 6
MOVES(256)
INLINE Whole NAME(add_products)(Whole sum, Whole row, Whole weights)
{
    return _mm256_dpbusd_avx_epi32(sum, row, weights);
}
#include "transformer_body.h"
END
#endif

BEGIN("avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")
#define SET avx512
#define OFFSET 0
#define Whole __m512i
#define WIDTH 16
#define ACROSS 4
#define DOWN 6
MOVES(512)
INLINE Whole NAME(add_products)(Whole sum, Whole row, Whole weights) /* as with AVX2 */
{
    return _mm512_add_epi32(sum, _mm512_madd_epi16(_mm512_maddubs_epi16(row, weights), _mm512_set1_epi16(1)));
}
#include "transformer_body.h"
END

BEGIN("avx512f,avx512bw,avx512dq,avx512vl,avx512vnni,avx2,fma")
#define SET avx512_vnni
#define OFFSET 0
#define Whole __m512i
#define WIDTH 16
#define ACROSS 4
#define DOWN 6
MOVES(512)
INLINE Whole NAME(add_products)(Whole sum, Whole row, Whole weights) { return _mm512_dpbusd_epi32(sum, row, weights); }
#include "transformer_body.h"
END
#endif

#if defined(__aarch64__)
#include <arm_neon.h>

/* Bytes with a sign alone are multiplied here, so a row's are 128 less. */
#define OFFSET 128
#define Whole int32x4_t
#define WIDTH 4
#define ACROSS 4
#define DOWN 4
#if defined(__clang__)
BEGIN("dotprod")
#else
BEGIN("arch=armv8.2-a+dotprod")
#endif
#define SET arm64_dotprod
INLINE Whole NAME(zero)(void) { return vdupq_n_s32(0); }
INLINE Whole NAME(load)(const int8_t *at) { return vreinterpretq_s32_s8(vld1q_s8(at)); }
INLINE Whole NAME(spread)(const uint8_t *at)
{
    int32_t four;
    memcpy(&four, at, sizeof four);
    return veorq_s32(vdupq_n_s32(four), vreinterpretq_s32_u8(vdupq_n_u8(128)));
}
INLINE Whole NAME(add_products)(Whole sum, Whole row, Whole weights)
{
    return vdotq_s32(sum, vreinterpretq_s8_s32(row), vreinterpretq_s8_s32(weights));
}
INLINE void NAME(store)(int32_t *at, Whole sums) { vst1q_s32(at, sums); }
#include "transformer_body.h"
END
#endif

static const struct {
    Work *run;
    int64_t panel;
} SETS_HERE[SETS] = {
    [GENERIC] = {run_generic, 16},
#if defined(__x86_64__)
    [AVX2] = {run_avx2, 16},
#if defined(HAS_AVX_VNNI)
    [AVX_VNNI] = {run_avx_vnni, 16},
#endif
    [AVX512] = {run_avx512, 64},
    [AVX512_VNNI] = {run_avx512_vnni, 64},
#elif defined(__aarch64__)
    [ARM64_DOTPROD] = {run_arm64_dotprod, 16},
#endif
};

/* How many columns of weights a set of instructions takes at a time; 0 if this library was made without it. */
PUBLIC int64_t edgeret_panel(int64_t set) { return set >= 0 && set < SETS ? SETS_HERE[set].panel : 0; }

/* Weights (rows, columns), arranged as they are read: panel after panel of columns, of each four rows of every column;
   and the `sums` of their columns. Gives the largest weight without its sign. */
PUBLIC int64_t edgeret_pack(const int8_t *weights, int64_t rows, int64_t columns, int64_t panel, int8_t *packed,
                            int32_t *sums)
{
    int32_t largest = 0;
    memset(sums, 0, (size_t)columns * sizeof *sums);
    for (int64_t k = 0; k < rows; k++)
        for (int64_t c = 0; c < columns; c++) {
            const int32_t weight = weights[k * columns + c], size = weight < 0 ? -weight : weight;
            sums[c] += weight;
            largest = size > largest ? size : largest;
        }
    for (int64_t c = 0; c < columns; c += panel)
        for (int64_t k = 0; k < rows; k += 4)
            for (int64_t i = 0; i < panel; i++)
                for (int64_t j = 0; j < 4; j++) *packed++ = weights[(k + j) * columns + c + i];
    return largest;
}

/* How many floats are needed to read so many tokens, of texts of up to `longest` each. They may begin anywhere. */
PUBLIC int64_t edgeret_room(const Transformer *of, int64_t count, int64_t longest, int64_t workers)
{
    Reading job = plan(of, count, longest, workers);
    return furnish(&job, NULL) + 16;
}

/* A text's vector (hidden,), of its tokens' (count, hidden): its first token's, or their mean, as a unit vector where that
   is asked for. Whether all numbers are finite. */
static int pool(const float *tokens, int64_t count, int64_t hidden, int64_t first, int64_t unit, float *vector)
{
    float all = 0.0f, squared = 0.0f;
    memset(vector, 0, (size_t)hidden * sizeof *vector);
    for (int64_t t = 0; t < count; t++)
        for (int64_t i = 0; i < hidden; i++) {
            const float x = tokens[t * hidden + i];
            all += x * x;
            if (!t || !first) vector[i] += x;
        }
    if (!first)
        for (int64_t i = 0; i < hidden; i++) vector[i] /= (float)count;
    for (int64_t i = 0; i < hidden; i++) squared += vector[i] * vector[i];
    const float length = sqrtf(squared > 1e-24f ? squared : 1e-24f);
    if (unit)
        for (int64_t i = 0; i < hidden; i++) vector[i] /= length;
    return isfinite(all) && isfinite(squared);
}

/* The vectors of all tokens (count, hidden) of texts, by the tokens' numbers, and those of the texts (texts, hidden), as
   `pool` makes them. Text i ends before token `ends[i]`; up to `workers` CPUs share the work. 0; 1 for a number that no
   token has, an empty text or one that is too long; 2 for vectors with numbers that are none. */
PUBLIC int64_t edgeret_transform(const Transformer *of, int64_t set, const int64_t *ids, const int64_t *ends,
                                 int64_t texts, int64_t workers, int64_t first, int64_t unit, float *room,
                                 float *tokens, float *vectors)
{
    int64_t longest = 0, start = 0;
    for (int64_t i = 0; i < texts; start = ends[i++]) {
        const int64_t length = ends[i] - start;
        if (length < 1 || length > of->positions) return 1;
        longest = length > longest ? length : longest;
    }
    if (texts < 1 || !edgeret_panel(set)) return 1;
    for (int64_t t = 0; t < start; t++)
        if (ids[t] < 0 || ids[t] >= of->tokens) return 1;
    Reading job = plan(of, start, longest, workers);
    job.ids = ids;
    job.ends = ends;
    job.texts = texts;
    job.tokens = tokens;
    furnish(&job, (float *)(((uintptr_t)room + 63) & ~(uintptr_t)63));
    for (int64_t i = 0; i < 2 * (2 * of->count + 1); i++) atomic_init(job.taken + i, 0);
    edgeret_share(SETS_HERE[set].run, &job, job.workers);
    int fine = 1;
    start = 0;
    for (int64_t i = 0; i < texts; start = ends[i++])
        fine &= pool(tokens + start * of->hidden, ends[i] - start, of->hidden, first, unit, vectors + i * of->hidden);
    return fine ? 0 : 2;
}
