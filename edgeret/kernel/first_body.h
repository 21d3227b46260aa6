/* What first.c has, in one set of instructions; it includes this once for each. */

static inline float NAME(dot)(const float *a, const float *b, int64_t n)
{
    float sums[8] = {0}, total = 0.0f;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) /* eight at once: the order of one sum would have to be kept */
        for (int64_t k = 0; k < 8; k++) sums[k] += a[i + k] * b[i + k];
    for (; i < n; i++) total += a[i] * b[i];
    for (int64_t k = 0; k < 8; k++) total += sums[k];
    return total;
}

/* What so many numbers add up to, eight of them at once. */
static inline double NAME(sum)(const float *values, int64_t n)
{
    float sums[8] = {0};
    double total = 0.0;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8)
        for (int64_t k = 0; k < 8; k++) sums[k] += values[i + k];
    for (; i < n; i++) total += values[i];
    for (int64_t k = 0; k < 8; k++) total += sums[k];
    return total;
}

static void NAME(to_unit)(float *row, int64_t n)
{
    const float squared = NAME(dot)(row, row, n);
    const float length = sqrtf(squared > LEAST_SQUARE ? squared : LEAST_SQUARE);
    for (int64_t i = 0; i < n; i++) row[i] *= 1.0f / length;
}

static void NAME(add)(float *sum, const float *row, int64_t n)
{
    for (int64_t i = 0; i < n; i++) sum[i] += row[i];
}

/* The vectors of so many tokens (count, dimension), from rows of bytes and their scales, and the unit means of all and of
   the consecutive parts, `means` (1 + parts, dimension). */
PUBLIC void NAME(edgeret_look_up)(const int8_t *rows, const float *scales, const int64_t *ids, int64_t count,
                            int64_t dimension, int64_t parts, float *tokens, float *means)
{
    memset(means, 0, (size_t)((1 + parts) * dimension) * sizeof(float));
    for (int64_t t = 0; t < count; t++) {
        const int8_t *row = rows + ids[t] * dimension;
        float *token = tokens + t * dimension;
        for (int64_t i = 0; i < dimension; i++) token[i] = (float)row[i] * scales[ids[t]];
        NAME(add)(means, token, dimension);
        NAME(add)(means + (1 + t * parts / count) * dimension, token, dimension);
    }
    for (int64_t p = 0; p <= parts; p++) NAME(to_unit)(means + p * dimension, dimension);
}

/* Unit means of spans of tokens, from `begins` to `ends`, both of `spans` numbers, the ends excluded. */
PUBLIC void NAME(edgeret_spans)(const float *tokens, int64_t dimension, const int64_t *begins, const int64_t *ends,
                          int64_t spans, float *out)
{
    memset(out, 0, (size_t)(spans * dimension) * sizeof(float));
    for (int64_t s = 0; s < spans; s++, out += dimension) {
        for (int64_t t = begins[s]; t < ends[s]; t++) NAME(add)(out, tokens + t * dimension, dimension);
        NAME(to_unit)(out, dimension);
    }
}

/* Where a request's windows and first clauses begin and end among its tokens, the ends excluded, `spans` the characters of
   each (count, 2): into `begins` and `ends`, MOST_PASSAGES each; how many windows, and behind them how many clauses. */
static void NAME(find_passages)(const char *text, int64_t length, int64_t least_words, const int64_t *spans,
                                int64_t count, int64_t *begins, int64_t *ends, int64_t *found)
{
    int64_t clauses[2 * MOST_CLAUSES], n = 0;
    const int64_t far = (count + MOST_WINDOWS - 1) / MOST_WINDOWS, stride = far > STRIDE ? far : STRIDE;
    for (int64_t at = 0; at + WINDOW < count; at += stride) {
        begins[n] = at;
        ends[n++] = at + WINDOW;
    }
    if (count) { /* the last one ends with the last token */
        begins[n] = count > WINDOW ? count - WINDOW : 0;
        ends[n++] = count;
    }
    found[0] = n;
    int64_t heard = edgeret_clauses(text, length, least_words, MOST_CLAUSES, clauses);
    if (!heard) {
        clauses[0] = 0;
        clauses[1] = length;
        heard = 1;
    }
    for (int64_t c = 0, first = 0; c < heard; c++) {
        while (first < count && spans[2 * first] < clauses[2 * c]) first++;
        int64_t behind = first;
        while (behind < count && spans[2 * behind + 1] <= clauses[2 * c + 1]) behind++;
        if (behind == first) continue;
        begins[n] = first;
        ends[n++] = behind;
    }
    found[1] = n - found[0];
}

