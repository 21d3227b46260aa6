/* What takes a transformer's time beside products (products_body.h), in one set of instructions; transform.c includes
   this once for each that has floating-point numbers of its own, and gives NAME, which makes names differ. */

/* `out` (count, n): rows, with those beside them added, of mean 0 and deviation 1, times a gain and a bias added. */
static void NAME(normalise)(const float *restrict rows, const float *restrict beside, int64_t count, int64_t n,
                            const Norm *by, float *restrict out)
{
    for (int64_t r = 0; r < count; r++, rows += n, out += n) {
        Numbers sums[PARTS] = {{0}}, squares[PARTS] = {{0}};
        float sum = 0.0f, square = 0.0f;
        for (int64_t i = 0; i < n; i += 16) EACH(p) {
                const int64_t at = i + p * WIDTH;
                Numbers x = NUMBERS(rows + at);
                if (beside) x += NUMBERS(beside + r * n + at);
                NUMBERS(out + at) = x;
                sums[p] += x;
            }
        EACH(p) for (int k = 0; k < WIDTH; k++) sum += sums[p][k];
        const float mean = sum / (float)n;
        for (int64_t i = 0; i < n; i += 16) EACH(p) {
                const Numbers x = NUMBERS(out + i + p * WIDTH) - mean;
                squares[p] += x * x;
            }
        EACH(p) for (int k = 0; k < WIDTH; k++) square += squares[p][k];
        const float inverse = 1.0f / sqrtf(square / (float)n + (float)by->epsilon);
        for (int64_t i = 0; i < n; i += WIDTH)
            NUMBERS(out + i) = (NUMBERS(out + i) - mean) * inverse * NUMBERS(by->gain + i) + NUMBERS(by->bias + i);
    }
}

/* e^x as `exponential` has it, of a register's numbers. */
INLINE Numbers NAME(powers)(Numbers x)
{
    const Numbers none = {0};
    x = EITHER(x < none - 87.0f, none - 87.0f, x);
    x = EITHER(x > none + 88.0f, none + 88.0f, x);
    const Numbers shifted = x * 1.44269504f + 12582912.0f, whole = shifted - 12582912.0f;
    const Numbers r = (x - whole * 0.693359375f) + whole * 2.12194440e-4f;
    return SMALL_POWER(r) * (Numbers)(((Wholes)shifted + 127) << 23);
}

/* x times the share of a normal distribution below x: erf by formula 7.1.26 of Abramowitz and Stegun, to 2e-7. */
static void NAME(gelu)(float *x, int64_t n)
{
    const Numbers none = {0};
    for (int64_t i = 0; i < n; i += WIDTH) {
        const Numbers y = NUMBERS(x + i), size = EITHER(y < none, -y, y);
        const Numbers z = size * 0.70710678f, t = 1.0f / (1.0f + 0.3275911f * z);
        Numbers p = none + 1.061405429f;
        p = p * t - 1.453152027f;
        p = p * t + 1.421413741f;
        p = p * t - 0.284496736f;
        p = p * t + 0.254829592f;
        const Numbers tail = 0.5f * p * t * NAME(powers)(-z * z);
        NUMBERS(x + i) = y * EITHER(y < none, tail, 1.0f - tail);
    }
}

/* How many vectors of keys, or of values, are summed at a time, for four tokens each: as registers can hold. */
#define ABREAST (WIDTH < 16 ? 2 : 1)
#define AT_ONCE (WIDTH < 16 ? 4 : 8)

