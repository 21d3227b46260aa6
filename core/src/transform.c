/* As it always was compiled: a product and a sum are one operation where the CPU has it, which -std=c11 would forbid, and
   rounding to bytes makes much of a last bit. */
#if !defined(__clang__)
#pragma GCC optimize("O3", "fp-contract=fast", "no-math-errno", "no-trapping-math")
#endif

/* A transformer that reads texts: er_transform_texts gives the vectors of their tokens; er_pack_weights arranges a product's
   weights for it.

   Weights are whole numbers of 7 or 8 bits. Activations become bytes row by row, each row by a scale and a zero of its
   own, so that no token's rounding depends on another's, nor a text's on those beside it, nor on how many workers share
   them. Sums of bytes are exact, in every set of instructions the same. */

#include "transform.h"

#include "argument_head.h"
#include "cpu.h"

enum { PATIENCE = 200 }; /* looks at a part that another has begun, before it is done here, too */

/* A moment for the other thread of this CPU's core. */
#if defined(__x86_64__)
#define REST() __builtin_ia32_pause()
#elif defined(__aarch64__)
#define REST() __asm__ volatile("yield")
#else
#define REST() ((void)0)
#endif

/* A register's numbers, whole numbers and bytes. Wider vectors, which gcc would take apart through memory, are none. */
#define VECTORS(width)                                                                               \
    typedef float Numbers_##width __attribute__((vector_size(4 * width), aligned(4), may_alias));    \
    typedef int32_t Wholes_##width __attribute__((vector_size(4 * width), aligned(4), may_alias));   \
    typedef uint8_t Bytes_##width __attribute__((vector_size(width), aligned(1), may_alias));
VECTORS(4)
VECTORS(8)
VECTORS(16)
#define Numbers JOINED(Numbers, WIDTH)
#define Wholes JOINED(Wholes, WIDTH)
#define Bytes JOINED(Bytes, WIDTH)
#define NUMBERS(at) (*(Numbers *)(at))
#define WHOLES(at) (*(Wholes *)(at))

/* No function: one outside a set of instructions cannot be handed such vectors. */
#define EITHER(where, yes, no) ((Numbers)(((Wholes)(yes) & (where)) | ((Wholes)(no) & ~(where))))

/* x where it is less, or greater, than y; else y, as where one is no number: what these CPUs have an instruction for. */
#if defined(__SSE2__)
#include <immintrin.h>
#define LESSER(x, y) ((Numbers)JOINED(MIN, WIDTH)(x, y))
#define GREATER(x, y) ((Numbers)JOINED(MAX, WIDTH)(x, y))
#define MIN_4(x, y) _mm_min_ps((__m128)(x), (__m128)(y))
#define MAX_4(x, y) _mm_max_ps((__m128)(x), (__m128)(y))
#define MIN_8(x, y) _mm256_min_ps((__m256)(x), (__m256)(y))
#define MAX_8(x, y) _mm256_max_ps((__m256)(x), (__m256)(y))
#define MIN_16(x, y) _mm512_min_ps((__m512)(x), (__m512)(y))
#define MAX_16(x, y) _mm512_max_ps((__m512)(x), (__m512)(y))
#else
#define LESSER(x, y) EITHER((x) < (y), x, y)
#define GREATER(x, y) EITHER((x) > (y), x, y)
#endif

/* Of loops whose sums must stay in registers, wherever else code is made small. */
#define UNROLLED PRAGMA(GCC unroll 8)

/* The largest of 16 numbers. */
INLINE float most_of(const float *of)
{
    Numbers_4 most = *(const Numbers_4 *)of;
    UNROLLED for (int k = 4; k < 16; k += 4) {
        const Numbers_4 x = *(const Numbers_4 *)(of + k);
        most = (Numbers_4)(((Wholes_4)x & (x > most)) | ((Wholes_4)most & ~(x > most)));
    }
    const float a = most[0] > most[1] ? most[0] : most[1], b = most[2] > most[3] ? most[2] : most[3];
    return a > b ? a : b;
}

/* Rows are read sixteen numbers at a time, whatever a register holds, so that sums are the same in all sets. */
#define PARTS (16 / WIDTH)
#define EACH(p) UNROLLED for (int p = 0; p < PARTS; p++)

static const int32_t PLACE[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15}; /* of a register's numbers */

/* So many bytes of a room, of which some are used already; NULL while nobody has the room yet. */
static void *claim(char *room, size_t *used, int64_t count, size_t size)
{
    void *found = room ? room + *used : NULL;
    *used += ((size_t)count * size + 63) & ~(size_t)63;
    return found;
}

