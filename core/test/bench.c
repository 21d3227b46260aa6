/* How long loading, first decisions and later steps take, in processor time: least of nine runs each, then percentiles.

       make -C core bench BUNDLE=../build/desktop QUERIES=queries.txt     (a request a line) */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "edgeret.h"

enum { MOST = 2000, RUNS = 9, LINE = 8192 };

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec / 1e3;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void tell(const char *what, double *values, int count)
{
    qsort(values, (size_t)count, sizeof *values, compare);
    if (count) printf("%-16s p50 %8.1f us   p90 %8.1f us\n", what, values[count / 2], values[count * 9 / 10]);
}

int main(int count, char **given)
{
    static char queries[MOST][LINE];
    static double begun[MOST], first[MOST], later[MOST];
    er_error why = {0};
    er_model *model = NULL;
    if (count < 3) return fprintf(stderr, "usage: bench BUNDLE QUERIES [tiny|full]\n"), 2;
    const char *profile = count > 3 ? given[3] : "default";
    const er_load_options options = {sizeof options, {NULL, 0}, strcmp(profile, "full") ? 0 : -1, !strcmp(profile, "tiny"), 1};
    const double start = now();
    if (er_load(given[1], &options, &model, &why)) return fprintf(stderr, "%s\n", why.text), 2;
    printf("load             %.1f ms\n", (now() - start) / 1e3);
    FILE *file = fopen(given[2], "r");
    if (!file) return fprintf(stderr, "%s: cannot be read\n", given[2]), 2;
    int asked = 0, steps = 0;
    while (asked < MOST && fgets(queries[asked], LINE, file)) {
        queries[asked][strcspn(queries[asked], "\r\n")] = 0;
        begun[asked] = first[asked] = later[asked] = 1e12;
        asked += queries[asked][0] != 0;
    }
    fclose(file);
    for (int run = 0; run < RUNS; run++)
        for (int i = 0; i < asked; i++) {
            er_task *task;
            er_decision next = {.size = sizeof next};
            const double a = now();
            if (er_begin(model, (er_text){queries[i], strlen(queries[i])}, NULL, &task, &why)) return fprintf(stderr, "%s\n", why.text), 2;
            const double b = now();
            if (er_next(task, NULL, &next, &why)) return fprintf(stderr, "%s\n", why.text), 2;
            const double c = now();
            begun[i] = b - a < begun[i] ? b - a : begun[i];
            first[i] = c - a < first[i] ? c - a : first[i];
            if (next.tool_number != ER_END) {
                er_call(task, next.tool, &why);
                const double d = now();
                er_next(task, NULL, &next, &why);
                const double e = now();
                later[i] = e - d < later[i] ? e - d : later[i];
            }
            er_end(task);
        }
    for (int i = 0; i < asked; i++)
        if (later[i] < 1e12) later[steps++] = later[i];
    tell("begin", begun, asked);
    tell("first decision", first, asked);
    tell("later step", later, steps);
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    printf("resident         %.1f MB\n", (double)used.ru_maxrss / 1024.0);
    er_free(model);
    return 0;
}