/* Unit means of the tokens of a request's windows and of its first clauses, `out` (at most MOST_PASSAGES, dimension), and how
   many of each were `found`. `text` is ASCII. */
PUBLIC void NAME(edgeret_passages)(const char *text, int64_t length, int64_t least_words, const int64_t *spans,
                                   const float *tokens, int64_t count, int64_t dimension, int64_t *found, float *out)
{
    int64_t begins[MOST_PASSAGES], ends[MOST_PASSAGES];
    NAME(find_passages)(text, length, least_words, spans, count, begins, ends, found);
    NAME(edgeret_spans)(tokens, dimension, begins, ends, found[0] + found[1], out);
}

/* Eight numbers at a time. */
typedef float NAME(Eight) __attribute__((vector_size(32), aligned(4), may_alias));
#define EIGHT(at) (*(NAME(Eight) *)(at))

/* So many rows, which the compiler knows, times sixteen of the columns (dimension, n): `out`, `n` numbers from one row to
   the next. */
static inline __attribute__((always_inline)) void NAME(block)(const float *rows, const int64_t count,
                                                              const float *columns, int64_t dimension, int64_t n,
                                                              float *out)
{
    NAME(Eight) sums[TALL][2] = {{{0}}};
    for (int64_t i = 0; i < dimension; i++) {
        const NAME(Eight) left = EIGHT(columns + i * n), right = EIGHT(columns + i * n + 8);
        for (int64_t r = 0; r < count; r++) {
            sums[r][0] += rows[r * dimension + i] * left;
            sums[r][1] += rows[r * dimension + i] * right;
        }
    }
    for (int64_t r = 0; r < count; r++) {
        EIGHT(out + r * n) = sums[r][0];
        EIGHT(out + r * n + 8) = sums[r][1];
    }
}

/* The same with all columns, of which there are sixteen at least: the last ones once more, where 16 do not go into n. */
static inline __attribute__((always_inline)) void NAME(blocks)(const float *rows, const int64_t count,
                                                               const float *columns, int64_t dimension, int64_t n,
                                                               float *out)
{
    for (int64_t c = 0; c < n; c += 16) {
        const int64_t from = c + 16 <= n ? c : n - 16;
        NAME(block)(rows, count, columns + from, dimension, n, out + from);
    }
}

/* So many rows (count, dimension) times columns (dimension, n): `out` (count, n). */
PUBLIC void NAME(edgeret_products)(const float *rows, int64_t count, const float *columns, int64_t n, int64_t dimension,
                                   float *out)
{
    for (; n < 16 && count; count--, rows += dimension)
        for (int64_t c = 0; c < n; c++, out++) {
            *out = 0.0f;
            for (int64_t i = 0; i < dimension; i++) *out += rows[i] * columns[i * n + c];
        }
    for (; count >= TALL; count -= TALL, rows += TALL * dimension, out += TALL * n)
        NAME(blocks)(rows, TALL, columns, dimension, n, out);
    switch (count) {
    case 1: NAME(blocks)(rows, 1, columns, dimension, n, out); break;
    case 2: NAME(blocks)(rows, 2, columns, dimension, n, out); break;
    case 3: NAME(blocks)(rows, 3, columns, dimension, n, out); break;
    case 4: NAME(blocks)(rows, 4, columns, dimension, n, out); break;
    case 5: NAME(blocks)(rows, 5, columns, dimension, n, out); break;
    }
}

