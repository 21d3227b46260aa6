/* Runs every set of instructions that the compiler knows and the CPU has over a transformer of random weights, and says
   how far each is from the plain one; two texts beside one another, and three workers, change no bit. Compiled together with kernel/transformer.c by test_instruction_sets.py. */

#include <stdio.h>
#include <stdlib.h>

#include "transformer.h"

int64_t edgeret_panel(int64_t set);
int64_t edgeret_pack(const int8_t *, int64_t, int64_t, int64_t, int8_t *, int32_t *);
int64_t edgeret_room(const Transformer *, int64_t, int64_t, int64_t);
int64_t edgeret_transform(const Transformer *, int64_t, const int64_t *, const int64_t *, int64_t, int64_t, int64_t,
                          int64_t, float *, float *, float *);

enum { HIDDEN = 128, INNER = 256, HEADS = 4, LAYERS = 2, TOKENS = 50, POSITIONS = 40, SETS = 6 };

static uint32_t state = 12345;

static float chance(void)
{
    state = state * 1664525u + 1013904223u;
    return (float)(state >> 8) / (float)(1 << 24) - 0.5f;
}

static float *floats(int64_t n, float scale, float more)
{
    float *made = malloc((size_t)n * sizeof *made);
    for (int64_t i = 0; i < n; i++) made[i] = scale * chance() + more;
    return made;
}

static int8_t *weights(int64_t n)
{
    int8_t *made = malloc((size_t)n);
    for (int64_t i = 0; i < n; i++) made[i] = (int8_t)(128.0f * chance()); /* of 7 bits */
    return made;
}

static Product product(int64_t rows, int64_t columns, int64_t panel)
{
    int8_t *plain = weights(rows * columns), *packed = malloc((size_t)(rows * columns));
    int32_t *sums = malloc((size_t)columns * sizeof *sums);
    if (edgeret_pack(plain, rows, columns, panel, packed, sums) > 64) exit(3);
    free(plain);
    return (Product){packed, floats(columns, 0.001f, 0.003f), floats(columns, 0.1f, 0.0f), floats(rows, 0.5f, 1.0f),
                     sums, rows, columns};
}

static Norm norm(void) { return (Norm){floats(HIDDEN, 0.2f, 1.0f), floats(HIDDEN, 0.2f, 0.0f), 1e-12}; }

int main(int argc, char **argv)
{
    static float plain[POSITIONS * HIDDEN], tokens[POSITIONS * HIDDEN], both[2 * POSITIONS * HIDDEN];
    float vectors[2 * HIDDEN];
    int64_t ids[2 * POSITIONS];
    for (int i = 1; i < argc; i++) {
        const int64_t set = strtol(argv[i], NULL, 10);
        for (int64_t count = 1; count <= POSITIONS; count += count < 16 ? 1 : 8) {
            float *found[2] = {plain, tokens};
            for (int which = 0; which < 2; which++) {
                const int64_t used = which ? set : 0, panel = edgeret_panel(used);
                if (!panel) {
                    printf("set %d is not in this library\n", (int)set);
                    return 2;
                }
                state = 12345; /* the same weights again */
                Layer layers[LAYERS];
                for (int l = 0; l < LAYERS; l++)
                    layers[l] = (Layer){product(HIDDEN, 3 * HIDDEN, panel), product(HIDDEN, HIDDEN, panel),
                                        product(HIDDEN, INNER, panel), product(INNER, HIDDEN, panel), norm(), norm()};
                const Transformer of = {weights(TOKENS * HIDDEN), floats(TOKENS, 0.01f, 0.02f), NULL,
                                        floats(POSITIONS * HIDDEN, 0.5f, 0.0f), norm(), layers, TOKENS, POSITIONS,
                                        LAYERS, HIDDEN, HEADS};
                for (int64_t t = 0; t < count; t++) ids[t] = ids[count + t] = (7 * t + 3) % TOKENS;
                const int64_t ends[2] = {count, 2 * count};
                float *room = malloc((size_t)edgeret_room(&of, 2 * count, count, 3) * sizeof *room);
                if (edgeret_transform(&of, used, ids, ends, 1, 1, 0, 1, room, found[which], vectors)) return 1;
                if (edgeret_transform(&of, used, ids, ends, 2, 3, 0, 1, room, both, vectors)) return 1;
                free(room);
                const size_t size = (size_t)(count * HIDDEN) * sizeof *both;
                if (memcmp(both, found[which], size) || memcmp(both + count * HIDDEN, found[which], size)) return 4;
            }
            float most = 0.0f;
            for (int64_t k = 0; k < count * HIDDEN; k++) {
                const float off = fabsf(plain[k] - tokens[k]);
                most = off > most ? off : most;
            }
            printf("set %d, %d tokens: %g\n", (int)set, (int)count, most);
            if (!(most < 0.05f)) return 1;
        }
    }
    return 0;
}