static int64_t phases(const Transformer *of) { return 2 * of->count + 1; }

/* Places all that a reading keeps in a room that begins at a multiple of 64 bytes; gives how many bytes that takes. */
static size_t furnish(Reading *job, char *room)
{
    size_t used = 0;
    const Transformer *of = job->of;
    const int64_t hidden = of->hidden, size = hidden / of->heads;
    const int64_t across = (job->longest + 15) & ~(int64_t)15, count = job->count, block = job->block;
    int64_t widest = hidden;
    for (int64_t l = 0; l < of->count; l++)
        if (of->layers[l].wide.columns > widest) widest = of->layers[l].wide.columns;
    claim(room, &used, 1, sizeof *job); /* itself */
    job->taken = claim(room, &used, phases(of), sizeof *job->taken);
    job->makers = claim(room, &used, phases(of) * job->parts, sizeof *job->makers);
    job->ids = claim(room, &used, count, sizeof *job->ids);
    job->ends = claim(room, &used, job->texts, sizeof *job->ends);
    for (int64_t w = 0; w < job->workers; w++) {
        Desk *desk = &job->desks[w];
        desk->levels = 255.0f;
        for (int i = 0; i < 2; i++) desk->tokens[i] = claim(room, &used, count * hidden, sizeof(float));
        desk->together = claim(room, &used, 3 * count * hidden, sizeof(float));
        desk->attended = claim(room, &used, count * hidden, sizeof(float));
        desk->wide = claim(room, &used, block * widest, sizeof(float));
        desk->next = claim(room, &used, block * hidden, sizeof(float));
        desk->other = claim(room, &used, block * hidden, sizeof(float));
        desk->keys = claim(room, &used, across * (3 * size + 8), sizeof(float));
        desk->scales = claim(room, &used, block, sizeof(float));
        desk->zeros = claim(room, &used, block, sizeof(int32_t));
        desk->bytes = claim(room, &used, block * widest, 1);
    }
    return used;
}

/* Where in a room a reading is. */
static Reading *reading_in(float *room) { return (Reading *)(((uintptr_t)room + 63) & ~(uintptr_t)63); }

static Maker *maker(const Reading *job, int64_t phase, int64_t part) { return job->makers + phase * job->parts + part; }

/* The desk of whoever made a part; only of parts that are made. */
static const Desk *made_at(const Reading *job, int64_t phase, int64_t part)
{
    return job->desks + atomic_load_explicit(maker(job, phase, part), memory_order_relaxed) - 1;
}

/* Tokens that are worth a worker's while: of fewer, all would spend their time fetching the same weights. */
enum { LEAST_SHARED = 4 };

static Reading plan(const Transformer *of, int64_t texts, int64_t count, int64_t longest, int64_t workers)
{
    const int64_t most = count / LEAST_SHARED < MOST_WORKERS ? count / LEAST_SHARED : MOST_WORKERS;
    const int64_t used = workers < most ? workers : most > 1 ? most : 1;
    const int64_t heads = texts * of->heads;
    return (Reading){.of = of, .texts = texts, .count = count, .longest = longest, .workers = used,
                     .block = (count + used - 1) / used, .parts = heads > used ? heads : used};
}

/* The bytes of a row four at a time, as one whole number. */
INLINE int32_t four(const uint8_t *at)
{
    int32_t found;
    memcpy(&found, at, sizeof found);
    return found;
}

