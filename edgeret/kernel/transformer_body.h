/* A transformer's layers in one set of instructions; transformer.c includes this once for each. It gives Whole, a vector
   of WIDTH whole numbers, and what is done with it: zero, load, spread (four bytes of a row, to every place),
   add_products (of four bytes each) and store; ACROSS and DOWN, how many such vectors of columns, and how many rows, are
   summed at a time; OFFSET, what is taken from a row's bytes before; NAME, which makes names differ. */

#define PANEL (WIDTH * ACROSS)

/* The `sums` (count, PANEL) of rows of bytes (count, depth) times a panel of weights. */
INLINE void NAME(tile)(const uint8_t *rows, const int8_t *weights, int64_t depth, const int count, int32_t *sums)
{
    Whole held[DOWN][ACROSS];
    for (int r = 0; r < count; r++)
        for (int c = 0; c < ACROSS; c++) held[r][c] = NAME(zero)();
    for (int64_t k = 0; k < depth; k += 4) {
        Whole weight[ACROSS];
        for (int c = 0; c < ACROSS; c++) weight[c] = NAME(load)(weights + (k * ACROSS + 4 * c) * WIDTH);
        for (int r = 0; r < count; r++) {
            const Whole row = NAME(spread)(rows + r * depth + k);
            for (int c = 0; c < ACROSS; c++) held[r][c] = NAME(add_products)(held[r][c], row, weight[c]);
        }
    }
    for (int r = 0; r < count; r++)
        for (int c = 0; c < ACROSS; c++) NAME(store)(sums + r * PANEL + c * WIDTH, held[r][c]);
}

/* Rows of numbers (count, depth) to bytes, each row by a scale and a zero of its own. */
static void NAME(to_bytes)(const float *restrict numbers, const float *restrict shrink, int64_t count, int64_t depth,
                           uint8_t *restrict bytes, float *restrict scales, int32_t *restrict zeros)
{
    for (int64_t r = 0; r < count; r++, numbers += depth, bytes += depth) {
        Numbers lows = {0}, highs = {0};
        for (int64_t i = 0; i < depth; i += 16) {
            const Numbers x = NUMBERS(numbers + i) * NUMBERS(shrink + i);
            lows = EITHER(x < lows, x, lows);
            highs = EITHER(x > highs, x, highs);
        }
        float low = lows[0], high = highs[0];
        for (int k = 1; k < 16; k++) {
            low = lows[k] < low ? lows[k] : low;
            high = highs[k] > high ? highs[k] : high;
        }
        float scale = (high - low) / 255.0f;
        if (!(scale > 1e-30f)) scale = 1e-30f; /* a row of zeros; NaN too */
        const float inverse = 1.0f / scale, zero = (float)(int32_t)(-low * inverse + 0.5f);
        scales[r] = scale;
        zeros[r] = (int32_t)zero;
        const Numbers none = {0}, most = none + 255.0f;
        for (int64_t i = 0; i < depth; i += 16) {
            Numbers x = NUMBERS(numbers + i) * NUMBERS(shrink + i) * inverse + (zero + 0.5f);
            x = EITHER(x > none, x, none); /* NaN is 0 */
            x = EITHER(x < most, x, most);
            *(Bytes *)(bytes + i) = __builtin_convertvector(__builtin_convertvector(x, Wholes), Bytes);
        }
    }
}

/* `out` (count, columns): rows of numbers (count, rows) times the weights, and the bias. */
static void NAME(multiply)(const float *numbers, int64_t count, const Product *by, const Room *room,
                           float *restrict out)
{
    const int64_t depth = by->rows, columns = by->columns, groups = (count + DOWN - 1) / DOWN;
    NAME(to_bytes)(numbers, by->shrink, count, depth, room->bytes, room->scales, room->zeros);
    for (int64_t c = 0; c < columns; c += PANEL) {
        const int8_t *weights = by->packed + c * depth;
        for (int64_t g = 0; g < groups; g++) {
            const int64_t first = g * count / groups, rows = (g + 1) * count / groups - first;
            const uint8_t *bytes = room->bytes + first * depth;
            int32_t sums[DOWN * PANEL];
            switch (rows) { /* a number that the compiler knows, so that all sums stay in registers */
            case 1: NAME(tile)(bytes, weights, depth, 1, sums); break;
            case 2: NAME(tile)(bytes, weights, depth, 2, sums); break;
            case 3: NAME(tile)(bytes, weights, depth, 3, sums); break;
#if DOWN > 4
            case 4: NAME(tile)(bytes, weights, depth, 4, sums); break;
            case 5: NAME(tile)(bytes, weights, depth, 5, sums); break;
#endif
            default: NAME(tile)(bytes, weights, depth, DOWN, sums);
            }
            for (int64_t r = 0; r < rows; r++) {
                const float scale = room->scales[first + r];
                const int32_t zero = room->zeros[first + r] - OFFSET;
                float *to = out + (first + r) * columns + c;
                for (int i = 0; i < PANEL; i += 16) {
                    const Wholes sum = WHOLES(sums + r * PANEL + i) - zero * WHOLES(by->sums + c + i);
                    NUMBERS(to + i) = __builtin_convertvector(sum, Numbers) * (scale * NUMBERS(by->scales + c + i)) +
                                      NUMBERS(by->bias + c + i);
                }
            }
        }
    }
}

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

