/* Section 8.1: the linear head over the query, its thirds, its spelling and the calls so far. */

#include "request.h"
#include "unicode.h"
#include "vectors.h"

enum { BUCKETS = 1024 };

/* z: how the query is spelt, of the few buckets that are not 0. */
typedef struct {
    uint32_t at[BUCKETS], count;
    float values[BUCKETS];
} spelling;

static void count(int32_t *counts, uint32_t *met, uint32_t letters)
{
    const uint32_t hash = letters * 2654435761u, bucket = hash >> 22;
    counts[bucket] += hash >> 21 & 1 ? 1 : -1;
    met[bucket / 32] |= 1u << bucket % 32;
}

static bool spell(er_arena *arena, const er_points *query, spelling *z)
{
    uint32_t *lower = ER_TAKE(arena, uint32_t, 2 * (size_t)query->count + 1);
    uint8_t *bytes = ER_TAKE(arena, uint8_t, 8 * (size_t)query->count + 8);
    if (!lower || !bytes) return false;
    const uint32_t letters = er_lower(query->points, query->count, lower);
    /* Runs of white space are one space; there is one in front and one behind. */
    size_t length = 0;
    bytes[length++] = ' ';
    for (uint32_t i = 0; i < letters; i++) {
        if (!er_is_space(lower[i])) length += er_put_point((char *)bytes + length, lower[i]);
        else if (bytes[length - 1] != ' ') bytes[length++] = ' ';
    }
    if (bytes[length - 1] != ' ' || length == 1) bytes[length++] = ' ';
    int32_t counts[BUCKETS] = {0};
    uint32_t met[BUCKETS / 32] = {0};
    for (size_t i = 0; i + 3 <= length; i++) {
        const uint32_t three = (uint32_t)bytes[i] | (uint32_t)bytes[i + 1] << 8 | (uint32_t)bytes[i + 2] << 16;
        count(counts, met, three);
        if (i + 4 <= length) count(counts, met, three | (uint32_t)bytes[i + 3] << 24);
    }
    double square = 0;
    z->count = 0;
    for (uint32_t word = 0; word < BUCKETS / 32; word++)
        for (uint32_t bits = met[word]; bits; bits &= bits - 1) {
            const uint32_t bucket = word * 32 + (uint32_t)__builtin_ctz(bits);
            if (!counts[bucket]) continue;
            z->at[z->count] = bucket;
            z->values[z->count++] = (float)counts[bucket];
            square += (double)counts[bucket] * counts[bucket];
        }
    const float by = (float)(1.0 / sqrt(square > 1.0 ? square : 1.0));
    for (uint32_t i = 0; i < z->count; i++) z->values[i] *= by;
    return true;
}

static float number(const er_head *head, const uint8_t *row, uint32_t at)
{
    if (head->spelling_bytes == BUCKETS) return (float)(int8_t)row[at];
    return (float)((int32_t)((row[at / 2] >> at % 2 * 4 & 15u) ^ 8u) - 8);
}

/* Zᵀ·z of all labels. */
static bool spelt(er_arena *arena, const er_head *head, uint32_t labels, const spelling *z, float *found)
{
    float *sums = ER_TAKE(arena, float, head->buckets ? head->bucket_labels : labels);
    if (!sums) return false;
    if (head->buckets) er_sum_rows(head->buckets, head->bucket_labels, z->at, z->values, z->count, sums);
    for (uint32_t label = 0; label < labels; label++) {
        const uint8_t *row = head->spelling + (size_t)label * head->spelling_bytes;
        for (uint32_t i = 0; !head->buckets && i < z->count; i++) sums[label] += number(head, row, z->at[i]) * z->values[i];
        found[label] += sums[label] * head->spelling_scales[label];
    }
    return true;
}

bool er_head_read(er_request *r, const er_points *query)
{
    const er_head *head = &r->stage->head;
    float *fixed = ER_TAKE(&r->arena, float, r->labels);
    if (!fixed) return false;
    const er_place mark = er_mark(&r->arena);
    spelling z;
    if (!spell(&r->arena, query, &z)) return false;
    er_byte_products(head->weights, head->weight_scales, r->labels, r->dimension, r->vectors, fixed);
    for (uint32_t label = 0; label < r->labels; label++) {
        fixed[label] += head->bias[label];
        if (!head->prior_steps) fixed[label] += (float)head->prior_weight * r->statics[label];
    }
    if (!spelt(&r->arena, head, r->labels, &z, fixed)) return false;
    er_release(&r->arena, mark);
    r->fixed = fixed;
    return true;
}

static void add_history(const er_head *head, uint32_t row, float *logits)
{
    for (int32_t i = head->starts[row]; i < head->starts[row + 1]; i++) logits[head->followers[i]] += head->values[i];
}

void er_head_logits(const er_request *r, const er_history *h, float *logits)
{
    const er_head *head = &r->stage->head;
    const uint32_t labels = r->labels, stage = h->count < head->stages ? h->count : head->stages - 1;
    const float *count = head->count + (size_t)(h->count < head->count_rows ? h->count : head->count_rows - 1) * labels;
    const float *mix = head->segment_weights + (size_t)stage * ER_SEGMENTS, described = (float)head->description_weight;
    const float *whole = r->cosines, *thirds = r->cosines + r->n;
    for (uint32_t y = 0; y < labels; y++) {
        logits[y] = r->fixed[y] + count[y];
        if (y != r->end)
            logits[y] += described * whole[y] + mix[0] * thirds[y] + mix[1] * thirds[r->n + y] + mix[2] * thirds[2 * r->n + y];
    }
    for (uint32_t y = 0; !h->count && !head->prior_steps && r->said_any && y < r->end; y++)
        if (r->said[y]) logits[y] += 10.0f;
    for (uint32_t i = 0; i < h->made_count; i++)
        if (h->made[i] < r->end) add_history(head, h->made[i], logits);
    const int32_t last = h->count ? h->places[h->count - 1] : -1;
    if (last >= 0 && (uint32_t)last < r->end) add_history(head, labels + (uint32_t)last, logits);
}
