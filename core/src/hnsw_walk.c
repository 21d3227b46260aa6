/* What a request among very many tools needs, behind an encoding that evicted all caches: the links of an HNSW graph are
   walked as hnswlib does, over rows in bytes. Whoever calls vouches for all lengths. */

#include "hnsw.h"

#include <math.h>
#include <stdlib.h>

#include "cpu.h"

enum { MOST_FOUND = 64, MOST_LINKS = 32, LINE = 64 };

/* Where the processor has registers of 32 bytes, the same sums in half the instructions; in the same order, so that they
   are the same numbers. */
#if defined(__x86_64__) && defined(__GNUC__)
#define WIDE __attribute__((target("avx2")))
#define HAS_WIDE er_has_avx2()
#else
#define WIDE
#define HAS_WIDE 0
#endif
#define IN_BOTH static inline __attribute__((always_inline))

typedef struct {
    float value;
    int32_t at;
    int32_t open; /* whether nobody looked at where it leads to */
} Found;

/* Puts an element among the `most` best, of which there are `count` so far, the best first; of equal ones the one that
   came first stays ahead. Where it stands then, `most` for nowhere. */
static int64_t put(Found *best, int64_t *count, int64_t most, Found one)
{
    if (*count == most && !(most && one.value > best[most - 1].value)) return most;
    int64_t i = *count < most ? (*count)++ : most - 1;
    for (; i > 0 && best[i - 1].value < one.value; i--) best[i] = best[i - 1];
    best[i] = one;
    return i;
}

static void fetch(const void *row, int64_t bytes)
{
    const char *from = (const char *)row - (uintptr_t)row % LINE;
    for (; from < (const char *)row + bytes; from += LINE) __builtin_prefetch(from, 0, 2); /* into the second cache, with more at a time */
}

/* Those of some rows whose product with a vector in whole numbers is above `least`: `out` (count); how many. */
IN_BOTH int64_t compare_in(const er_hnsw_links *g, const int16_t *asked, const int32_t *rows, int64_t count, float least,
                          Found *out)
{
    const int64_t n = g->dimension;
    int64_t left = 0;
    for (int64_t i = 0; i < count; i++) {
        fetch(g->few + rows[i] * n, n);
        __builtin_prefetch(g->scales + rows[i], 0, 2);
    }
    for (int64_t i = 0; i < count; i++) {
        const int8_t *row = g->few + rows[i] * n;
        int32_t sum = 0;
        for (int64_t j = 0; j < n; j++) sum += (int16_t)row[j] * asked[j];
        const float value = (float)sum * g->scales[rows[i]];
        if (value > least) out[left++] = (Found){value, rows[i], 1};
    }
    return left;
}

static int64_t compare_narrow(const er_hnsw_links *g, const int16_t *asked, const int32_t *rows, int64_t n, float least,
                              Found *out)
{
    return compare_in(g, asked, rows, n, least, out);
}

WIDE static int64_t compare_wide(const er_hnsw_links *g, const int16_t *asked, const int32_t *rows, int64_t n, float least,
                                 Found *out)
{
    return compare_in(g, asked, rows, n, least, out);
}

static int64_t compare(const er_hnsw_links *g, const int16_t *asked, const int32_t *rows, int64_t n, float least, Found *out)
{
    return HAS_WIDE ? compare_wide(g, asked, rows, n, least, out) : compare_narrow(g, asked, rows, n, least, out);
}

/* Which of the lists of a level above 0 is an element's, -1 for none. */
static int64_t list_above(const er_hnsw_links *g, int64_t level, int32_t element)
{
    int64_t low = g->begins[level - 1], high = g->begins[level];
    while (low < high) {
        const int64_t middle = (low + high) / 2;
        if (g->members[middle] < element) low = middle + 1;
        else high = middle;
    }
    return low < g->begins[level] && g->members[low] == element ? g->rows + low : -1;
}

/* From the entry down to level 1, always on to the nearest: where the search of level 0 begins. */
static Found descend(const er_hnsw_links *g, const int16_t *asked)
{
    const int32_t entry = (int32_t)g->entry;
    Found best = {0.0f, entry, 1};
    compare(g, asked, &entry, 1, -INFINITY, &best);
    Found nearer[MOST_LINKS];
    for (int64_t level = g->levels; level > 0; level--)
        for (int32_t from = -1; from != best.at;) {
            const int64_t list = list_above(g, level, from = best.at);
            if (list < 0) break;
            const int32_t begin = g->starts[list];
            const int64_t count = compare(g, asked, g->targets + begin, g->starts[list + 1] - begin, best.value, nearer);
            for (int64_t i = 0; i < count; i++)
                if (nearer[i].value > best.value) best = nearer[i];
        }
    return best;
}

