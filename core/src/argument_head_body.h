/* The head for arguments, by what its desk's set of instructions has; transform.c includes it. The same as the
   reference's, but for activations that become bytes. */

/* `to` (count, n) and what is `added` to it. */
static void add_rows(float *restrict to, const float *restrict added, int64_t n)
{
    for (int64_t i = 0; i < n; i++) to[i] += added[i];
}

/* The units' rows, behind those of function and parameters, with what stands beside each. */
static void put_units(const ArgumentHead *of, const ArgumentCall *call, const ArgumentDesk *at)
{
    const int64_t n = call->units, d = ARG_WIDTH;
    float *u = at->x + (1 + call->parameters) * d, *features = at->three;
    for (int64_t i = 0; i < n; i++) {
        float *row = features + i * PADDED;
        memset(row, 0, PADDED * sizeof *row);
        memcpy(row, call->features + i * FEATURES, FEATURES * sizeof *row);
        for (int r = 0; r < RELATIONS; r++) {
            float most = call->relations[i * RELATIONS + r];
            for (int64_t p = 1; p < call->parameters; p++) {
                const float other = call->relations[(p * n + i) * RELATIONS + r];
                most = other > most ? other : most;
            }
            row[FEATURES + r] = most;
        }
    }
    memcpy(u, call->words, (size_t)(n * d) * sizeof *u);
    at->desk.set->multiply(features, n, &of->unit, &at->desk, NULL, at->wide);
    at->desk.set->normalise(u, at->wide, n, d, &of->unit_norm, at->next);
    for (int64_t i = 0; i < n; i++)
        for (int64_t k = -1; k <= 1; k++) {
            float *to = at->three + (3 * i + k + 1) * d;
            if (i + k < 0 || i + k >= n)
                memset(to, 0, (size_t)d * sizeof *to);
            else
                memcpy(to, at->next + (i + k) * d, (size_t)d * sizeof *to);
        }
    at->desk.set->multiply(at->three, n, &of->beside, &at->desk, NULL, u);
    add_rows(u, at->next, n * d);
}

static void run_layers(const ArgumentHead *of, int64_t count, const ArgumentDesk *at)
{
    const int64_t d = ARG_WIDTH;
    for (int l = 0; l < ARG_LAYERS; l++) {
        const Layer *layer = of->layers + l;
        at->desk.set->normalise(at->x, NULL, count, d, &layer->between, at->next);
        at->desk.set->multiply(at->next, count, &layer->together, &at->desk, NULL, at->three);
        for (int h = 0; h < ARG_HEADS; h++) {
            const int64_t size = d / ARG_HEADS;
            for (int64_t s = 0; s < count; s++)
                put_in(at->three + s * 3 * d + h * size, s, count, d, size, at->desk.keys);
            at->desk.set->attend(count, d, size, h, at->desk.keys, at->attended);
        }
        at->desk.set->multiply(at->attended, count, &layer->attended, &at->desk, NULL, at->next);
        add_rows(at->x, at->next, count * d);
        at->desk.set->normalise(at->x, NULL, count, d, &layer->behind, at->next);
        at->desk.set->multiply(at->next, count, &layer->wide, &at->desk, NULL, at->wide);
        for (int64_t i = 0; i < count * ARG_INNER; i++) at->wide[i] = at->wide[i] > 0.0f ? at->wide[i] : 0.0f;
        at->desk.set->multiply(at->wide, count, &layer->narrow, &at->desk, NULL, at->next);
        add_rows(at->x, at->next, count * d);
    }
    at->desk.set->normalise(at->x, NULL, count, d, &of->norm, at->next);
}

