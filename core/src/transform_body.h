/* What takes a transformer's time beside products (products_body.h), in one set of instructions; transform.c includes
   this once for each that has floating-point numbers of its own, and gives NAME, which makes names differ. */

/* `out` (count, n): rows, with those beside them added, of mean 0 and deviation 1, times a gain and a bias added. */
static void NAME(normalise)(const float *restrict rows, const float *restrict beside, int64_t count, int64_t n,
                            const Norm *by, float *restrict out)
{
    for (int64_t r = 0; r < count; r++, rows += n, out += n) {
        Numbers sums = {0}, squares = {0};
        float sum = 0.0f, square = 0.0f;
        for (int64_t i = 0; i < n; i += 16) {
            Numbers x = NUMBERS(rows + i);
            if (beside) x += NUMBERS(beside + r * n + i);
            NUMBERS(out + i) = x;
            sums += x;
        }
        for (int k = 0; k < 16; k++) sum += sums[k];
        const float mean = sum / (float)n;
        for (int64_t i = 0; i < n; i += 16) {
            const Numbers x = NUMBERS(out + i) - mean;
            squares += x * x;
        }
        for (int k = 0; k < 16; k++) square += squares[k];
        const float inverse = 1.0f / sqrtf(square / (float)n + (float)by->epsilon);
        for (int64_t i = 0; i < n; i += 16)
            NUMBERS(out + i) = (NUMBERS(out + i) - mean) * inverse * NUMBERS(by->gain + i) + NUMBERS(by->bias + i);
    }
}

/* x times the share of a normal distribution below x: erf by formula 7.1.26 of Abramowitz and Stegun, to 2e-7. */
static void NAME(gelu)(float *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        const float z = fabsf(x[i]) * 0.70710678f, t = 1.0f / (1.0f + 0.3275911f * z);
        float p = 1.061405429f;
        p = p * t - 1.453152027f;
        p = p * t + 1.421413741f;
        p = p * t - 0.284496736f;
        p = p * t + 0.254829592f;
        const float tail = 0.5f * p * t * exponential(-z * z);
        x[i] *= x[i] < 0.0f ? tail : 1.0f - tail;
    }
}

/* In a room that `put_in` filled: a head's columns of `out` (count, hidden), of all tokens in a room. */
static void NAME(attend)(int64_t count, int64_t hidden, int64_t size, int64_t h, float *room, float *out)
{
    const int64_t wide = (count + 15) & ~(int64_t)15;
    float *keys = room, *shares = keys + size * wide, *queries = shares + 4 * wide, *values = queries + count * size;
    for (int64_t s = count; s < wide; s++)
        for (int64_t d = 0; d < size; d++) keys[d * wide + s] = 0.0f;
    for (int64_t t = 0; t < count; t += 4) {
        const int64_t last = count - 1;
        const float *q[4];
        UNROLLED for (int i = 0; i < 4; i++) q[i] = queries + (t + i < last ? t + i : last) * size;
        for (int64_t s = 0; s < wide; s += 16) {
            Numbers sums[4] = {{0}, {0}, {0}, {0}};
            for (int64_t d = 0; d < size; d++) {
                const Numbers k = NUMBERS(keys + d * wide + s);
                UNROLLED for (int i = 0; i < 4; i++) sums[i] += q[i][d] * k;
            }
            UNROLLED for (int i = 0; i < 4; i++) NUMBERS(shares + i * wide + s) = sums[i];
        }
        for (int i = 0; i < 4 && t + i < count; i++) {
            float *share = shares + i * wide, sum = 0.0f;
            for (int64_t s = count; s < wide; s++) share[s] = -1e30f; /* no token: its share is nothing */
            const float most = largest(share, wide);
            for (int64_t s = 0; s < wide; s++) share[s] = exponential(share[s] - most);
            Numbers parts = {0};
            for (int64_t s = 0; s < wide; s += 16) parts += NUMBERS(share + s);
            for (int k = 0; k < 16; k++) sum += parts[k];
            const Numbers inverse = (Numbers){0} + 1.0f / sum;
            for (int64_t s = 0; s < wide; s += 16) NUMBERS(share + s) *= inverse;
        }
        for (int64_t d = 0; d < size; d += 16) {
            Numbers sums[4] = {{0}, {0}, {0}, {0}};
            for (int64_t s = 0; s < count; s++) {
                const Numbers v = NUMBERS(values + s * size + d);
                UNROLLED for (int i = 0; i < 4; i++) sums[i] += shares[i * wide + s] * v;
            }
            for (int i = 0; i < 4 && t + i < count; i++)
                NUMBERS(out + (t + i) * hidden + h * size + d) = sums[i];
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
        Numbers sums = {0};
        for (int64_t i = 0; i < n; i += 16) sums += NUMBERS(row + i) * NUMBERS(others + i);
        float sum = 0.0f;
        for (int k = 0; k < 16; k++) sum += sums[k];
        out[r] = sum;
    }
}

/* The sum of e^(score - most). */
static float NAME(sum_of_powers)(const float *scores, int64_t n, float most)
{
    float sums[16] = {0}, sum = 0.0f;
    int64_t i = 0;
    for (; i + 16 <= n; i += 16)
        for (int k = 0; k < 16; k++) sums[k] += exponential(scores[i + k] - most);
    for (; i < n; i++) sum += exponential(scores[i] - most);
    for (int k = 0; k < 16; k++) sum += sums[k];
    return sum;
}
