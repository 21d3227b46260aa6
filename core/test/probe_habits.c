/* What er_habits_of finds of tools, and what a query's sides and values say to each of them, as flat numbers. */

#include <stdlib.h>

#include "said.h"

typedef struct {
    er_error error;
    er_arena arena;
    er_habits habits;
} kept;

/* Tools are three texts each, one behind the other, with their lengths. */
kept *probe_habits(const char *texts, const size_t *lengths, uint32_t tools)
{
    kept *k = calloc(1, sizeof *k);
    er_tool_text *told = calloc(tools + 1, sizeof *told);
    k->arena.error = &k->error;
    for (uint32_t i = 0; i < tools; i++) {
        er_text *fields[] = {&told[i].name, &told[i].description, &told[i].parameters};
        for (int f = 0; f < 3; f++, lengths++) {
            *fields[f] = (er_text){texts, *lengths};
            texts += *lengths;
        }
    }
    const bool fine = er_habits_of(&k->arena, told, tools, false, &k->habits);
    free(told);
    if (fine) return k;
    er_give_back(&k->arena);
    free(k);
    return NULL;
}

void probe_habits_free(kept *k)
{
    er_give_back(&k->arena);
    free(k);
}

/* (tools, 6): does, takes, kinds, changes, ends, speaks. */
void probe_habits_read(const kept *k, uint64_t *numbers)
{
    for (uint32_t i = 0; i < k->habits.tools; i++) {
        const er_habits *h = &k->habits;
        const uint64_t told[] = {h->does[i], h->takes[i], h->kinds[i], h->changes[i], h->ends[i], h->speaks[i]};
        memcpy(numbers + (size_t)i * 6, told, sizeof told);
    }
}

/* (tools) each: o and a of a query, and v by these weights among so many names. */
bool probe_habits_say(const kept *k, const char *text, size_t length, uint32_t names, const double *weights, float *opposed, float *agrees, float *values)
{
    er_error error = {0};
    er_arena arena = {.error = &error};
    er_points points;
    er_sayings s;
    const bool fine = er_points_of(&arena, (er_text){text, length}, &points) && er_say(&arena, &points, &s);
    if (fine) {
        er_opposed(&k->habits, &s.sides, opposed, agrees);
        er_values_of(&k->habits, s.values, names, weights, values);
    }
    er_give_back(&arena);
    return fine;
}