/* `out` (count, hidden) of query, key and value, `all` (count, 3 hidden). `room` holds keys on their side, (size, wide),
   and four rows of `wide`, which is count made a multiple of 16. */
static void NAME(attend)(const float *all, int64_t count, int64_t hidden, int64_t heads, float *room, float *out)
{
    const int64_t size = hidden / heads, wide = (count + 15) & ~(int64_t)15, step = 3 * hidden;
    const float scale = 1.0f / sqrtf((float)size);
    float *keys = room, *shares = room + size * wide;
    for (int64_t h = 0; h < heads; h++) {
        const float *query = all + h * size, *key = query + hidden, *value = key + hidden;
        for (int64_t s = 0; s < wide; s++)
            for (int64_t d = 0; d < size; d++) keys[d * wide + s] = s < count ? key[s * step + d] * scale : 0.0f;
        for (int64_t t = 0; t < count; t += 4) {
            const int64_t last = count - 1;
            const float *q[4];
            for (int i = 0; i < 4; i++) q[i] = query + (t + i < last ? t + i : last) * step;
            for (int64_t s = 0; s < wide; s += 16) {
                Numbers sums[4] = {{0}, {0}, {0}, {0}};
                for (int64_t d = 0; d < size; d++) {
                    const Numbers k = NUMBERS(keys + d * wide + s);
                    for (int i = 0; i < 4; i++) sums[i] += q[i][d] * k;
                }
                for (int i = 0; i < 4; i++) NUMBERS(shares + i * wide + s) = sums[i];
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
                    const Numbers v = NUMBERS(value + s * step + d);
                    for (int i = 0; i < 4; i++) sums[i] += shares[i * wide + s] * v;
                }
                for (int i = 0; i < 4 && t + i < count; i++)
                    NUMBERS(out + (t + i) * hidden + h * size + d) = sums[i];
            }
        }
    }
}

/* `tokens` (count, hidden) of their numbers. */
static void NAME(run)(const Transformer *of, const int64_t *ids, int64_t count, const Room *room, float *tokens)
{
    const int64_t hidden = of->hidden;
    float *next = room->next, *wide = room->wide;
    for (int64_t t = 0; t < count; t++) {
        const float *place = of->places + t * hidden;
        if (of->words) {
            const int8_t *word = of->words + ids[t] * hidden;
            const float scale = of->word_scales[ids[t]];
            for (int64_t i = 0; i < hidden; i++) next[t * hidden + i] = (float)word[i] * scale + place[i];
        } else {
            const float *word = of->plain + ids[t] * hidden;
            for (int64_t i = 0; i < hidden; i++) next[t * hidden + i] = word[i] + place[i];
        }
    }
    NAME(normalise)(next, NULL, count, hidden, &of->embedded, tokens);
    for (int64_t l = 0; l < of->count; l++) {
        const Layer *layer = of->layers + l;
        NAME(multiply)(tokens, count, &layer->together, room, wide);
        NAME(attend)(wide, count, hidden, of->heads, room->keys, next);
        NAME(multiply)(next, count, &layer->attended, room, room->other);
        NAME(normalise)(room->other, tokens, count, hidden, &layer->between, next);
        NAME(multiply)(next, count, &layer->wide, room, wide);
        NAME(gelu)(wide, count * layer->wide.columns);
        NAME(multiply)(wide, count, &layer->narrow, room, room->other);
        NAME(normalise)(room->other, next, count, hidden, &layer->behind, tokens);
    }
}

#undef PANEL
#undef SET
#undef Whole
#undef WIDTH
#undef ACROSS
#undef DOWN
#undef OFFSET
