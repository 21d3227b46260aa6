/* SHA-256 by the instructions that x86 and ARM have for it: some 2 GB a second instead of 0.3. */

#include "sha256.h"

#if defined(__x86_64__) && defined(__GNUC__)

#include <cpuid.h>
#include <immintrin.h>

__attribute__((target("sha,sse4.1,ssse3"))) static void native(uint32_t state[8], const uint8_t *bytes, size_t blocks)
{
    const __m128i order = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);
    __m128i low = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)state), 0xb1);
    __m128i high = _mm_shuffle_epi32(_mm_loadu_si128((const __m128i *)(state + 4)), 0x1b);
    __m128i abef = _mm_alignr_epi8(low, high, 8), cdgh = _mm_blend_epi16(high, low, 0xf0);
    for (; blocks; blocks--, bytes += 64) {
        const __m128i first = abef, second = cdgh;
        __m128i w[4];
        for (int i = 0; i < 4; i++) w[i] = _mm_shuffle_epi8(_mm_loadu_si128((const __m128i *)(bytes + 16 * i)), order);
#pragma GCC unroll 16 /* so that words stay in registers */
        for (int i = 0; i < 16; i++) {
            const __m128i now = w[i & 3];
            __m128i sum = _mm_add_epi32(now, _mm_loadu_si128((const __m128i *)(er_sha256_constants + 4 * i)));
            cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
            sum = _mm_shuffle_epi32(sum, 0x0e);
            abef = _mm_sha256rnds2_epu32(abef, cdgh, sum);
            /* The place of what was used is taken by what comes 16 words later. */
            const __m128i before = w[(i + 3) & 3];
            w[i & 3] = _mm_sha256msg2_epu32(
                _mm_add_epi32(_mm_sha256msg1_epu32(now, w[(i + 1) & 3]), _mm_alignr_epi8(before, w[(i + 2) & 3], 4)), before);
        }
        abef = _mm_add_epi32(abef, first);
        cdgh = _mm_add_epi32(cdgh, second);
    }
    low = _mm_shuffle_epi32(abef, 0x1b);
    high = _mm_shuffle_epi32(cdgh, 0xb1);
    _mm_storeu_si128((__m128i *)state, _mm_blend_epi16(low, high, 0xf0));
    _mm_storeu_si128((__m128i *)(state + 4), _mm_alignr_epi8(high, low, 8));
}

er_sha256_blocks *er_sha256_native(void)
{
    unsigned a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & 1u << 9) || !(c & 1u << 19)) return NULL; /* SSSE3, SSE4.1 */
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & 1u << 29)) return NULL;          /* SHA */
    return native;
}

#elif defined(__aarch64__) && defined(__GNUC__) && (defined(__APPLE__) || defined(__linux__))

#include <arm_neon.h>
#ifdef __linux__
#include <sys/auxv.h>
#endif

#ifdef __clang__
__attribute__((target("sha2")))
#else
__attribute__((target("+crypto")))
#endif
static void native(uint32_t state[8], const uint8_t *bytes, size_t blocks)
{
    uint32x4_t abcd = vld1q_u32(state), efgh = vld1q_u32(state + 4);
    for (; blocks; blocks--, bytes += 64) {
        const uint32x4_t first = abcd, second = efgh;
        uint32x4_t w[4];
        for (int i = 0; i < 4; i++) w[i] = vreinterpretq_u32_u8(vrev32q_u8(vld1q_u8(bytes + 16 * i)));
#pragma GCC unroll 16 /* so that words stay in registers */
        for (int i = 0; i < 16; i++) {
            const uint32x4_t now = w[i & 3], sum = vaddq_u32(now, vld1q_u32(er_sha256_constants + 4 * i)), before = abcd;
            abcd = vsha256hq_u32(abcd, efgh, sum);
            efgh = vsha256h2q_u32(efgh, before, sum);
            /* The place of what was used is taken by what comes 16 words later. */
            w[i & 3] = vsha256su1q_u32(vsha256su0q_u32(now, w[(i + 1) & 3]), w[(i + 2) & 3], w[(i + 3) & 3]);
        }
        abcd = vaddq_u32(abcd, first);
        efgh = vaddq_u32(efgh, second);
    }
    vst1q_u32(state, abcd);
    vst1q_u32(state + 4, efgh);
}

er_sha256_blocks *er_sha256_native(void)
{
#ifdef __linux__
    if (!(getauxval(AT_HWCAP) & 1u << 6)) return NULL; /* SHA2; every Apple CPU has it */
#endif
    return native;
}

#else

er_sha256_blocks *er_sha256_native(void) { return NULL; }

#endif