/* What so many different words share with every tool, `out` (FIELDS, tools); what all these words weigh. */
PUBLIC float NAME(edgeret_overlaps)(const Postings *p, const int64_t *words, int64_t count, float *out)
{
    const int64_t n = p->tools;
    float *name = out + BY_NAME * n, *parameters = out + BY_PARAMETERS * n, *coverage = out + BY_COVERAGE * n;
    float *text = out + BY_TEXT * n, total = 0.0f;
    float *by_field[3] = {name, text, parameters};
    memset(out, 0, (size_t)(FIELDS * n) * sizeof(float));
    for (int64_t w = 0; w < count; w++) {
        const float weight = p->rarity[words[w]];
        total += weight;
        for (int64_t i = p->starts[words[w]]; i < p->starts[words[w] + 1]; i++)
            by_field[p->places[i] / n][p->places[i] % n] += weight;
    }
    total = total > 1e-6f ? total : 1e-6f;
    for (int64_t i = 0; i < n; i++) {
        name[i] *= p->per_name[i];
        parameters[i] *= p->per_parameters[i];
        coverage[i] = text[i] / total;
        text[i] *= p->per_text[i];
    }
    return total;
}

static void NAME(largest_by_column)(const float *rows, int64_t count, int64_t n, float *out)
{
    memcpy(out, rows, (size_t)n * sizeof(float));
    for (int64_t r = 1; r < count; r++)
        for (int64_t i = 0; i < n; i++) out[i] = rows[r * n + i] > out[i] ? rows[r * n + i] : out[i];
}

/* How much a query wants each tool, taken at face value (tools). */
static void NAME(want)(const Tools *t, const float *cosines, const float *window, const float *clause, const float *shared,
                 float *wanted)
{
    const int64_t n = t->tools;
    const float *name = shared + BY_NAME * n, *coverage = shared + BY_COVERAGE * n;
    for (int64_t i = 0; i < n; i++)
        wanted[i] = 8.0f * window[i] + 2.0f * name[i] + 2.0f * coverage[i] + 4.0f * clause[i] + 3.0f * cosines[i];
    const float top = largest(wanted, n);
    for (int64_t i = 0; i < n; i++) wanted[i] = exponential(3.0f * (wanted[i] - top));
    wanted[t->end] = 0.0f;
    const double total = NAME(sum)(wanted, n);
    const float share = (float)(1.0 / (total > 1e-6 ? total : 1e-6));
    for (int64_t i = 0; i < n; i++) wanted[i] *= share;
}

/* From cosines to all tools, of the whole and its `parts`, of windows and of clauses, (1 + parts, tools) and so on, and from
   what words share with them (FIELDS, tools): `out` (4, tools), the best window's and the best clause's cosine, the part of
   the scores that no call changes, and the scores before any call. `wanted` has room for as many as there are tools. */
PUBLIC void NAME(edgeret_static)(const Tools *t, const float *cosines, int64_t parts, const float *windows,
                                 int64_t n_windows, const float *clauses, int64_t n_clauses, const float *shared,
                                 float *wanted, float *out)
{
    const int64_t n = t->tools;
    const float *name = shared + BY_NAME * n, *parameters = shared + BY_PARAMETERS * n;
    const float *coverage = shared + BY_COVERAGE * n, *text = shared + BY_TEXT * n;
    float *window = out, *clause = out + n, *scores = out + 2 * n, *begun = out + 3 * n;
    NAME(largest_by_column)(windows, n_windows, n, window);
    NAME(largest_by_column)(clauses, n_clauses, n, clause);
    for (int64_t i = 0; i < n; i++)
        scores[i] = t->name * name[i] + t->parameters * parameters[i] + t->coverage * coverage[i] + t->text * text[i] +
                    t->window * window[i] + t->clause * clause[i];
    if (t->flows[0].pairs || t->flows[1].pairs) NAME(want)(t, cosines, window, clause, shared, wanted);
    for (int64_t f = 0; f < 2; f++) {
        const Flow *flow = t->flows + f;
        for (int64_t i = 0; i < flow->pairs; i++)
            scores[flow->givers[i]] += (float)flow->weight * (wanted[flow->takers[i]] * flow->shares[i]);
    }
    scores[t->end] = 0.0f;
    /* How much nearer the first part is than the others; nothing is behind the first clause, and all windows lie ahead. */
    memset(begun, 0, (size_t)n * sizeof(float));
    for (int64_t p = 1; p <= parts; p++) NAME(add)(begun, cosines + p * n, n);
    for (int64_t i = 0; i < n; i++)
        begun[i] = t->third * (1.5f * cosines[n + i] - 0.5f * begun[i]) + scores[i] + t->next_clause * clauses[i] +
                   t->later * window[i];
    if (t->owed) NAME(add)(begun, t->owed, n);
}

