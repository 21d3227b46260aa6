/* A transformer's phases, which are the same in every set of instructions: what takes their time is what the desk's set
   has. transform.c includes this once. */

/* A room for attention holds a head's keys on their side, (size, wide), where `wide` is count made a multiple of 16; eight
   rows of `wide`; then queries and values (count, size). This puts in those of token s, of its query, key and value. */
static void put_in(const float *row, int64_t s, int64_t count, int64_t hidden, int64_t size, float *room)
{
    const int64_t wide = (count + 15) & ~(int64_t)15;
    const float scale = 1.0f / sqrtf((float)size);
    float *queries = room + (size + 8) * wide + s * size, *values = queries + count * size;
    for (int64_t d = 0; d < size; d += 4) { /* as heads have a multiple of it */
        const Numbers_4 keys = *(const Numbers_4 *)(row + hidden + d) * scale;
        UNROLLED for (int i = 0; i < 4; i++) room[(d + i) * wide + s] = keys[i];
        *(Numbers_4 *)(queries + d) = *(const Numbers_4 *)(row + d);
        *(Numbers_4 *)(values + d) = *(const Numbers_4 *)(row + 2 * hidden + d);
    }
}

/* A layer's second half: `tokens` (count, hidden) are what those `before` become by what they attended to. */
static void change(const Reading *job, int64_t phase, int64_t first, int64_t count, const Desk *desk,
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
    desk->set->multiply(desk->next, count, &layer->attended, desk, made, desk->other);
    desk->set->normalise(desk->other, before, count, hidden, &layer->between, desk->next);
    desk->set->multiply(desk->next, count, &layer->wide, desk, made, desk->wide);
    if (atomic_load_explicit(made, memory_order_relaxed)) return;
    desk->set->gelu(desk->wide, count * layer->wide.columns);
    desk->set->multiply(desk->wide, count, &layer->narrow, desk, made, desk->other);
    desk->set->normalise(desk->other, desk->next, count, hidden, &layer->behind, tokens);
}

/* One part of a phase: attention of a head of a text in odd phases; else a block of tokens from there to the next. It is
   made afterwards, by this worker or another. */
static void make_part(const Reading *job, int64_t phase, int64_t part, int64_t worker)
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
            put_in(together + t * 3 * hidden + h * size, t - start, end - start, hidden, size, desk->keys);
        }
        desk->set->attend(end - start, hidden, size, h, desk->keys, desk->attended + start * hidden);
    } else {
        const int64_t first = part * job->block, rest = job->count - first;
        const int64_t count = rest < job->block ? rest : job->block;
        float *tokens = desk->tokens[layer % 2] + first * hidden;
        if (phase)
            change(job, phase, first, count, desk, made, tokens);
        else
            desk->set->begin(job, first, count, desk, tokens);
        if (layer < of->count)
            desk->set->multiply(tokens, count, &of->layers[layer].together, desk, made, desk->together + first * 3 * hidden);
    }
    uint8_t nobody = 0;
    atomic_compare_exchange_strong(made, &nobody, (uint8_t)(worker + 1));
}

/* All phases: what nobody has taken, and then what others took and have not made. */
static void run_phases(void *given, int64_t worker)
{
    const Reading *job = given;
    const int64_t blocks = (job->count + job->block - 1) / job->block, heads = job->texts * job->of->heads;
    for (int64_t phase = 0; phase <= 2 * job->of->count; phase++) {
        const int64_t parts = phase % 2 ? heads : blocks;
        int64_t part;
        while ((part = atomic_fetch_add(&job->taken[phase], 1)) < parts) make_part(job, phase, part, worker);
        for (part = 0; part < parts; part++) {
            const Maker *made = maker(job, phase, part);
            for (int looks = 0; !atomic_load(made) && looks < PATIENCE; looks++) REST();
            if (!atomic_load(made)) make_part(job, phase, part, worker);
        }
    }
}
