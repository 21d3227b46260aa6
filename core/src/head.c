/* Section 8.1: the linear head over the query, its thirds, its spelling and the calls so far. */

#include "request.h"
#include "unicode.h"
#include "vectors.h"

enum { BUCKETS = 1024 };

/* z: how the query is spelt. */
static bool spell(er_arena *arena, const er_points *query, float *z)
{
    uint32_t *lower = ER_TAKE(arena, uint32_t, 2 * (size_t)query->count + 1);
    uint8_t *bytes = ER_TAKE(arena, uint8_t, 8 * (size_t)query->count + 8);
    if (!lower || !bytes) return false;
    const uint32_t count = er_lower(query->points, query->count, lower);
    /* Runs of white space are one space; there is one in front and one behind. */
    size_t length = 0;
    bytes[length++] = ' ';
    for (uint32_t i = 0; i < count; i++) {
        if (!er_is_space(lower[i])) length += er_put_point((char *)bytes + length, lower[i]);
        else if (bytes[length - 1] != ' ') bytes[length++] = ' ';
    }
    if (bytes[length - 1] != ' ' || length == 1) bytes[length++] = ' ';
    memset(z, 0, BUCKETS * sizeof(float));
    for (size_t i = 0; i + 3 <= length; i++) {
        const uint32_t three = (uint32_t)bytes[i] | (uint32_t)bytes[i + 1] << 8 | (uint32_t)bytes[i + 2] << 16;
        uint32_t hash = three * 2654435761u;
        z[hash >> 22] += hash >> 21 & 1 ? 1.0f : -1.0f;
        if (i + 4 > length) continue;
        hash = (three | (uint32_t)bytes[i + 3] << 24) * 2654435761u;
        z[hash >> 22] += hash >> 21 & 1 ? 1.0f : -1.0f;
    }
    const double square = er_dot(z, z, BUCKETS);
    const float by = (float)(1.0 / sqrt(square > 1.0 ? square : 1.0));
    for (uint32_t i = 0; i < BUCKETS; i++) z[i] *= by;
    return true;
}

/* Zᵀ·z of one label: of the few buckets that are not 0. */
static float spelt(const er_head *head, uint32_t label, const float *z, const uint32_t *filled, uint32_t count)
{
    const uint8_t *row = head->spelling + (size_t)label * head->spelling_bytes;
    float sum = 0;
    if (head->spelling_bytes == BUCKETS)
        for (uint32_t i = 0; i < count; i++) sum += (float)(int8_t)row[filled[i]] * z[filled[i]];
    else
        for (uint32_t i = 0; i < count; i++) {
            const uint8_t pair = row[filled[i] / 2];
            const int32_t half = filled[i] & 1 ? pair >> 4 : pair & 15;
            sum += (float)(half > 7 ? half - 16 : half) * z[filled[i]];
        }
    return sum * head->spelling_scales[label];
}

bool er_head_read(er_request *r, const er_points *query)
{
    const er_head *head = &r->stage->head;
    float *fixed = ER_TAKE(&r->arena, float, r->labels);
    if (!fixed) return false;
    const er_place mark = er_mark(&r->arena);
    float *z = ER_TAKE(&r->arena, float, BUCKETS);
    uint32_t *filled = ER_TAKE(&r->arena, uint32_t, BUCKETS), count = 0;
    if (!z || !filled || !spell(&r->arena, query, z)) return false;
    for (uint32_t i = 0; i < BUCKETS; i++)
        if (z[i] != 0.0f) filled[count++] = i;
    er_byte_products(head->weights, head->weight_scales, r->labels, r->dimension, r->vectors, fixed);
    for (uint32_t label = 0; label < r->labels; label++) {
        fixed[label] += head->bias[label] + spelt(head, label, z, filled, count);
        if (!head->prior_steps) fixed[label] += (float)head->prior_weight * r->statics[label];
    }
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