/* Puts a row among the `most` nearest, of which there are `count` so far, the nearest first; of equal ones the first row
   stays ahead. How many there are then. */
static int64_t NAME(keep_near)(Near *near, int64_t count, int64_t most, float value, int64_t row)
{
    if (count == most && !(value > near[most - 1].value)) return count;
    int64_t i = count < most ? count++ : most - 1;
    for (; i > 0 && near[i - 1].value < value; i--) near[i] = near[i - 1];
    near[i].value = value;
    near[i].row = row;
    return count;
}

/* The `most` rows nearest to a vector, into `near`. All are compared in whole numbers, and exactly only those that may
   be among them for all that their bytes are off. `bounds` has room for as many as there are rows. */
static void NAME(find_near)(const Centroids *c, const float *vector, int64_t most, float *bounds, Near *near)
{
    int16_t small[MOST_DIMENSION];
    float size = 0.0f;
    int64_t count = 0;
    const int64_t n = c->dimension, room = 2147483647 / (127 * n);
    for (int64_t i = 0; i < n; i++) size = fabsf(vector[i]) > size ? fabsf(vector[i]) : size;
    const float step = (size > 1e-12f ? size : 1e-12f) / (float)(room < 32767 ? room : 32767);
    for (int64_t i = 0; i < n; i++) small[i] = (int16_t)lrintf(vector[i] / step);
    /* Lengths are 1 to within a hundredth, and sums of floats are off by less than the last term. */
    const float length = sqrtf(NAME(dot)(vector, vector, n));
    const float rounded = 0.51f * step * sqrtf((float)n) * 1.02f + 1e-5f;
    for (int64_t r = 0; r < c->rows; r++) {
        const int8_t *row = c->few + r * n;
        int32_t sum = 0;
        for (int64_t i = 0; i < n; i++) sum += (int16_t)row[i] * small[i];
        const float value = (float)sum * step * c->scales[r], error = c->errors[r] * length + rounded;
        count = NAME(keep_near)(near, count, most, value - error, r);
        bounds[r] = value + error;
    }
    const float least = near[most - 1].value;
    count = 0;
    for (int64_t r = 0; r < c->rows; r++)
        if (bounds[r] >= least) count = NAME(keep_near)(near, count, most, NAME(dot)(c->exact + r * n, vector, n), r);
}

/* The clusters that a query's unit vector is read from, ascending (most), their softmax (rows + 1), and what they together say before any history (labels); the nearest one's cosine. */
PUBLIC float NAME(edgeret_locate)(const Centroids *c, const Beginning *b, const float *vector, int64_t most, float *bounds,
                            int64_t *clusters, float *shares, float *pooled)
{
    Near near[MOST_NEAREST];
    double total = 0.0;
    NAME(find_near)(c, vector, most, bounds, near);
    memset(shares, 0, (size_t)(c->rows + 1) * sizeof(float));
    for (int64_t k = 0; k < most; k++) {
        int64_t i = k;
        for (; i > 0 && clusters[i - 1] > near[k].row; i--) clusters[i] = clusters[i - 1];
        clusters[i] = near[k].row;
        total += shares[near[k].row] = expf((float)((near[k].value - near[0].value) / b->temperature));
    }
    for (int64_t i = 0; i < b->labels; i++) pooled[i] = b->anywhere[i] * (float)b->cluster_prior;
    for (int64_t k = 0; k < most; k++) {
        float *share = shares + clusters[k];
        *share = (float)(*share / total);
        /* Clusters rise row by row behind the first, so a cluster's row comes no later than it would if all had one. */
        int64_t r = b->row + 1 + clusters[k];
        if (r > b->row_stop - 1) r = b->row_stop - 1;
        while (r > b->row && b->row_clusters[r] > clusters[k]) r--;
        if (r == b->row || b->row_clusters[r] != clusters[k]) continue;
        for (int64_t i = b->stops[r]; i < b->stops[r + 1]; i++) pooled[b->targets[i]] += *share * b->counts[i];
    }
    const float part = (float)(1.0 / NAME(sum)(pooled, b->labels));
    for (int64_t i = 0; i < b->labels; i++) pooled[i] *= part;
    return near[0].value;
}

