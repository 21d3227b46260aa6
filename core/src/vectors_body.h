/* The products of vectors.c for one set of instructions: included once for each, with NAME(x) and WIDE set. Eight numbers
   at a time, the same order of additions in all sets. */

typedef float NAME(Eight) __attribute__((vector_size(32), aligned(4), may_alias));
typedef int8_t NAME(Bytes) __attribute__((vector_size(8), aligned(1), may_alias));
typedef int32_t NAME(Wholes) __attribute__((vector_size(32)));
#define EIGHT(at) (*(const NAME(Eight) *)(at))

static WIDE float NAME(total)(NAME(Eight) v) { return ((v[0] + v[4]) + (v[2] + v[6])) + ((v[1] + v[5]) + (v[3] + v[7])); }

static WIDE float NAME(dot)(const float *a, const float *b, uint32_t n)
{
    NAME(Eight) v = {0}, x = {0}, y = {0}, z = {0};
    uint32_t i = 0;
    for (; i + 32 <= n; i += 32) { /* four sums, each of which waits for its own last one */
        v += EIGHT(a + i) * EIGHT(b + i);
        x += EIGHT(a + i + 8) * EIGHT(b + i + 8);
        y += EIGHT(a + i + 16) * EIGHT(b + i + 16);
        z += EIGHT(a + i + 24) * EIGHT(b + i + 24);
    }
    float rest = 0;
    for (; i < n; i++) rest += a[i] * b[i];
    return NAME(total)((v + x) + (y + z)) + rest;
}

/* Two rows by four vectors: each number that is read is used more than once. */
static WIDE void NAME(block)(const float *rows, const float *vectors, uint32_t n, float found[2][4])
{
    const float *r0 = rows, *r1 = rows + n;
    NAME(Eight) a0 = {0}, a1 = {0}, a2 = {0}, a3 = {0}, b0 = {0}, b1 = {0}, b2 = {0}, b3 = {0};
    uint32_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const NAME(Eight) x = EIGHT(r0 + i), y = EIGHT(r1 + i);
        const NAME(Eight) v0 = EIGHT(vectors + i), v1 = EIGHT(vectors + n + i), v2 = EIGHT(vectors + 2 * (size_t)n + i);
        const NAME(Eight) v3 = EIGHT(vectors + 3 * (size_t)n + i);
        a0 += x * v0, a1 += x * v1, a2 += x * v2, a3 += x * v3;
        b0 += y * v0, b1 += y * v1, b2 += y * v2, b3 += y * v3;
    }
    const NAME(Eight) all[2][4] = {{a0, a1, a2, a3}, {b0, b1, b2, b3}};
    for (int r = 0; r < 2; r++)
        for (int k = 0; k < 4; k++) {
            found[r][k] = NAME(total)(all[r][k]);
            for (uint32_t j = i; j < n; j++) found[r][k] += rows[(size_t)r * n + j] * vectors[(size_t)k * n + j];
        }
}

static WIDE void NAME(many)(const float *rows, uint32_t count, uint32_t n, const float *vectors, uint32_t many, float *found)
{
    uint32_t k = 0;
    for (; k + 4 <= many; k += 4) {
        uint32_t i = 0;
        for (; i + 2 <= count; i += 2) {
            float block[2][4];
            NAME(block)(rows + (size_t)i * n, vectors + (size_t)k * n, n, block);
            for (uint32_t v = 0; v < 4; v++) {
                found[(size_t)(k + v) * count + i] = block[0][v];
                found[(size_t)(k + v) * count + i + 1] = block[1][v];
            }
        }
        for (; i < count; i++)
            for (uint32_t v = 0; v < 4; v++)
                found[(size_t)(k + v) * count + i] = NAME(dot)(rows + (size_t)i * n, vectors + (size_t)(k + v) * n, n);
    }
    for (; k < many; k++)
        for (uint32_t i = 0; i < count; i++)
            found[(size_t)k * count + i] = NAME(dot)(rows + (size_t)i * n, vectors + (size_t)k * n, n);
}

static WIDE void NAME(bytes)(const int8_t *rows, const float *scales, uint32_t count, uint32_t n, const float *vector, float *found)
{
    for (uint32_t i = 0; i < count; i++) {
        const int8_t *row = rows + (size_t)i * n;
        NAME(Eight) sum = {0};
        uint32_t j = 0;
        for (; j + 8 <= n; j += 8) {
            /* In two steps: gcc makes one number at a time of bytes that become floats at once. */
            const NAME(Wholes) wide = __builtin_convertvector(*(const NAME(Bytes) *)(row + j), NAME(Wholes));
            sum += __builtin_convertvector(wide, NAME(Eight)) * EIGHT(vector + j);
        }
        float rest = 0;
        for (; j < n; j++) rest += (float)row[j] * vector[j];
        found[i] = (NAME(total)(sum) + rest) * scales[i];
    }
}