/* In a room that `put_in` filled: a head's columns of `out` (count, hidden), of all tokens in a room. */
static void NAME(attend)(int64_t count, int64_t hidden, int64_t size, int64_t h, float *room, float *out)
{
    const int64_t wide = (count + 15) & ~(int64_t)15;
    const Numbers none = {0};
    float *keys = room, *shares = keys + size * wide, *queries = shares + 8 * wide, *values = queries + count * size;
    for (int64_t t = 0; t < count; t += AT_ONCE) {
        const int64_t last = count - 1;
        const float *q[AT_ONCE];
        UNROLLED for (int i = 0; i < AT_ONCE; i++) q[i] = queries + (t + i < last ? t + i : last) * size;
        for (int64_t s = 0; s < wide; s += ABREAST * WIDTH) {
            Numbers sums[AT_ONCE][ABREAST] = {{{0}}};
            for (int64_t d = 0; d < size; d++) UNROLLED for (int p = 0; p < ABREAST; p++) {
                    const Numbers k = NUMBERS(keys + d * wide + s + p * WIDTH);
                    UNROLLED for (int i = 0; i < AT_ONCE; i++) sums[i][p] += q[i][d] * k;
                }
            UNROLLED for (int p = 0; p < ABREAST; p++) {
                const Wholes there = WHOLES(PLACE) < (int32_t)(count - s - p * WIDTH); /* else no token: its share is nothing */
                UNROLLED for (int i = 0; i < AT_ONCE; i++)
                    NUMBERS(shares + i * wide + s + p * WIDTH) = EITHER(there, sums[i][p], none - 1e30f);
            }
        }
        for (int i = 0; i < AT_ONCE && t + i < count; i++) {
            float *share = shares + i * wide, sum = 0.0f;
            Numbers mosts[PARTS];
            float each[16];
            EACH(p) mosts[p] = none + share[0];
            for (int64_t s = 0; s < wide; s += 16) EACH(p) mosts[p] = GREATER(NUMBERS(share + s + p * WIDTH), mosts[p]);
            EACH(p) NUMBERS(each + p * WIDTH) = mosts[p];
            const float most = most_of(each);
            for (int64_t s = 0; s < wide; s += WIDTH) NUMBERS(share + s) = NAME(powers)(NUMBERS(share + s) - most);
            Numbers parts[PARTS] = {{0}};
            for (int64_t s = 0; s < wide; s += 16) EACH(p) parts[p] += NUMBERS(share + s + p * WIDTH);
            EACH(p) for (int k = 0; k < WIDTH; k++) sum += parts[p][k];
            const Numbers inverse = none + 1.0f / sum;
            for (int64_t s = 0; s < wide; s += WIDTH)
                NUMBERS(share + s) = EITHER(WHOLES(PLACE) < (int32_t)(count - s), NUMBERS(share + s), none) * inverse;
        }
        for (int64_t d = 0; d < size; d += ABREAST * WIDTH) {
            Numbers sums[AT_ONCE][ABREAST] = {{{0}}};
            for (int64_t s = 0; s < count; s++) UNROLLED for (int p = 0; p < ABREAST; p++) {
                    const Numbers v = NUMBERS(values + s * size + d + p * WIDTH);
                    UNROLLED for (int i = 0; i < AT_ONCE; i++) sums[i][p] += shares[i * wide + s] * v;
                }
            UNROLLED for (int i = 0; i < AT_ONCE; i++)
                if (t + i < count)
                    UNROLLED for (int p = 0; p < ABREAST; p++)
                        NUMBERS(out + (t + i) * hidden + h * size + d + p * WIDTH) = sums[i][p];
        }
    }
}

/* What tokens (count, hidden) begin as: their words' rows and their places', added and normalised. */
static void NAME(begin)(const Reading *job, int64_t first, int64_t count, const Desk *desk, float *tokens)
{
    const Transformer *of = job->of;
    const int64_t hidden = of->hidden;
    int64_t text = 0, start = 0;
    for (int64_t t = first; t < first + count; t++) {
        while (t >= job->ends[text]) start = job->ends[text++];
        const int64_t id = job->ids[t];
        const float *place = of->places + (t - start) * hidden;
        float *to = desk->next + (t - first) * hidden;
        if (of->words) {
            const int8_t *word = of->words + id * hidden;
            const float scale = of->word_scales[id];
            for (int64_t i = 0; i < hidden; i++) to[i] = (float)word[i] * scale + place[i];
        } else if (of->codes) {
            const int64_t width = hidden / of->pieces;
            const uint8_t *codes = of->codes + id * of->pieces;
            for (int64_t p = 0; p < of->pieces; p++) {
                const float *piece = of->plain + (p * 256 + codes[p]) * width;
                for (int64_t i = p * width, k = 0; k < width; i++, k++) to[i] = piece[k] + place[i];
            }
        } else {
            const float *word = of->plain + id * hidden;
            for (int64_t i = 0; i < hidden; i++) to[i] = word[i] + place[i];
        }
    }
    NAME(normalise)(desk->next, NULL, count, hidden, &of->embedded, tokens);
}

/* Of a row of numbers, a multiple of 16, the products with `count` others, each `stride` behind the one before. */
static void NAME(dots)(const float *row, const float *others, int64_t stride, int64_t count, int64_t n, float *out)
{
    for (int64_t r = 0; r < count; r++, others += stride) {
        Numbers sums[PARTS] = {{0}};
        for (int64_t i = 0; i < n; i += 16)
            EACH(p) sums[p] += NUMBERS(row + i + p * WIDTH) * NUMBERS(others + i + p * WIDTH);
        float sum = 0.0f;
        EACH(p) for (int k = 0; k < WIDTH; k++) sum += sums[p][k];
        out[r] = sum;
    }
}

/* The sum of e^(score - most). */
static float NAME(sum_of_powers)(const float *scores, int64_t n, float most)
{
    Numbers sums[PARTS] = {{0}};
    float sum = 0.0f;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16) EACH(p) sums[p] += NAME(powers)(NUMBERS(scores + i + p * WIDTH) - most);
    for (; i < n; i++) sum += exponential(scores[i] - most);
    EACH(p) for (int k = 0; k < WIDTH; k++) sum += sums[p][k];
    return sum;
}

#undef ABREAST
#undef AT_ONCE
