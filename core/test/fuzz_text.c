/* A stranger's words: whatever bytes a query is, it is refused in words or decided.

   Of an input the first byte says of which bundle of conformance/, the first line is the query, and each line behind it was
   called, and then called by earlier turns. Built by tests/core_fuzz_run.py, with -fsanitize=fuzzer or with fuzz_main.c. */

#include "fuzz_common.h"

enum { BUNDLES = 3 };

/* Spans of tokens rise, and stay within the text. */
static void check_tokens(const er_model *model, er_text query)
{
    er_error why = {0};
    size_t count = 0;
    if (er_tokens(model, query, NULL, NULL, NULL, &count, &why)) return;
    uint32_t *begins = calloc(count + 1, sizeof *begins), *ends = calloc(count + 1, sizeof *ends), *ids = calloc(count + 1, sizeof *ids);
    if (!begins || !ends || !ids) abort();
    size_t again = count;
    if (er_tokens(model, query, ids, begins, ends, &again, &why) || again != count) abort();
    for (size_t i = 0; i < count; i++)
        if (begins[i] > ends[i] || ends[i] > query.length + 64 || (i && begins[i] < begins[i - 1])) abort();
    free(begins);
    free(ends);
    free(ids);
}

/* So do those of clauses and parts. */
static void check_understood(er_text query)
{
    er_error why = {0};
    er_understood read = {.size = sizeof read};
    if (er_understand(query, &read, &why)) return;
    if (read.language >= ER_LANGUAGES || read.values >> ER_VALUES || !read.clause_count) abort();
    if (read.clause_count > ER_MOST_CLAUSES || read.part_count > ER_MOST_CLAUSES) abort();
    for (uint32_t i = 0; i < read.clause_count; i++)
        if (read.clauses[i].begin > read.clauses[i].end || read.clauses[i].end > query.length) abort();
    for (uint32_t i = 0; i < read.part_count; i++)
        if (read.parts[i].begin >= read.parts[i].end || read.parts[i].end > query.length) abort();
}

static void decide(er_task *task)
{
    er_error why = {0};
    er_decision next = {.size = sizeof next};
    if (er_next(task, NULL, &next, &why)) abort();
    fuzz_told(task, &next);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static const char *const folders[BUNDLES] = {CONFORMANCE "/alone", CONFORMANCE "/few", CONFORMANCE "/many"};
    static const er_model *models[BUNDLES];
    er_error why = {0};
    for (int i = 0; i < BUNDLES; i++)
        if (!models[i]) models[i] = fuzz_load(folders[i], NULL);
    if (!length) return 0;
    const er_model *model = models[bytes[0] % BUNDLES];
    /* In a room of its very size, so that sanitizers see a byte too far. */
    char *text = malloc(length);
    if (!text) abort();
    memcpy(text, bytes + 1, length - 1);
    const char *line = memchr(text, '\n', length - 1), *end = text + length - 1;
    const er_text query = {text, (size_t)((line ? line : end) - text)};
    er_task *task;
    const er_status begun = er_begin(model, query, NULL, &task, &why);
    fuzz_refused(begun, &why);
    check_tokens(model, query);
    check_understood(query);
    fuzz_use(model, query, NULL);
    if (begun == ER_OK) {
        er_text calls[8] = {ER_TEXT("")};
        size_t called = 0;
        decide(task);
        for (int steps = 0; line && steps < 8; steps++) {
            const char *begin = line + 1;
            line = memchr(begin, '\n', (size_t)(end - begin));
            const er_text tool = {begin, (size_t)((line ? line : end) - begin)};
            if (er_call(task, tool, &why) == ER_OK) decide(task);
            calls[called++] = tool;
            if (steps == 3 && er_undo(task, &why) == ER_OK) decide(task);
        }
        fuzz_arguments(task, model, query);
        er_end(task);
        const er_begin_options later = {.size = sizeof later, .earlier = calls, .earlier_count = called, .last_count = bytes[0] % (called + 1)};
        if (er_begin(model, query, &later, &task, &why)) abort();
        decide(task);
        er_end(task);
    }
    free(text);
    return 0;
}