/* The logits as far as the query alone gives them, `out` (calls, labels), two rows at least: from the query's unit `vector`,
   the prior's scores (at least labels), cosines to tools, `width` from one row to the next, the labels but the last
   first, and what the query is spelt with. */
PUBLIC void NAME(edgeret_query_logits)(const Logits *l, const float *vector, const float *prior, const float *cosines,
                                       int64_t width, const int64_t *buckets, const float *values, int64_t count,
                                       float *out)
{
    const int64_t n = l->labels;
    float *own = out + (l->calls - 1) * n; /* the last row, which is made of it last */
    int64_t k = 0;
    memset(out, 0, (size_t)n * sizeof(float));
    for (; k + 4 <= count; k += 4) { /* four rows at once: their sum is read and written once */
        const int8_t *a = l->spelling + buckets[k] * n, *b = l->spelling + buckets[k + 1] * n;
        const int8_t *c = l->spelling + buckets[k + 2] * n, *d = l->spelling + buckets[k + 3] * n;
        const float in_a = values[k], in_b = values[k + 1], in_c = values[k + 2], in_d = values[k + 3];
        for (int64_t i = 0; i < n; i++)
            out[i] += in_a * (float)a[i] + in_b * (float)b[i] + in_c * (float)c[i] + in_d * (float)d[i];
    }
    for (; k < count; k++) {
        const int8_t *row = l->spelling + buckets[k] * n;
        for (int64_t i = 0; i < n; i++) out[i] += values[k] * (float)row[i];
    }
    for (int64_t i = 0; i < n; i++)
        own[i] = NAME(dot)(l->weights + i * l->dimension, vector, l->dimension) + l->scales[i] * out[i] +
                 (float)l->prior_weight * prior[i];
    for (int64_t c = 0; c < l->calls; c++, out += n) {
        const float *mixture = l->mixture + l->stages[c] * l->mixed, *begun = l->by_calls + c * n;
        if (c && l->stages[c] == l->stages[c - 1]) { /* mixed once for all numbers of calls that see it alike */
            const float *before = begun - n;
            for (int64_t i = 0; i < n; i++) out[i] = out[i - n] + (begun[i] - before[i]);
            continue;
        }
        for (int64_t i = 0; i < n; i++) out[i] = begun[i] + own[i];
        for (int64_t m = 0; m < l->mixed; m++)
            for (int64_t i = 0; i < n - 1; i++) out[i] += mixture[m] * cosines[m * width + i];
    }
}

/* How a text in ASCII is spelt, whatever its case and spaces: which buckets are not 0, ascending, and their values, of a
   unit vector; how many, at most `most`: a piece of three letters and one of four for each letter make no more. */
