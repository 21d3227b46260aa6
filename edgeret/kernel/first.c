/* What a new query needs before its first step, since numpy spends most of it on being called: edgeret_look_up does what
   StaticEncoder (static.py) does with token numbers, edgeret_spans what passages (evidence.py), edgeret_overlaps what
   Lexicon.overlaps (lexicon.py), edgeret_static what Reading (reading.py), edgeret_locate what Graph.locate (graph.py),
   edgeret_query_logits what FactoredHead.query_logits (head.py), and edgeret_spell what spelling (spelling.py) does.
   Tests hold them to the same numbers. Knows nothing of Python; whoever calls vouches for all lengths. */

#include <string.h>

#include "arithmetic.h"

static const float LEAST_SQUARE = 1e-24f;

static inline float dot(const float *a, const float *b, int64_t n)
{
    float sums[8] = {0}, total = 0.0f;
    int64_t i = 0;
    for (; i + 8 <= n; i += 8) /* eight at once: the order of one sum would have to be kept */
        for (int64_t k = 0; k < 8; k++) sums[k] += a[i + k] * b[i + k];
    for (; i < n; i++) total += a[i] * b[i];
    for (int64_t k = 0; k < 8; k++) total += sums[k];
    return total;
}

static void to_unit(float *row, int64_t n)
{
    const float squared = dot(row, row, n);
    const float length = sqrtf(squared > LEAST_SQUARE ? squared : LEAST_SQUARE);
    for (int64_t i = 0; i < n; i++) row[i] /= length;
}

static void add(float *sum, const float *row, int64_t n)
{
    for (int64_t i = 0; i < n; i++) sum[i] += row[i];
}

/* The vectors of so many tokens (count, dimension), from rows of bytes and their scales, and the unit means of all and of
   the consecutive parts, `means` (1 + parts, dimension). */
PUBLIC void edgeret_look_up(const int8_t *rows, const float *scales, const int64_t *ids, int64_t count,
                            int64_t dimension, int64_t parts, float *tokens, float *means)
{
    memset(means, 0, (size_t)((1 + parts) * dimension) * sizeof(float));
    for (int64_t t = 0; t < count; t++) {
        const int8_t *row = rows + ids[t] * dimension;
        float *token = tokens + t * dimension;
        for (int64_t i = 0; i < dimension; i++) token[i] = (float)row[i] * scales[ids[t]];
        add(means, token, dimension);
        add(means + (1 + t * parts / count) * dimension, token, dimension);
    }
    for (int64_t p = 0; p <= parts; p++) to_unit(means + p * dimension, dimension);
}

/* Unit means of spans of tokens, from `begins` to `ends`, both of `spans` numbers, the ends excluded. */
PUBLIC void edgeret_spans(const float *tokens, int64_t dimension, const int64_t *begins, const int64_t *ends,
                          int64_t spans, float *out)
{
    memset(out, 0, (size_t)(spans * dimension) * sizeof(float));
    for (int64_t s = 0; s < spans; s++, out += dimension) {
        for (int64_t t = begins[s]; t < ends[s]; t++) add(out, tokens + t * dimension, dimension);
        to_unit(out, dimension);
    }
}

/* Where the words of a set of tools are: those of word w at places[starts[w]] to places[starts[w + 1]]; a place is a
   tool's position, with the number of tools added once for the text and twice for the parameters. */
typedef struct {
    int64_t tools;
    const int64_t *starts, *places;
    const float *rarity;                             /* (words) */
    const float *per_name, *per_parameters, *per_text; /* (tools) each */
} Postings;

enum { NAME, PARAMETERS, COVERAGE, TEXT, FIELDS };

