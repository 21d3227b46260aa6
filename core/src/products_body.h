/* Rows of numbers times a product's weights, in one way to multiply bytes; transform.c includes this once for each. It
   gives Whole, a vector of WIDTH whole numbers, and what is done with it: zero, load, spread (four bytes of a row, to
   every place), add_products (of four bytes each) and store; ACROSS and DOWN, how many such vectors of columns, and how
   many rows, are summed at a time; OFFSET, what is taken from a row's bytes before; NAME, which makes names differ. */

#define PANEL (WIDTH * ACROSS)

/* The `sums` (count, PANEL) of rows of bytes (count, depth) times a panel of weights. */
INLINE void NAME(tile)(const uint8_t *rows, const int8_t *weights, int64_t depth, const int count, int32_t *sums)
{
    Whole held[DOWN][ACROSS];
    UNROLLED for (int r = 0; r < count; r++)
        UNROLLED for (int c = 0; c < ACROSS; c++) held[r][c] = NAME(zero)();
    for (int64_t k = 0; k < depth; k += 4) {
        Whole weight[ACROSS];
        UNROLLED for (int c = 0; c < ACROSS; c++) weight[c] = NAME(load)(weights + (k * ACROSS + 4 * c) * WIDTH);
        UNROLLED for (int r = 0; r < count; r++) {
            const Whole row = NAME(spread)(rows + r * depth + k);
            UNROLLED for (int c = 0; c < ACROSS; c++) held[r][c] = NAME(add_products)(held[r][c], row, weight[c]);
        }
    }
    UNROLLED for (int r = 0; r < count; r++)
        UNROLLED for (int c = 0; c < ACROSS; c++) NAME(store)(sums + r * PANEL + c * WIDTH, held[r][c]);
}

/* Rows of numbers (count, depth) to bytes, each row by a scale and a zero of its own. */
static void NAME(to_bytes)(const float *restrict numbers, const float *restrict shrink, int64_t count, int64_t depth,
                           uint8_t *restrict bytes, float *restrict scales, int32_t *restrict zeros,
                           float levels)
{
    for (int64_t r = 0; r < count; r++, numbers += depth, bytes += depth) {
        Numbers lows[PARTS] = {{0}}, highs[PARTS] = {{0}};
        for (int64_t i = 0; i < depth; i += 16) EACH(p) {
                const int64_t at = i + p * WIDTH;
                const Numbers x = NUMBERS(numbers + at) * NUMBERS(shrink + at);
                lows[p] = LESSER(x, lows[p]);
                highs[p] = GREATER(x, highs[p]);
            }
        float each[2][16];
        EACH(p) {
            NUMBERS(each[0] + p * WIDTH) = -lows[p];
            NUMBERS(each[1] + p * WIDTH) = highs[p];
        }
        const float low = -most_of(each[0]), high = most_of(each[1]);
        float scale = (high - low) / levels;
        if (!(scale > 1e-30f)) scale = 1e-30f; /* a row of zeros; NaN too */
        const float inverse = 1.0f / scale;
        float zero = -low * inverse + 0.5f;
        zero = zero > 0.5f ? zero : 0.5f; /* NaN too, where a scale is infinite: no cast knows it */
        zero = (float)(int32_t)(zero < levels ? zero : levels);
        scales[r] = scale;
        zeros[r] = (int32_t)zero;
        const Numbers none = {0}, most = none + levels;
        for (int64_t i = 0; i < depth; i += WIDTH) {
            Numbers x = NUMBERS(numbers + i) * NUMBERS(shrink + i) * inverse + (zero + 0.5f);
            x = GREATER(x, none); /* NaN is 0 */
            x = LESSER(x, most);
            *(Bytes *)(bytes + i) = __builtin_convertvector(__builtin_convertvector(x, Wholes), Bytes);
        }
    }
}

/* As Multiply says. */
static void NAME(multiply)(const float *numbers, int64_t count, const Product *by, const Desk *desk, const Maker *made,
                           float *restrict out)
{
    const int64_t depth = by->rows, columns = by->columns, groups = (count + DOWN - 1) / DOWN;
    NAME(to_bytes)(numbers, by->shrink, count, depth, desk->bytes, desk->scales, desk->zeros, desk->levels);
    for (int64_t c = 0; c < columns; c += PANEL) {
        const int8_t *weights = by->packed + c * depth;
        if (made && atomic_load_explicit(made, memory_order_relaxed)) return;
        for (int64_t g = 0; g < groups; g++) {
            const int64_t first = g * count / groups, rows = (g + 1) * count / groups - first;
            const uint8_t *bytes = desk->bytes + first * depth;
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
                const float scale = desk->scales[first + r];
                const int32_t zero = desk->zeros[first + r] - OFFSET;
                float *to = out + (first + r) * columns + c;
                UNROLLED for (int i = 0; i < PANEL; i += WIDTH) {
                    const Wholes sum = WHOLES(sums + r * PANEL + i) - zero * WHOLES(by->sums + c + i);
                    NUMBERS(to + i) = __builtin_convertvector(sum, Numbers) * (scale * NUMBERS(by->scales + c + i)) +
                                      NUMBERS(by->bias + c + i);
                }
            }
        }
    }
}

#undef PANEL
#undef SET
#undef Whole
#undef WIDTH
#undef ACROSS
#undef DOWN
#undef OFFSET