/* Sixteen columns at a time, of the few rows that count. */
static WIDE void NAME(columns)(const int8_t *rows, uint32_t n, const uint32_t *at, const float *values, uint32_t count, float *found)
{
    for (uint32_t k = 0; k < n; k += 16) {
        NAME(Eight) one = {0}, other = {0};
        for (uint32_t i = 0; i < count; i++) {
            const int8_t *row = rows + (size_t)at[i] * n + k;
            const NAME(Wholes) x = __builtin_convertvector(*(const NAME(Bytes) *)row, NAME(Wholes));
            const NAME(Wholes) y = __builtin_convertvector(*(const NAME(Bytes) *)(row + 8), NAME(Wholes));
            one += __builtin_convertvector(x, NAME(Eight)) * values[i];
            other += __builtin_convertvector(y, NAME(Eight)) * values[i];
        }
        *(NAME(Eight) *)(found + k) = one;
        *(NAME(Eight) *)(found + k + 8) = other;
    }
}

/* Whole numbers alone: the compiler finds the instructions that multiply pairs of 16 bits and add them. Four vectors at a
   time, so that each row is widened once for them. */
static WIDE void NAME(nearest)(
    const int8_t *rows, const float *scales, uint32_t count, uint32_t n, const int16_t *asked, const float *steps, uint32_t many, float *near)
{
    uint32_t k = 0;
    for (; k + 4 <= many; k += 4) {
        const int16_t *v0 = asked + (size_t)k * n, *v1 = v0 + n, *v2 = v1 + n, *v3 = v2 + n;
        for (uint32_t i = 0; i < count; i++) {
            const int8_t *row = rows + (size_t)i * n;
            int32_t a = 0, b = 0, c = 0, d = 0;
            for (uint32_t j = 0; j < n; j++) a += row[j] * v0[j], b += row[j] * v1[j], c += row[j] * v2[j], d += row[j] * v3[j];
            const float x = (float)a * steps[k], y = (float)b * steps[k + 1], z = (float)c * steps[k + 2], w = (float)d * steps[k + 3];
            const float one = x > y ? x : y, other = z > w ? z : w, best = (one > other ? one : other) * scales[i];
            near[i] = best > near[i] ? best : near[i];
        }
    }
    for (; k < many; k++) {
        const int16_t *v = asked + (size_t)k * n;
        const float step = steps[k];
        for (uint32_t i = 0; i < count; i++) {
            const int8_t *row = rows + (size_t)i * n;
            int32_t sum = 0;
            for (uint32_t j = 0; j < n; j++) sum += row[j] * v[j];
            const float value = (float)sum * step * scales[i];
            near[i] = value > near[i] ? value : near[i];
        }
    }
}

/* Sixteen rows at a time, whose sums stand beside each other: nothing is added across a vector. */
static WIDE void NAME(paired)(
    const int8_t *bytes, const float *scales, uint32_t blocks, uint32_t pairs, const int16_t *asked, float step, float *found)
{
    for (uint32_t block = 0; block < blocks; block++, scales += 16, found += 16) {
#ifdef PAIRS
        NAME(Wholes) one = {0}, other = {0};
        for (uint32_t k = 0; k < pairs; k++, bytes += 32) {
            one += PAIRS(bytes, asked + 2 * k);
            other += PAIRS(bytes + 16, asked + 2 * k);
        }
        *(NAME(Eight) *)found = __builtin_convertvector(one, NAME(Eight)) * step * EIGHT(scales);
        *(NAME(Eight) *)(found + 8) = __builtin_convertvector(other, NAME(Eight)) * step * EIGHT(scales + 8);
#else
        int32_t sums[16] = {0};
        for (uint32_t k = 0; k < pairs; k++, bytes += 32)
            for (int i = 0; i < 16; i++) sums[i] += bytes[2 * i] * asked[2 * k] + bytes[2 * i + 1] * asked[2 * k + 1];
        for (int i = 0; i < 16; i++) found[i] = (float)sums[i] * step * scales[i];
#endif
    }
}

#undef EIGHT