PUBLIC int64_t NAME(edgeret_spell)(const char *text, int64_t length, int64_t most, int64_t *buckets, float *values)
{
    int32_t sums[BUCKETS] = {0};
    int64_t count = 0, squares = 0, read = 0;
    uint32_t last = 0; /* the four characters read last, the newest highest */
    for (int64_t i = -1; i <= length; i++) {
        const int space = i < 0 || i == length || is_space(text[i]);
        if (space && read && last >> 24 == ' ') continue; /* one stands for many, before the first word and behind the last */
        last = last >> 8 | (uint32_t)(space ? ' ' : lower(text[i])) << 24;
        if (++read >= 3) {
            const uint32_t piece = (last >> 8) * 0x9E3779B1u >> 21;
            sums[piece >> 1] += piece & 1 ? 1 : -1;
        }
        if (read >= 4) {
            const uint32_t piece = last * 0x9E3779B1u >> 21;
            sums[piece >> 1] += piece & 1 ? 1 : -1;
        }
    }
    for (int64_t b = 0; b < BUCKETS && count < most; b++) { /* a branch for each would be guessed wrongly too often */
        buckets[count] = b;
        values[count] = (float)sums[b];
        count += sums[b] != 0;
        squares += (int64_t)sums[b] * sums[b];
    }
    const float length_of_it = (float)sqrt((double)(squares > 1 ? squares : 1));
    for (int64_t k = 0; k < count; k++) values[k] /= length_of_it;
    return count;
}

/* Log-scores' exponentials, by that of the largest, `top`; below e^-87 of it 0. */
static inline float NAME(share)(float score, float top)
{
    const float shifted = score - top;
    return shifted < -87.0f ? 0.0f : exponential(shifted);
}

/* Log-scores become their exponentials, the largest of them 0 in place of 1: which one it is, and in `others` what the
   others add up to and the largest of them. What is not finite makes that sum not finite. */
PUBLIC int64_t NAME(edgeret_exponentials)(float *scores, int64_t n, double *others)
{
    const float top = largest(scores, n);
    int64_t best = 0;
    while (best < n - 1 && !(scores[best] == top)) best++;
    for (int64_t i = 0; i < n; i++) scores[i] = NAME(share)(scores[i], top);
    const float own = scores[best];
    scores[best] = 0.0f;
    others[0] = own == 1.0f ? NAME(sum)(scores, n) : NAN;
    others[1] = largest(scores, n);
    return best;
}

/* The log of what all log-scores' exponentials add up to, the largest of them `top`; 0 where that is -inf. */
static float NAME(log_total)(const float *scores, int64_t n, float top)
{
    double total = 0.0;
    float sums[8] = {0};
    int64_t i = 0;
    if (top == -INFINITY) return 0.0f;
    for (; i + 8 <= n; i += 8)
        for (int64_t k = 0; k < 8; k++) sums[k] += NAME(share)(scores[i + k], top);
    for (; i < n; i++) total += NAME(share)(scores[i], top);
    for (int64_t k = 0; k < 8; k++) total += sums[k];
    return (float)(log(total) + top);
}

/* Log-scores become log-probabilities, unless all are -inf; the largest as it was. */
PUBLIC float NAME(edgeret_log_shares)(float *scores, int64_t n)
{
    const float top = largest(scores, n), total = NAME(log_total)(scores, n, top);
    for (int64_t i = 0; i < n; i++) scores[i] -= total;
    return top;
}

/* Logs of what tools without demonstrations, which stand behind so many labels, weigh beside all of these, at `most`,
   `out` (n - labels): from the scores of all (n), -inf for those that cannot come next; those without any `popularity`
   (n) came later. The largest score. */
PUBLIC float NAME(edgeret_unseen)(const float *scores, int64_t n, int64_t labels, const float *popularity, float bias,
                                  float later, float most, float *out)
{
    const float top = largest(scores, n), total = NAME(log_total)(scores, n, top);
    for (int64_t i = labels; i < n; i++) {
        const float value = scores[i] - total + (popularity[i] == 0.0f ? later : bias);
        out[i - labels] = value < most ? value : most;
    }
    return top;
}

/* What a head's log-scores and a graph's probabilities (n) each say together, in place of the first. */
PUBLIC void NAME(edgeret_fuse)(float *head, const float *graph, int64_t n, float for_head, float for_graph)
{
    for (int64_t i = 0; i < n; i++) head[i] = head[i] * for_head + logf(graph[i]) * for_graph;
}