/* Everywhere: what the compiler makes of it. */
#define SET generic
#define OFFSET 0
#define WIDTH 4
#define ACROSS 4
#define DOWN 4
#if defined(__wasm_simd128__)
#include <wasm_simd128.h>
#define Whole v128_t
INLINE Whole NAME(zero)(void) { return wasm_i32x4_splat(0); }
INLINE Whole NAME(load)(const int8_t *at) { return wasm_v128_load(at); }
INLINE Whole NAME(spread)(const uint8_t *at) { return wasm_v128_load32_splat(at); }
INLINE Whole NAME(add_products)(Whole sum, Whole row, Whole weights)
{
    const v128_t low = wasm_i32x4_dot_i16x8(wasm_u16x8_extend_low_u8x16(row), wasm_i16x8_extend_low_i8x16(weights));
    const v128_t high = wasm_i32x4_dot_i16x8(wasm_u16x8_extend_high_u8x16(row), wasm_i16x8_extend_high_i8x16(weights));
    /* Two sums a column, side by side. */
    return wasm_i32x4_add(sum, wasm_i32x4_add(wasm_i32x4_shuffle(low, high, 0, 2, 4, 6), wasm_i32x4_shuffle(low, high, 1, 3, 5, 7)));
}
INLINE void NAME(store)(int32_t *at, Whole sums) { wasm_v128_store(at, sums); }
#elif defined(__SSE2__)
#include <emmintrin.h>
#define Whole __m128i
INLINE Whole NAME(zero)(void) { return _mm_setzero_si128(); }
INLINE Whole NAME(load)(const int8_t *at) { return _mm_loadu_si128((const void *)at); }
INLINE Whole NAME(spread)(const uint8_t *at) { return _mm_set1_epi32(four(at)); }
INLINE Whole NAME(add_products)(Whole sum, Whole row, Whole weights)
{
    const __m128i none = _mm_setzero_si128();
    const __m128i low = _mm_srai_epi16(_mm_unpacklo_epi8(none, weights), 8);
    const __m128i high = _mm_srai_epi16(_mm_unpackhi_epi8(none, weights), 8);
    /* Two sums a column, side by side. */
    const __m128 left = _mm_castsi128_ps(_mm_madd_epi16(_mm_unpacklo_epi8(row, none), low));
    const __m128 right = _mm_castsi128_ps(_mm_madd_epi16(_mm_unpackhi_epi8(row, none), high));
    const __m128i even = _mm_castps_si128(_mm_shuffle_ps(left, right, 0x88));
    return _mm_add_epi32(sum, _mm_add_epi32(even, _mm_castps_si128(_mm_shuffle_ps(left, right, 0xdd))));
}
INLINE void NAME(store)(int32_t *at, Whole sums) { _mm_storeu_si128((void *)at, sums); }
#else
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
    for (int i = 0; i < WIDTH; i++) found.each[i] = four(at);
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
#endif
#include "transform_body.h"
#include "products_body.h"

#if defined(__x86_64__)
#include <immintrin.h>

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
#include "transform_body.h"
#include "products_body.h"
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
#include "products_body.h"
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
#include "transform_body.h"
#include "products_body.h"
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
#include "products_body.h"
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
    return veorq_s32(vdupq_n_s32(four(at)), vreinterpretq_s32_u8(vdupq_n_u8(128)));
}
INLINE Whole NAME(add_products)(Whole sum, Whole row, Whole weights)
{
    return vdotq_s32(sum, vreinterpretq_s8_s32(row), vreinterpretq_s8_s32(weights));
}
INLINE void NAME(store)(int32_t *at, Whole sums) { vst1q_s32(at, sums); }
#include "products_body.h"
END
#endif

