/* A stranger's tools: whatever bytes their definitions are, they are refused in words, or decided among.

   Of an input the first byte says of which bundle of conformance/, and each line is a definition: of odd numbers they come, of
   even ones they stand in the place of another. What is made is kept by a learner, too. Built by tests/core_fuzz_run.py. */

#include "fuzz_common.h"

enum { BUNDLES = 3, MOST = 4 };

static void tell(void *context, const void *bytes, size_t length)
{
    const er_model *const *models = context;
    er_learner *again;
    er_error why = {0};
    const er_learner_options options = {.size = sizeof options, .bytes = bytes, .byte_count = length};
    if (er_learner_open(models[0], NULL, &options, &again, &why)) abort(); /* what the library wrote */
    er_learner_close(again);
}

/* Learns a request of the changed model, and hands over what was learned. */
static void learn(const er_model *model)
{
    er_error why = {0};
    er_learner *learner, *copy;
    er_task *task;
    if (er_learner_open(model, NULL, NULL, &learner, &why)) abort();
    const er_begin_options options = {.size = sizeof options, .learner = learner};
    if (!er_begin(model, ER_TEXT("what is new"), &options, &task, &why)) {
        if (er_call(task, er_tool_name(model, 0), &why) || fuzz_refused(er_learn(task, NULL, NULL, &why), &why)) abort();
        er_end(task);
    }
    if (er_learner_copy(learner, &copy, &why)) abort();
    fuzz_use(model, ER_TEXT("what is new"), copy);
    if (er_learner_bytes(copy, tell, &model, &why)) abort();
    er_learner_close(copy);
    er_learner_close(learner);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static const er_model *models[BUNDLES];
    static const char *const folders[BUNDLES] = {CONFORMANCE "/alone", CONFORMANCE "/few", CONFORMANCE "/many"};
    for (int i = 0; i < BUNDLES; i++)
        if (!models[i]) models[i] = fuzz_load(folders[i], NULL);
    if (!length) return 0;
    const er_model *base = models[bytes[0] % BUNDLES];
    char *text = malloc(length); /* its very size, so that sanitizers see a byte too far */
    if (!text) abort();
    memcpy(text, bytes + 1, length - 1);
    er_text added[MOST], replaced[MOST], gone = er_tool_name(base, bytes[0] / BUNDLES);
    size_t add = 0, replace = 0;
    const char *end = text + length - 1;
    for (const char *at = text; at < end && add < MOST && replace < MOST;) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        const er_text one = {at, (size_t)((line ? line : end) - at)};
        if ((add + replace) % 2 == 0) added[add++] = one;
        else replaced[replace++] = one;
        at = line ? line + 1 : end;
    }
    const er_change change = {.size = sizeof change, .add = added, .add_count = add, .replace = replaced, .replace_count = replace,
        .remove = &gone, .remove_count = bytes[0] / BUNDLES % 2, .tools_alone = bytes[0] >> 7};
    er_error why = {0};
    er_model *made;
    if (!fuzz_refused(er_with_tools(base, &change, &made, &why), &why)) {
        fuzz_use(made, ER_TEXT("find my file and send a mail, then what is new at 9"), NULL);
        if (add) fuzz_use(made, added[0], NULL);
        learn(made);
        er_free(made);
    }
    free(text);
    return 0;
}
