/* The tokenizer, for tests/core. */

#include <stdlib.h>

#include "tokens.h"

typedef struct {
    er_arena arena;
    er_error error;
    er_tokenizer tokenizer;
} probe;

/* A tokenizer of this file, or NULL and why; `ids`, how many there are. */
void *probe_tokenizer(const char *json, size_t length, char *why, uint32_t *ids)
{
    probe *p = calloc(1, sizeof *p);
    p->arena.error = &p->error;
    if (er_tokenizer_of(&p->arena, (er_text){json, length}, &p->tokenizer)) {
        *ids = p->tokenizer.ids;
        return p;
    }
    memcpy(why, p->error.text, sizeof p->error.text);
    er_give_back(&p->arena);
    free(p);
    return NULL;
}

size_t probe_tokenizer_bytes(const probe *p) { return p->arena.taken; }

void probe_tokenizer_free(probe *p)
{
    er_give_back(&p->arena);
    free(p);
}

/* How many tokens a text has; their numbers and places, for as many as there is room. -1: refused. */
int64_t probe_tokens(const probe *p, const char *text, size_t length, uint32_t *ids, uint32_t *places, size_t room)
{
    er_error error = {0};
    er_arena arena = {.error = &error};
    er_points points;
    er_tokens_found found;
    int64_t count = -1;
    if (er_points_of(&arena, (er_text){text, length}, &points) && er_tokenize(&arena, &p->tokenizer, &points, &found)) {
        count = found.count;
        for (uint32_t i = 0; i < found.count && i < room; i++) {
            ids[i] = found.ids[i];
            places[2 * i] = found.spans[i].begin;
            places[2 * i + 1] = found.spans[i].end;
        }
    }
    er_give_back(&arena);
    return count;
}

/* What stands before a text and behind it: 128 numbers each. */
void probe_frame(const probe *p, uint32_t *before, uint32_t *before_count, uint32_t *behind, uint32_t *behind_count)
{
    const uint32_t *first, *last;
    er_special(&p->tokenizer, &first, before_count, &last, behind_count);
    memcpy(before, first, *before_count * sizeof *before);
    memcpy(behind, last, *behind_count * sizeof *behind);
}
