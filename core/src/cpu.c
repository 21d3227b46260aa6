/* What this CPU can do and its system keeps the registers of. Compilers have __builtin_cpu_supports for that, but in what zig
   0.17 links it says no to everything, and all would be slow without a word; so the CPU is asked here. */

#include "cpu.h"

#include <stdatomic.h>

#if defined(__x86_64__)
#include <cpuid.h>

enum { HAS_AVX2 = 1, HAS_AVX_VNNI = 2, HAS_AVX512 = 4, HAS_AVX512_VNNI = 8, ASKED = 16 };

static int bit(uint32_t of, int number) { return (of >> number) & 1; }

static int ask(void)
{
    uint32_t a, b, c, d, kept, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !bit(c, 27)) return ASKED; /* 27: the system keeps registers by xsave */
    const int fma = bit(c, 12);
    __asm__ volatile("xgetbv" : "=a"(kept), "=d"(high) : "c"(0));
    if ((kept & 0x6) != 0x6 || !__get_cpuid_count(7, 0, &a, &b, &c, &d)) return ASKED;
    int found = ASKED;
#if defined(__APPLE__)
    const int wide = 1; /* macOS begins to keep registers of 64 bytes when they are first used */
#else
    const int wide = (kept & 0xe6) == 0xe6;
#endif
    if (!fma || !bit(b, 5)) return found;
    found |= HAS_AVX2;
    if (wide && bit(b, 16) && bit(b, 17) && bit(b, 30) && bit(b, 31))
        found |= HAS_AVX512 | (bit(c, 11) ? HAS_AVX512_VNNI : 0);
    if (a >= 1 && __get_cpuid_count(7, 1, &a, &b, &c, &d) && bit(a, 4)) found |= HAS_AVX_VNNI;
    return found;
}

/* Asked once: a virtual machine takes microseconds to answer. Two threads that ask at once find the same. */
static int features(void)
{
    static atomic_int known;
    int found = atomic_load_explicit(&known, memory_order_relaxed);
    if (!found) atomic_store_explicit(&known, found = ask(), memory_order_relaxed);
    return found;
}

int64_t er_has_avx2(void) { return (features() & HAS_AVX2) != 0; }

int64_t er_widest_set(void)
{
    const int has = features();
    if (has & HAS_AVX512_VNNI) return AVX512_VNNI;
    if (has & HAS_AVX_VNNI) return AVX_VNNI;
    if (has & HAS_AVX512) return AVX512;
    return has & HAS_AVX2 ? AVX2 : GENERIC;
}

#else
int64_t er_has_avx2(void) { return 0; }

#if defined(__aarch64__) && defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
enum { DOT_PRODUCTS = 43 }; /* PF_ARM_V82_DP_INSTRUCTIONS_AVAILABLE, which older headers do not name */
static int multiplies_bytes(void) { return IsProcessorFeaturePresent(DOT_PRODUCTS) != 0; }
#elif defined(__aarch64__) && defined(__linux__)
#include <sys/auxv.h>
enum { DOT_PRODUCTS = 1 << 20 }; /* HWCAP_ASIMDDP */
static int multiplies_bytes(void) { return (getauxval(AT_HWCAP) & DOT_PRODUCTS) != 0; }
#elif defined(__aarch64__) && defined(__APPLE__)
static int multiplies_bytes(void) { return 1; } /* every Apple CPU that macOS 11 runs on */
#else
static int multiplies_bytes(void) { return 0; }
#endif

int64_t er_widest_set(void) { return multiplies_bytes() ? ARM64_DOTPROD : GENERIC; }
#endif
