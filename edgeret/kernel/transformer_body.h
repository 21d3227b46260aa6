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
        const float inverse = 1.0f / scale;
        float zero = -low * inverse + 0.5f;
        zero = zero > 0.5f ? zero : 0.5f; /* NaN too, where a scale is infinite: no cast knows it */
        zero = (float)(int32_t)(zero < 255.0f ? zero : 255.0f);
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
static void NAME(multiply)(const float *numbers, int64_t count, const Product *by, const Desk *desk,
                           float *restrict out)
{
    const int64_t depth = by->rows, columns = by->columns, groups = (count + DOWN - 1) / DOWN;
    NAME(to_bytes)(numbers, by->shrink, count, depth, desk->bytes, desk->scales, desk->zeros);
    for (int64_t c = 0; c < columns; c += PANEL) {
        const int8_t *weights = by->packed + c * depth;
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

/* A head's columns of `out` (count, hidden), of query, key and value of a text, `all` (count, 3 hidden). `room` holds
   keys on their side, (size, wide), and four rows of `wide`, which is count made a multiple of 16. */
static void NAME(attend)(const float *all, int64_t count, int64_t hidden, int64_t size, int64_t h, float *room,
                         float *out)
{
    const int64_t wide = (count + 15) & ~(int64_t)15, step = 3 * hidden;
    const float scale = 1.0f / sqrtf((float)size);
    float *keys = room, *shares = room + size * wide;
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

/* What tokens (count, hidden) begin as: their words' rows and their places', added and normalised. */
static void NAME(begin)(const Reading *job, int64_t first, int64_t count, const Desk *desk)
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
    NAME(normalise)(desk->next, NULL, count, hidden, &of->embedded, job->tokens + first * hidden);
}

/* A layer's second half: what tokens (count, hidden) become by what they attended to. */
static void NAME(change)(const Layer *layer, float *tokens, const float *attended, int64_t count, int64_t hidden,
                         const Desk *desk)
{
    NAME(multiply)(attended, count, &layer->attended, desk, desk->other);
    NAME(normalise)(desk->other, tokens, count, hidden, &layer->between, desk->next);
    NAME(multiply)(desk->next, count, &layer->wide, desk, desk->wide);
    NAME(gelu)(desk->wide, count * layer->wide.columns);
    NAME(multiply)(desk->wide, count, &layer->narrow, desk, desk->other);
    NAME(normalise)(desk->other, desk->next, count, hidden, &layer->behind, tokens);
}

/* One part of a phase: attention of a head of a text in odd phases; else a block of tokens from there to the next. */
static void NAME(part)(const Reading *job, int64_t phase, int64_t part, const Desk *desk)
{
    const Transformer *of = job->of;
    const int64_t hidden = of->hidden, layer = phase / 2;
    if (phase % 2) {
        const int64_t text = part / of->heads, start = text ? job->ends[text - 1] : 0;
        NAME(attend)(job->together + start * 3 * hidden, job->ends[text] - start, hidden, hidden / of->heads,
                     part % of->heads, desk->keys, job->attended + start * hidden);
        return;
    }
    const int64_t first = part * job->block, rest = job->count - first;
    const int64_t count = rest < job->block ? rest : job->block;
    float *tokens = job->tokens + first * hidden;
    if (phase)
        NAME(change)(of->layers + layer - 1, tokens, job->attended + first * hidden, count, hidden, desk);
    else
        NAME(begin)(job, first, count, desk);
    if (layer < of->count)
        NAME(multiply)(tokens, count, &of->layers[layer].together, desk, job->together + first * 3 * hidden);
}

/* All phases, as far as this worker finds something to do. */
static void NAME(run)(void *given, int64_t worker)
{
    const Reading *job = given;
    const int64_t blocks = (job->count + job->block - 1) / job->block, heads = job->texts * job->of->heads;
    for (int64_t phase = 0; phase <= 2 * job->of->count; phase++) {
        const int64_t parts = phase % 2 ? heads : blocks;
        int64_t part;
        while ((part = atomic_fetch_add(&job->taken[phase], 1)) < parts) {
            NAME(part)(job, phase, part, &job->desks[worker]);
            atomic_fetch_add(&job->done[phase], 1);
        }
        for (int64_t waited = 0; atomic_load(&job->done[phase]) < parts; waited++)
            if (waited > MOST_WAITS) sched_yield();
    }
}

#undef PANEL
#undef SET
#undef Whole
#undef WIDTH
#undef ACROSS
#undef DOWN
#undef OFFSET
