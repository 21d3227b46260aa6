/* What the core makes of requests: the platforms' tests (tests/core_run.py) run it where Python is not.

       conformance BUNDLE [tiny] < requests

   A line is a request: the query, and what was called, between tabs. Of each one line of JSON is written: the decision, all
   candidates, and with no calls what search finds, the tokens' places and the vector. */

#include "edgeret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#endif

enum { LONGEST = 1 << 20, MOST = 1 << 12 };

static er_error why;

static void must(er_status status)
{
    if (status == ER_OK) return;
    fprintf(stderr, "%s: %s\n", er_status_text(status), why.text);
    exit(1);
}

static void *room(size_t count, size_t size)
{
    void *found = calloc(count, size);
    if (!found) exit(1);
    return found;
}

/* A name in JSON: a stranger's could hold anything. */
static void put(er_text text)
{
    putchar('"');
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.at[i];
        if (c < 0x20 || c == '"' || c == '\\') printf("\\u%04x", c);
        else putchar(c);
    }
    putchar('"');
}

static void tell_text(const er_model *model, er_text query, uint32_t dimension)
{
    static er_hit hits[MOST];
    size_t count = MOST;
    const er_search_options options = {.size = sizeof options, .strategy = ER_SEARCH_HYBRID};
    must(er_search(model, query, &options, hits, &count, &why));
    printf(",\"search\":[");
    for (size_t i = 0; i < count && i < MOST; i++) {
        printf(i ? ",[" : "[");
        put(hits[i].tool);
        printf(",%.9g]", hits[i].share);
    }
    count = 0;
    must(er_tokens(model, query, NULL, NULL, NULL, &count, &why));
    uint32_t *begins = room(count + 1, sizeof *begins), *ends = room(count + 1, sizeof *ends);
    must(er_tokens(model, query, NULL, begins, ends, &count, &why));
    printf("],\"spans\":[");
    for (size_t i = 0; i < count; i++) printf("%s[%u,%u]", i ? "," : "", (unsigned)begins[i], (unsigned)ends[i]);
    float *vector = room(dimension, sizeof *vector);
    must(er_encode(model, query, vector, dimension, &why));
    printf("],\"vector\":[");
    for (uint32_t i = 0; i < dimension; i++) printf("%s%.9g", i ? "," : "", (double)vector[i]);
    printf("]");
    free(begins);
    free(ends);
    free(vector);
}

static void decide(const er_model *model, char *line, uint32_t dimension)
{
    static er_candidate candidates[MOST];
    er_task *task;
    er_decision next = {.size = sizeof next};
    char *calls = strchr(line, '\t');
    if (calls) *calls++ = 0;
    const int first = !calls;
    const er_text query = {line, strlen(line)};
    must(er_begin(model, query, NULL, &task, &why));
    while (calls) {
        char *more = strchr(calls, '\t');
        if (more) *more++ = 0;
        must(er_call(task, (er_text){calls, strlen(calls)}, &why));
        calls = more;
    }
    must(er_next(task, NULL, &next, &why));
    printf("{\"tool\":");
    if (next.tool_number == ER_END) printf("null");
    else put(next.tool);
    printf(",\"abstained\":%s,\"confirm\":%s", next.abstained ? "true" : "false", next.confirm ? "true" : "false");
    printf(",\"probability\":%.9g,\"candidates\":[", next.probability);
    size_t count = MOST;
    must(er_candidates(task, candidates, &count, &why));
    for (size_t i = 0; i < count && i < MOST; i++) {
        printf(i ? ",[" : "[");
        put(candidates[i].tool);
        printf(",%.9g]", candidates[i].probability);
    }
    printf("]");
    if (first) tell_text(model, query, dimension);
    printf("}\n");
    er_end(task);
}

int main(int count, char **words)
{
    static char line[LONGEST];
    er_load_options options = {sizeof options, {NULL, 0}, 0, count > 2 && !strcmp(words[2], "tiny"), 1};
    er_model *model;
    er_summary summary = {.size = sizeof summary};
    if (count < 2) return fprintf(stderr, "conformance BUNDLE [tiny] < requests\n"), 2;
#if defined(_WIN32)
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
#endif
    must(er_load(words[1], &options, &model, &why));
    must(er_describe(model, &summary, &why));
    printf("{\"contentHash\":");
    put(summary.content_hash);
    printf(",\"tools\":[");
    for (uint32_t i = 0; i < summary.tools; i++) {
        if (i) putchar(',');
        put(er_tool_name(model, i));
    }
    printf("]}\n");
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        decide(model, line, summary.dimension);
    }
    er_free(model);
    return 0;
}
