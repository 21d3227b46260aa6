/* A stranger's encoder: whatever numbers it gives, they are refused in words, or decided by.

   Of an input the first line is the query, and what is behind it are the numbers that the encoder gives, over and over; the first
   byte says what it does with them. Built by tests/core_fuzz_run.py, which says where the bundle is. */

#include "fuzz_common.h"

#include <math.h>

typedef struct {
    const uint8_t *bytes;
    size_t length;
    unsigned how;
} numbers;

static float number(const numbers *n, size_t at)
{
    float found = 0;
    for (size_t i = 0; n->length && i < sizeof found; i++) ((uint8_t *)&found)[i] = n->bytes[(4 * at + i) % n->length];
    return n->how & 2 && !(fabsf(found) < 1e3f) ? 0.5f : found; /* else few inputs would be taken */
}

static er_status run(void *context, const er_window *window, er_error *error)
{
    const numbers *n = context;
    double sum = 0;
    if (n->how & 4 && window->count > 5) {
        snprintf(error->text, sizeof error->text, "%s", "no more than five");
        return error->status = ER_NO_ENCODER;
    }
    if (!n->bytes) { /* loading tries it out */
        memset(window->tokens, 0, (size_t)window->count * window->dimension * sizeof *window->tokens);
        for (uint32_t i = 0; i < window->dimension; i++) window->vector[i] = i == 0;
        return ER_OK;
    }
    for (uint32_t i = 0; i < window->dimension; i++) sum += pow(window->vector[i] = number(n, i), 2);
    for (uint32_t i = 0; n->how & 1 && i < window->dimension; i++) window->vector[i] /= (float)sqrt(sum);
    for (size_t i = 0; i < (size_t)window->count * window->dimension; i++) window->tokens[i] = number(n, i + window->ids[0] % 7);
    return ER_OK;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static numbers given;
    static const er_model *model;
    const er_encoder encoder = {.size = sizeof encoder, .run = run, .context = &given, .max_tokens = 8};
    const er_load_options options = {.size = sizeof options, .encoder = &encoder};
    if (!model) model = fuzz_load(ENCODED, &options);
    if (!length) return 0;
    const uint8_t *line = memchr(bytes + 1, '\n', length - 1), *end = bytes + length;
    const size_t words = (size_t)((line ? line : end) - (bytes + 1));
    char *text = malloc(words + !words);
    if (!text) abort();
    memcpy(text, bytes + 1, words);
    given = (numbers){line ? line + 1 : end, line ? (size_t)(end - line - 1) : 0, bytes[0]};
    fuzz_use(model, (er_text){text, words}, NULL);
    const er_text tool = ER_TEXT("{\"name\": \"lock_door\", \"description\": \"lock the door\", \"examples\": [\"is it so\"]}");
    const er_change change = {.size = sizeof change, .add = &tool, .add_count = 1};
    er_error why = {0};
    er_model *made;
    if (!fuzz_refused(er_with_tools(model, &change, &made, &why), &why)) {
        fuzz_use(made, (er_text){text, words}, NULL);
        er_free(made);
    }
    free(text);
    return 0;
}
