/* Section 8.2: the steps of few demonstrations, which vote. */

#include "request.h"
#include "vectors.h"

static const double LEAST_COSINE = 0.4, WIDTH = 0.05, ALIKE = 1.5;

void er_memory_read(er_request *r)
{
    const er_memory *memory = &r->stage->memory;
    er_neighbours *near = &r->neighbours;
    for (uint32_t plan = 0; plan < memory->plans; plan++) {
        const double cosine = er_dot(memory->vectors + (size_t)plan * r->dimension, r->vectors, r->dimension);
        if (cosine < LEAST_COSINE) continue;
        if (near->count == ER_MOST_NEIGHBOURS && cosine <= near->cosines[near->count - 1]) continue;
        uint32_t at = near->count < ER_MOST_NEIGHBOURS ? near->count++ : near->count - 1;
        for (; at && near->cosines[at - 1] < cosine; at--) {
            near->cosines[at] = near->cosines[at - 1];
            near->plans[at] = near->plans[at - 1];
        }
        near->cosines[at] = cosine;
        near->plans[at] = plan;
    }
}

/* J: how alike the calls before step k of a plan and those of the history are, each once. Strangers count as one. */
static double alike(const er_request *r, const int32_t *calls, int32_t k, const er_history *h, uint32_t different)
{
    uint32_t own = 0, both = 0;
    for (int32_t i = 0; i < k; i++) {
        bool again = false;
        for (int32_t j = 0; j < i && !again; j++) again = calls[j] == calls[i];
        if (again) continue;
        own++;
        for (uint32_t j = 0; j < h->made_count; j++)
            if (h->made[j] == (uint32_t)calls[i]) {
                both++;
                break;
            }
    }
    const uint32_t either = own + different - both;
    return either ? (double)both / either : 1.0;
}

void er_memory_log_probabilities(const er_request *r, const er_history *h, const float *popular, float *found)
{
    const er_memory *memory = &r->stage->memory;
    const er_neighbours *near = &r->neighbours;
    /* 0.01 · softmax(m) first, then the votes. */
    const double most = er_largest(popular, r->n);
    double sum = 0;
    for (uint32_t p = 0; p < r->n; p++) sum += found[p] = (float)exp(popular[p] - most);
    for (uint32_t p = 0; p < r->n; p++) found[p] = (float)(0.01 * found[p] / sum);
    uint32_t different = 0;
    bool strangers = false;
    for (uint32_t i = 0; i < h->made_count; i++) different += h->made[i] < r->end;
    for (uint32_t i = 0; i < h->count; i++) strangers |= h->places[i] < 0 || (uint32_t)h->places[i] > r->end;
    different += strangers;
    const int32_t last = h->count ? h->places[h->count - 1] : -1;
    for (uint32_t i = 0; i < near->count; i++) {
        const uint32_t plan = near->plans[i];
        const int32_t *calls = memory->calls + memory->starts[plan], length = memory->starts[plan + 1] - memory->starts[plan];
        for (int32_t k = 0; k <= length; k++) {
            const bool same = k ? h->count && calls[k - 1] == last : !h->count;
            const double j = alike(r, calls, k, h, different), far = fabs((double)k - h->count);
            const double weight = exp((near->cosines[i] - 1) / WIDTH + ALIKE * ((same ? 1 : 0) - 1) + ALIKE * (j - 1) - far);
            found[k < length ? (uint32_t)calls[k] : r->end] += (float)weight;
        }
    }
    for (uint32_t p = 0; p < r->n; p++) found[p] = logf(found[p] + 1e-30f);
}