/* Scores of a parameter's spans; of those that run over the end -1e4. */
static void score_spans(const ArgumentHead *of, const ArgumentCall *call, const ArgumentDesk *at, int64_t p,
                        float *spans)
{
    const int64_t n = call->units, d = ARG_WIDTH;
    const float *ask = at->ask + 4 * p * d, *small = at->small + p * SMALL;
    const float *relations = call->relations + p * n * RELATIONS;
    float *start = at->line, *end = start + n, *sums = end + n, of_length[LONGEST];
    double sum = 0.0;
    sums[0] = 0.0f;
    at->desk.set->dots(ask, at->answer, 3 * d, n, d, start);
    at->desk.set->dots(ask + d, at->answer + d, 3 * d, n, d, end);
    at->desk.set->dots(ask + 2 * d, at->answer + 2 * d, 3 * d, n, d, sums + 1);
    for (int64_t u = 0; u < n; u++) {
        sum += sums[u + 1];
        sums[u + 1] = (float)sum;
    }
    for (int64_t k = 0; k < 4 * BEFORE; k++) { /* the words before and in a beginning, behind and in an end */
        const int64_t which = k / (2 * BEFORE), near = k / 2 % BEFORE, within = k % 2;
        const int64_t step = which == within ? near + which - BEFORE : near + which;
        const float *by = of->near + k * RELATIONS;
        float *scores = which ? end : start;
        for (int64_t u = step < 0 ? -step : 0; u < n && u + step < n; u++)
            for (int r = 0; r < RELATIONS; r++) scores[u] += relations[(u + step) * RELATIONS + r] * by[r];
    }
    for (int i = 0; i < LONGEST; i++) of_length[i] = 1.0f / sqrtf((float)(i + 1));
    for (int64_t u = 0; u < n; u++)
        for (int64_t i = 0; i < LONGEST; i++)
            spans[u * LONGEST + i] = u + i < n ? start[u] + end[u + i] + small[i] +
                                                     (sums[u + i + 1] - sums[u]) * of_length[i]
                                               : -1e4f;
    for (int64_t c = 0; c < call->chunk_count; c++) {
        const int64_t kind = call->chunks[3 * c], first = call->chunks[3 * c + 1], length = call->chunks[3 * c + 2];
        if (kind >= 0 && kind < KINDS && first >= 0 && first < n && length >= 0 && length < LONGEST)
            spans[first * LONGEST + length] += small[LONGEST + kind];
    }
}

/* The score of an option of a parameter, its number being `k`. */
static float score_option(const ArgumentHead *of, const ArgumentCall *call, const ArgumentDesk *at, int64_t p,
                          int64_t k, int64_t o)
{
    const int64_t d = ARG_WIDTH;
    const float *units = at->next + (1 + call->parameters) * d, *by = call->by + o * d;
    float best = -1e30f, *each = at->line, score;
    at->desk.set->dots(by, units, d, call->units, d, each);
    for (int64_t u = 0; u < call->units; u++) best = each[u] > best ? each[u] : best;
    at->desk.set->dots(at->ask + (4 * p + 3) * d, call->own + o * d, d, 1, d, &score);
    score += best / sqrtf((float)d);
    for (int i = 0; i < OPTION_FEATURES; i++) score += call->told[o * OPTION_FEATURES + i] * of->said[i];
    if (call->boolean[p] && call->counts[p] == 2) score += at->small[p * SMALL + LONGEST + KINDS + k];
    return score;
}

static void point(const ArgumentHead *of, const ArgumentCall *call, const ArgumentDesk *at,
                        const ArgumentShares *found)
{
    const int64_t n = call->units, d = ARG_WIDTH, count = call->parameters;
    memcpy(at->x, call->rows, (size_t)((1 + count) * d) * sizeof *at->x);
    put_units(of, call, at);
    run_layers(of, 1 + count + n, at);
    const float *parameters = at->next + d, *units = parameters + count * d;
    at->desk.set->multiply(parameters, count, &of->ask, &at->desk, NULL, at->ask);
    at->desk.set->multiply(units, n, &of->answer, &at->desk, NULL, at->answer);
    at->desk.set->multiply(parameters, count, &of->small, &at->desk, NULL, at->small);
    const float scale = 1.0f / sqrtf((float)d);
    for (int64_t i = 0; i < 4 * count * d; i++) at->ask[i] *= scale;
    for (int64_t p = 0, o = 0; p < count; o += call->counts[p++]) {
        float *spans = found->spans + p * n * LONGEST, *scores = spans, *absent = found->absent + p;
        int64_t many = n * LONGEST;
        if (call->counts[p]) { /* who has options takes no span */
            scores = found->options + o;
            many = call->counts[p];
            for (int64_t k = 0; k < many; k++) scores[k] = score_option(of, call, at, p, k, o + k);
        } else
            score_spans(of, call, at, p, spans);
        *absent = at->small[p * SMALL + LONGEST + KINDS + 2];
        float most = largest(scores, many);
        most = most > *absent ? most : *absent;
        const float total = logf(at->desk.set->sum_of_powers(scores, many, most) + exponential(*absent - most)) + most;
        for (int64_t i = 0; i < many; i++) scores[i] -= total;
        *absent -= total;
        if (call->counts[p])
            for (int64_t i = 0; i < n * LONGEST; i++) spans[i] = -1e4f;
    }
}
