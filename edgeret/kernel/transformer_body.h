/* A transformer's layers in one set of instructions; transformer.c includes this once for each that has floating-point
   numbers of its own, and what multiplies stands on the desk (products_body.h). It gives NAME, which makes names differ. */

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

/* A room for attention holds a head's keys on their side, (size, wide), where `wide` is count made a multiple of 16; four
   rows of `wide`; then queries and values (count, size). This puts in those of token s, of its query, key and value. */
static void NAME(put_in)(const float *row, int64_t s, int64_t count, int64_t hidden, int64_t size, float *room)
{
    const int64_t wide = (count + 15) & ~(int64_t)15;
    const float scale = 1.0f / sqrtf((float)size);
    float *queries = room + (size + 4) * wide + s * size, *values = queries + count * size;
    for (int64_t d = 0; d < size; d++) room[d * wide + s] = row[hidden + d] * scale;
    for (int64_t d = 0; d < size; d += 16) {
        NUMBERS(queries + d) = NUMBERS(row + d);
        NUMBERS(values + d) = NUMBERS(row + 2 * hidden + d);
    }
}

/* A head's columns of `out` (count, hidden), of all tokens in a room. */
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

/* A layer's second half: `tokens` (count, hidden) are what those `before` become by what they attended to. */
static void NAME(change)(const Reading *job, int64_t phase, int64_t first, int64_t count, const Desk *desk,
                         const Maker *made, float *tokens)
{
    const Transformer *of = job->of;
    const Layer *layer = of->layers + phase / 2 - 1;
    const int64_t hidden = of->hidden, size = hidden / of->heads;
    const float *before = made_at(job, phase - 2, first / job->block)->tokens[(phase / 2 - 1) % 2] + first * hidden;
    for (int64_t t = 0, text = 0; t < count; t++) {
        while (first + t >= job->ends[text]) text++;
        for (int64_t h = 0; h < of->heads; h++)
            memcpy(desk->next + t * hidden + h * size,
                   made_at(job, phase - 1, text * of->heads + h)->attended + (first + t) * hidden + h * size,
                   (size_t)size * sizeof(float));
    }
    desk->multiply(desk->next, count, &layer->attended, desk, made, desk->other);
    NAME(normalise)(desk->other, before, count, hidden, &layer->between, desk->next);
    desk->multiply(desk->next, count, &layer->wide, desk, made, desk->wide);
    if (atomic_load_explicit(made, memory_order_relaxed)) return;
    NAME(gelu)(desk->wide, count * layer->wide.columns);
    desk->multiply(desk->wide, count, &layer->narrow, desk, made, desk->other);
    NAME(normalise)(desk->other, desk->next, count, hidden, &layer->behind, tokens);
}

/* One part of a phase: attention of a head of a text in odd phases; else a block of tokens from there to the next. It is
   made afterwards, by this worker or another. */
static void NAME(part)(const Reading *job, int64_t phase, int64_t part, int64_t worker)
{
    const Transformer *of = job->of;
    const Desk *desk = job->desks + worker;
    const int64_t hidden = of->hidden, layer = phase / 2;
    Maker *made = maker(job, phase, part);
    if (phase % 2) {
        const int64_t text = part / of->heads, start = text ? job->ends[text - 1] : 0;
        const int64_t end = job->ends[text], size = hidden / of->heads, h = part % of->heads;
        for (int64_t t = start; t < end; t++) {
            const float *together = made_at(job, phase - 1, t / job->block)->together;
            NAME(put_in)(together + t * 3 * hidden + h * size, t - start, end - start, hidden, size, desk->keys);
        }
        NAME(attend)(end - start, hidden, size, h, desk->keys, desk->attended + start * hidden);
    } else {
        const int64_t first = part * job->block, rest = job->count - first;
        const int64_t count = rest < job->block ? rest : job->block;
        float *tokens = desk->tokens[layer % 2] + first * hidden;
        if (phase)
            NAME(change)(job, phase, first, count, desk, made, tokens);
        else
            NAME(begin)(job, first, count, desk, tokens);
        if (layer < of->count)
            desk->multiply(tokens, count, &of->layers[layer].together, desk, made, desk->together + first * 3 * hidden);
    }
    uint8_t nobody = 0;
    atomic_compare_exchange_strong(made, &nobody, (uint8_t)(worker + 1));
}

/* All phases: what nobody has taken, and then what others took and have not made. */
static void NAME(run)(void *given, int64_t worker)
{
    const Reading *job = given;
    const int64_t blocks = (job->count + job->block - 1) / job->block, heads = job->texts * job->of->heads;
    for (int64_t phase = 0; phase <= 2 * job->of->count; phase++) {
        const int64_t parts = phase % 2 ? heads : blocks;
        int64_t part;
        while ((part = atomic_fetch_add(&job->taken[phase], 1)) < parts) NAME(part)(job, phase, part, worker);
        for (part = 0; part < parts; part++) {
            const Maker *made = maker(job, phase, part);
            for (int looks = 0; !atomic_load(made) && looks < PATIENCE; looks++) REST();
            if (!atomic_load(made)) NAME(part)(job, phase, part, worker);
        }
    }
}

#if !defined(EDGERET_TEXTS_ALONE)
#include "arguments_body.h"
#endif