/* What so many different words share with every tool, `out` (FIELDS, tools); what all these words weigh. */
PUBLIC float edgeret_overlaps(const Postings *p, const int64_t *words, int64_t count, float *out)
{
    const int64_t n = p->tools;
    float *name = out + NAME * n, *parameters = out + PARAMETERS * n, *coverage = out + COVERAGE * n;
    float *text = out + TEXT * n, total = 0.0f;
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

/* Flow of one kind: pairs of a taker and a giver, and what one giver of the taker counts for; what a tool weighs that
   gives to what is wanted. */
typedef struct {
    int64_t pairs;
    const int64_t *takers, *givers;
    const float *shares; /* (pairs) */
    double weight;
} Flow;

/* The tools that a query is read among. */
typedef struct {
    int64_t tools, end;
    float name, parameters, coverage, text, window, clause; /* what each weighs */
    Flow flows[2];
} Tools;

static void largest_by_column(const float *rows, int64_t count, int64_t n, float *out)
{
    memcpy(out, rows, (size_t)n * sizeof(float));
    for (int64_t r = 1; r < count; r++)
        for (int64_t i = 0; i < n; i++) out[i] = rows[r * n + i] > out[i] ? rows[r * n + i] : out[i];
}

/* How much a query wants each tool, taken at face value (tools). */
static void want(const Tools *t, const float *cosines, const float *window, const float *clause, const float *shared,
                 float *wanted)
{
    const int64_t n = t->tools;
    const float *name = shared + NAME * n, *coverage = shared + COVERAGE * n;
    double total = 0.0;
    for (int64_t i = 0; i < n; i++)
        wanted[i] = 8.0f * window[i] + 2.0f * name[i] + 2.0f * coverage[i] + 4.0f * clause[i] + 3.0f * cosines[i];
    const float top = largest(wanted, n);
    for (int64_t i = 0; i < n; i++) wanted[i] = exponential(3.0f * (wanted[i] - top));
    wanted[t->end] = 0.0f;
    for (int64_t i = 0; i < n; i++) total += wanted[i];
    const float share = (float)(1.0 / (total > 1e-6 ? total : 1e-6));
    for (int64_t i = 0; i < n; i++) wanted[i] *= share;
}

/* From cosines to all tools, of the whole, of windows and of clauses, (windows, tools) and so on, and from what words
   share with them (FIELDS, tools): `out` (3, tools), the best window's and the best clause's cosine, and the part of the
   scores that no call changes. `wanted` has room for as many as there are tools. */
PUBLIC void edgeret_static(const Tools *t, const float *cosines, const float *windows, int64_t n_windows,
                           const float *clauses, int64_t n_clauses, const float *shared, float *wanted, float *out)
{
    const int64_t n = t->tools;
    const float *name = shared + NAME * n, *parameters = shared + PARAMETERS * n, *coverage = shared + COVERAGE * n;
    const float *text = shared + TEXT * n;
    float *window = out, *clause = out + n, *scores = out + 2 * n;
    largest_by_column(windows, n_windows, n, window);
    largest_by_column(clauses, n_clauses, n, clause);
    for (int64_t i = 0; i < n; i++)
        scores[i] = t->name * name[i] + t->parameters * parameters[i] + t->coverage * coverage[i] + t->text * text[i] +
                    t->window * window[i] + t->clause * clause[i];
    if (t->flows[0].pairs || t->flows[1].pairs) want(t, cosines, window, clause, shared, wanted);
    for (int64_t f = 0; f < 2; f++) {
        const Flow *flow = t->flows + f;
        for (int64_t i = 0; i < flow->pairs; i++)
            scores[flow->givers[i]] += (float)flow->weight * (wanted[flow->takers[i]] * flow->shares[i]);
    }
    scores[t->end] = 0.0f;
}

/* Unit rows that a vector is compared with: as they are; in bytes, with what one counts for; and how far the bytes are
   from the rows, at most. `spare` is not the rows': 2 numbers each. */
typedef struct {
    int64_t rows, dimension;
    const float *exact;
    const int8_t *few;
    const float *scales, *errors; /* (rows) each */
} Centroids;

typedef struct {
    float value;
    int64_t row;
} Near;

/* Puts a row among the `most` nearest, of which there are `count` so far, the nearest first; of equal ones the first row
   stays ahead. How many there are then. */
static int64_t keep_near(Near *near, int64_t count, int64_t most, float value, int64_t row)
{
    if (count == most && !(value > near[most - 1].value)) return count;
    int64_t i = count < most ? count++ : most - 1;
    for (; i > 0 && near[i - 1].value < value; i--) near[i] = near[i - 1];
    near[i].value = value;
    near[i].row = row;
    return count;
}

enum { MOST_NEAREST = 64, MOST_DIMENSION = 4096 };

/* The `most` rows nearest to a vector, into `near`. All are compared in whole numbers, and exactly only those that may
   be among them for all that their bytes are off. `bounds` has room for as many as there are rows. */
static void find_near(const Centroids *c, const float *vector, int64_t most, float *bounds, Near *near)
{
    int16_t small[MOST_DIMENSION];
    float size = 0.0f;
    int64_t count = 0;
    const int64_t n = c->dimension, room = 2147483647 / (127 * n);
    for (int64_t i = 0; i < n; i++) size = fabsf(vector[i]) > size ? fabsf(vector[i]) : size;
    const float step = (size > 1e-12f ? size : 1e-12f) / (float)(room < 32767 ? room : 32767);
    for (int64_t i = 0; i < n; i++) small[i] = (int16_t)lrintf(vector[i] / step);
    /* Lengths are 1 to within a hundredth, and sums of floats are off by less than the last term. */
    const float length = sqrtf(dot(vector, vector, n));
    const float rounded = 0.51f * step * sqrtf((float)n) * 1.02f + 1e-5f;
    for (int64_t r = 0; r < c->rows; r++) {
        const int8_t *row = c->few + r * n;
        int32_t sum = 0;
        for (int64_t i = 0; i < n; i++) sum += (int16_t)row[i] * small[i];
        const float value = (float)sum * step * c->scales[r], error = c->errors[r] * length + rounded;
        count = keep_near(near, count, most, value - error, r);
        bounds[r] = value + error;
    }
    const float least = near[most - 1].value;
    count = 0;
    for (int64_t r = 0; r < c->rows; r++)
        if (bounds[r] >= least) count = keep_near(near, count, most, dot(c->exact + r * n, vector, n), r);
}

/* What followed the shortest context of all: its rows, from and to, the first counting all demonstrations. */
typedef struct {
    int64_t row, row_stop, labels;
    const int64_t *row_clusters, *stops, *targets;
    const float *counts, *anywhere;
    double cluster_prior, temperature;
} Beginning;

/* The clusters that a query's unit vector is read from, ascending (most), their softmax (rows + 1), and what they together say before any history (labels); the nearest one's cosine. */
PUBLIC float edgeret_locate(const Centroids *c, const Beginning *b, const float *vector, int64_t most, float *bounds,
                            int64_t *clusters, float *shares, float *pooled)
{
    Near near[MOST_NEAREST];
    double total = 0.0;
    find_near(c, vector, most, bounds, near);
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
    total = 0.0;
    for (int64_t i = 0; i < b->labels; i++) total += pooled[i];
    for (int64_t i = 0; i < b->labels; i++) pooled[i] = (float)(pooled[i] / total);
    return near[0].value;
}

/* What a head's logits add to the query's own part. */
typedef struct {
    int64_t labels, calls, mixed;  /* numbers of calls told apart; the query and its parts */
    const float *by_calls;         /* (calls, labels) */
    const int64_t *stages;         /* (calls): rows of the mixture */
    const float *mixture;          /* (stages, mixed) */
    const float *spelling;         /* (buckets, labels) */
    double prior_weight;
} Logits;

/* The logits as far as the query alone gives them, `out` (calls, labels): from the query's own part (labels), which is
   used up, the prior's (at least labels), cosines to tools, `width` from one row to the next, the labels but the last
   first, and what the query is spelt with. */
PUBLIC void edgeret_query_logits(const Logits *l, float *own, const float *prior, const float *cosines, int64_t width,
                                 const int64_t *buckets, const float *values, int64_t count, float *out)
{
    const int64_t n = l->labels;
    for (int64_t k = 0; k < count; k++) {
        const float *row = l->spelling + buckets[k] * n;
        for (int64_t i = 0; i < n; i++) own[i] += values[k] * row[i];
    }
    for (int64_t i = 0; i < n; i++) own[i] += (float)l->prior_weight * prior[i];
    for (int64_t c = 0; c < l->calls; c++, out += n) {
        const float *mixture = l->mixture + l->stages[c] * l->mixed, *begun = l->by_calls + c * n;
        for (int64_t i = 0; i < n; i++) out[i] = begun[i] + own[i];
        for (int64_t m = 0; m < l->mixed; m++)
            for (int64_t i = 0; i < n - 1; i++) out[i] += mixture[m] * cosines[m * width + i];
    }
}

enum { BUCKETS = 1024 };

/* How bytes are spelt: which buckets are not 0, ascending, and their values, of a unit vector; how many. */
PUBLIC int64_t edgeret_spell(const uint8_t *text, int64_t length, int64_t *buckets, float *values)
{
    int32_t sums[BUCKETS] = {0};
    int64_t count = 0, squares = 0;
    for (int64_t i = 0; i + 3 <= length; i++) {
        const uint32_t three = text[i] | (uint32_t)text[i + 1] << 8 | (uint32_t)text[i + 2] << 16;
        const uint32_t piece = three * 0x9E3779B1u >> 21;
        sums[piece >> 1] += piece & 1 ? 1 : -1;
        if (i + 4 > length) break;
        const uint32_t four = (three | (uint32_t)text[i + 3] << 24) * 0x9E3779B1u >> 21;
        sums[four >> 1] += four & 1 ? 1 : -1;
    }
    for (int64_t b = 0; b < BUCKETS; b++) {
        if (!sums[b]) continue;
        buckets[count] = b;
        values[count++] = (float)sums[b];
        squares += (int64_t)sums[b] * sums[b];
    }
    const float length_of_it = (float)sqrt((double)(squares > 1 ? squares : 1));
    for (int64_t k = 0; k < count; k++) values[k] /= length_of_it;
    return count;
}
