/* Runs every set of instructions that the compiler knows and the CPU has over a transformer of random weights, and says
   how far each is from the plain one; two texts beside one another, and more workers than there are CPUs, of which some
   come late, change no bit. Compiled together with transform.c by test_instruction_sets.py. With STOPPED there are
   two workers, of whom one is stopped in the middle of its work until all is done. */

#include <stdio.h>
#include <stdlib.h>

#include "cpu.h"
#include "transform.h"

#if defined(STOPPED) /* in place of workers.c */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>

typedef struct {
    Work *work;
    void *of;
} Given;

static sem_t stopped, go;
static unsigned moments = 1;

static void stop(int number)
{
    (void)number;
    sem_post(&stopped);
    while (sem_wait(&go)) {}
}

static void *help(void *given)
{
    const Given *mine = given;
    mine->work(mine->of, 1);
    while (sem_wait(&go)) {} /* so that there is somebody to stop */
    return NULL;
}

int64_t er_share(Work *work, void *of, int64_t workers)
{
    Given given = {work, of};
    pthread_t helper;
    if (workers > 1) {
        sem_init(&stopped, 0, 0);
        sem_init(&go, 0, 0);
        signal(SIGUSR1, stop);
        pthread_create(&helper, NULL, help, &given);
        moments = moments * 1664525u + 1013904223u;
        for (volatile unsigned wait = moments >> 15; wait; wait--) {}
        pthread_kill(helper, SIGUSR1);
        sem_wait(&stopped);
        if (moments & 1) sem_post(&go); /* it comes back when others do its part */
    }
    work(of, 0);
    if (workers > 1) {
        for (int i = 0; i < 2; i++) sem_post(&go);
        pthread_join(helper, NULL);
    }
    return 0;
}

int64_t er_gone(const void *of, int64_t wait)
{
    (void)of;
    (void)wait;
    return 1;
}
#endif

enum { WORKERS = 16, LATE = 4, AGAIN = 3, HIDDEN = 128, INNER = 256, HEADS = 4, LAYERS = 2, TOKENS = 50, POSITIONS = 40 };

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
    if (er_pack_weights(plain, rows, columns, panel, packed, sums) > 64) exit(3);
    free(plain);
    return (Product){packed, floats(columns, 0.001f, 0.003f), floats(columns, 0.1f, 0.0f), floats(rows, 0.5f, 1.0f),
                     sums, rows, columns};
}

static Norm norm(void) { return (Norm){floats(HIDDEN, 0.2f, 1.0f), floats(HIDDEN, 0.2f, 0.0f), 1e-12}; }

int main(int argc, char **argv)
{
    static float plain[POSITIONS * HIDDEN], tokens[POSITIONS * HIDDEN], both[2 * POSITIONS * HIDDEN];
    float vectors[2 * HIDDEN];
    int64_t ids[2 * POSITIONS], late = 0;
    printf("this CPU's set is %d\n", (int)er_widest_set());
    for (int i = 1; i < argc; i++) {
        const int64_t set = strtol(argv[i], NULL, 10);
        for (int64_t count = 1; count <= POSITIONS; count += count < 16 ? 1 : 8) {
            float *found[2] = {plain, tokens};
            for (int which = 0; which < 2; which++) {
                const int64_t used = which ? set : 0, panel = er_panel(used);
                if (!panel) {
                    printf("set %d is not in this library\n", (int)set);
                    return 2;
                }
                state = 12345; /* the same weights again */
                Layer layers[LAYERS];
                for (int l = 0; l < LAYERS; l++)
                    layers[l] = (Layer){product(HIDDEN, 3 * HIDDEN, panel), product(HIDDEN, HIDDEN, panel),
                                        product(HIDDEN, INNER, panel), product(INNER, HIDDEN, panel), norm(), norm()};
                const Transformer of = {weights(TOKENS * HIDDEN), NULL, floats(TOKENS, 0.01f, 0.02f), NULL,
                                        floats(POSITIONS * HIDDEN, 0.5f, 0.0f), norm(), layers, TOKENS, 0, POSITIONS,
                                        LAYERS, HIDDEN, HEADS};
                for (int64_t t = 0; t < count; t++) ids[t] = ids[count + t] = (7 * t + 3) % TOKENS;
                const int64_t ends[2] = {count, 2 * count};
                float *room = malloc((size_t)er_transform_room(&of, 2 * count, count, WORKERS) * sizeof *room);
                if (er_transform_texts(&of, used, ids, ends, 1, 1, 0, 1, room, found[which], vectors)) return 1;
                const size_t size = (size_t)(count * HIDDEN) * sizeof *both;
                for (int again = 0; again < AGAIN; again++) {
                    const int64_t told = er_transform_texts(&of, used, ids, ends, 2, WORKERS, 0, 1, room, both, vectors);
                    if (told & ~LATE) return 1;
                    late += told == LATE;
                    if (memcmp(both, found[which], size) || memcmp(both + count * HIDDEN, found[which], size)) return 4;
                    if (!er_transform_left(room, 1)) return 6;
                }
                free(room);
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
    printf("%d texts were read before the last worker was done\n", (int)late);
    return 0;
}