#define SET_OF(name, like, panel) \
    {multiply_##name, panel, begin_##like, normalise_##like, attend_##like, gelu_##like, dots_##like, sum_of_powers_##like}

/* What multiplies, and whose other arithmetic goes with it. */
static const Arithmetic SETS_HERE[SETS] = {
    [GENERIC] = SET_OF(generic, generic, 16),
#if defined(__x86_64__)
    [AVX2] = SET_OF(avx2, avx2, 16),
#if defined(HAS_AVX_VNNI)
    [AVX_VNNI] = SET_OF(avx_vnni, avx2, 16),
#endif
    [AVX512] = SET_OF(avx512, avx512, 64),
    [AVX512_VNNI] = SET_OF(avx512_vnni, avx512, 64),
#elif defined(__aarch64__)
    [ARM64_DOTPROD] = SET_OF(arm64_dotprod, generic, 16),
#endif
};

#include "transform_phases.h"

int64_t er_panel(int64_t set) { return set >= 0 && set < SETS ? SETS_HERE[set].panel : 0; }

int64_t er_pack_weights(const int8_t *weights, int64_t rows, int64_t columns, int64_t panel, int8_t *packed, int32_t *sums)
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

int64_t er_transform_room(const Transformer *of, int64_t count, int64_t longest, int64_t workers)
{
    Reading job = plan(of, count, count, longest, workers);
    return (int64_t)(furnish(&job, NULL) / sizeof(float)) + 16;
}

int64_t er_transform_left(float *room, int64_t wait) { return er_gone(reading_in(room), wait); }

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

int64_t er_transform_texts(const Transformer *of, int64_t set, const int64_t *ids, const int64_t *ends, int64_t texts,
                           int64_t workers, int64_t first, int64_t unit, float *room, float *tokens, float *vectors)
{
    int64_t longest = 0, start = 0;
    for (int64_t i = 0; i < texts; start = ends[i++]) {
        const int64_t length = ends[i] - start;
        if (length < 1 || length > of->positions) return 1;
        longest = length > longest ? length : longest;
    }
    if (texts < 1 || !er_panel(set)) return 1;
    for (int64_t t = 0; t < start; t++)
        if (ids[t] < 0 || ids[t] >= of->tokens) return 1;
    Reading planned = plan(of, texts, start, longest, workers), *job = reading_in(room);
    furnish(&planned, (char *)job);
    *job = planned;
    for (int64_t w = 0; w < job->workers; w++) job->desks[w].set = &SETS_HERE[set];
    memcpy(job->ids, ids, (size_t)start * sizeof *ids);
    memcpy(job->ends, ends, (size_t)texts * sizeof *ends);
    for (int64_t i = 0; i < phases(of); i++) atomic_init(job->taken + i, 0);
    for (int64_t i = 0; i < phases(of) * job->parts; i++) atomic_init(job->makers + i, 0);
    const int64_t late = er_share(run_phases, job, job->workers);
    for (int64_t begin = 0; begin < start; begin += job->block) {
        const Desk *desk = made_at(job, 2 * of->count, begin / job->block);
        const int64_t rest = start - begin, count = rest < job->block ? rest : job->block;
        memcpy(tokens + begin * of->hidden, desk->tokens[of->count % 2] + begin * of->hidden,
               (size_t)(count * of->hidden) * sizeof *tokens);
    }
    int fine = 1;
    start = 0;
    for (int64_t i = 0; i < texts; start = ends[i++])
        fine &= pool(tokens + start * of->hidden, ends[i] - start, of->hidden, first, unit, vectors + i * of->hidden);
    return (fine ? 0 : 2) + (late ? 4 : 0);
}

#include "argument_head_body.h"

int64_t er_point_words(const ArgumentHead *of, const float *vectors, int64_t units, int64_t levels, int64_t set, float *room, float *words)
{
    size_t used = 0;
    char *aligned = room ? (char *)(((uintptr_t)room + 63) & ~(uintptr_t)63) : NULL;
    Desk desk = {.set = &SETS_HERE[set], .levels = (float)levels};
    desk.scales = claim(aligned, &used, units, sizeof(float));
    desk.zeros = claim(aligned, &used, units, sizeof(int32_t));
    desk.bytes = claim(aligned, &used, units * of->word.rows, 1);
    if (room) desk.set->multiply(vectors, units, &of->word, &desk, NULL, words);
    return (int64_t)(used / sizeof(float)) + 16;
}

static size_t furnish_call(const ArgumentCall *call, char *room, ArgumentDesk *at)
{
    size_t used = 0;
    const int64_t d = ARG_WIDTH, n = call->units, count = call->parameters, rows = 1 + count + n;
    const int64_t across = (rows + 15) & ~(int64_t)15;
    at->x = claim(room, &used, rows * d, sizeof(float));
    at->next = claim(room, &used, rows * d, sizeof(float));
    at->wide = claim(room, &used, rows * ARG_INNER, sizeof(float));
    at->three = claim(room, &used, rows * 3 * d, sizeof(float));
    at->attended = claim(room, &used, rows * d, sizeof(float));
    at->ask = claim(room, &used, count * 4 * d, sizeof(float));
    at->answer = claim(room, &used, n * 3 * d, sizeof(float));
    at->small = claim(room, &used, count * SMALL, sizeof(float));
    at->line = claim(room, &used, 3 * n + 1, sizeof(float));
    at->desk = (Desk){.levels = (float)call->levels};
    at->desk.keys = claim(room, &used, across * (3 * d / ARG_HEADS + 8), sizeof(float));
    at->desk.scales = claim(room, &used, rows, sizeof(float));
    at->desk.zeros = claim(room, &used, rows, sizeof(int32_t));
    at->desk.bytes = claim(room, &used, rows * 3 * d, 1);
    return used;
}

int64_t er_point(const ArgumentHead *of, const ArgumentCall *call, int64_t set, float *room, const ArgumentShares *found)
{
    ArgumentDesk at;
    char *aligned = room ? (char *)(((uintptr_t)room + 63) & ~(uintptr_t)63) : NULL;
    const int64_t used = (int64_t)(furnish_call(call, aligned, &at) / sizeof(float)) + 16;
    at.desk.set = &SETS_HERE[set];
    if (room) point(of, call, &at, found);
    return used;
}