/* Lists what an element of level 0 leads to that nobody has `seen`, one bit each; how many. */
static int64_t list_fresh(const er_hnsw_links *g, int32_t at, uint8_t *seen, int32_t *fresh)
{
    int64_t count = 0;
    for (int32_t i = g->starts[at]; i < g->starts[at + 1]; i++) {
        const int32_t to = g->targets[i];
        const uint8_t bit = (uint8_t)(1 << to % 8);
        if (!(seen[to / 8] & bit)) fresh[count++] = to;
        seen[to / 8] |= bit;
    }
    return count;
}

static int64_t next_open(const Found *best, int64_t from, int64_t count)
{
    while (from < count && !best[from].open) from++;
    return from;
}

/* Searches level 0 from `first` on, and keeps the `most` nearest, the nearest first; how many there are. */
static int64_t widen(const er_hnsw_links *g, const int16_t *asked, Found first, uint8_t *seen, int64_t most, Found *best)
{
    int32_t fresh[MOST_LINKS];
    Found nearer[MOST_LINKS];
    int64_t count = 0, next = put(best, &count, most, first);
    seen[first.at / 8] |= (uint8_t)(1 << first.at % 8);
    while (next < count) {
        best[next].open = 0;
        const int64_t fresh_count = list_fresh(g, best[next].at, seen, fresh), after = next_open(best, next, count);
        /* Most often this one comes next. */
        if (after < count) fetch(g->targets + g->starts[best[after].at], MOST_LINKS * (int64_t)sizeof *fresh);
        const float least = count == most ? best[most - 1].value : -INFINITY;
        const int64_t left = compare(g, asked, fresh, fresh_count, least, nearer);
        for (int64_t i = 0; i < left; i++) {
            const int64_t place = put(best, &count, most, nearer[i]);
            if (place < most) __builtin_prefetch(g->starts + nearer[i].at);
            next = place < next ? place : next;
        }
        next = next_open(best, next, count);
    }
    return count;
}

int64_t er_walk_links(const er_hnsw_links *g, const float *vector, int64_t most, int16_t *asked, int64_t *found)
{
    Found best[MOST_FOUND];
    const int64_t n = g->dimension, room = 2147483647 / (127 * n); /* so that sums stay in 32 bits */
    float size = 1e-12f, squares = 0.0f;
    for (int64_t i = 0; i < n; i++) {
        size = fabsf(vector[i]) > size ? fabsf(vector[i]) : size;
        squares += vector[i] * vector[i];
    }
    if (!(squares < INFINITY)) return 0;
    uint8_t *seen = calloc((size_t)(g->rows / 8 + 1), 1);
    if (!seen) return -1;
    const float step = size / (float)(room < 32767 ? room : 32767);
    for (int64_t i = 0; i < n; i++) asked[i] = (int16_t)lrintf(vector[i] / step);
    const int64_t count = widen(g, asked, descend(g, asked), seen, most, best);
    free(seen);
    for (int64_t i = 0; i < count; i++) found[i] = best[i].at;
    return count;
}

IN_BOTH void few_in(const float *restrict rows, int64_t count, int64_t n, int8_t *restrict out, float *restrict scales)
{
    for (int64_t r = 0; r < count; r++, rows += n, out += n) {
        float size = 0.0f;
        for (int64_t i = 0; i < n; i++) size = fabsf(rows[i]) > size ? fabsf(rows[i]) : size;
        scales[r] = size / 127.0f;
        const float scale = scales[r] > 0.0f ? scales[r] : 1.0f;
        for (int64_t i = 0; i < n; i++) /* 1.5 * 2^23: the nearest whole number */
            out[i] = (int8_t)(int32_t)((rows[i] / scale + 12582912.0f) - 12582912.0f);
    }
}

static void few_narrow(const float *rows, int64_t count, int64_t n, int8_t *out, float *scales)
{
    few_in(rows, count, n, out, scales);
}

WIDE static void few_wide(const float *rows, int64_t count, int64_t n, int8_t *out, float *scales)
{
    few_in(rows, count, n, out, scales);
}

void er_to_bytes(const float *rows, int64_t count, int64_t dimension, int8_t *out, float *scales)
{
    (HAS_WIDE ? few_wide : few_narrow)(rows, count, dimension, out, scales);
}
