/* A stranger's overlay: whatever its bytes are, they are refused in words, or what they say is learned and decides.

   The first byte says which: an even one has the rest as the file's bytes behind a right header, an odd one as the body of a
   batch whose digests are made right, else nothing behind them would be reached. Built by tests/core_fuzz_run.py. */

#include "fuzz_common.h"
#include "learn_handle.h"
#include "sha256.h"

static void write_file(const char *path, const er_bytes *b)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(b->at, 1, b->length, file) != b->length) abort();
    fclose(file);
}

/* What is told of a learner is read again, and says the same. */
static void tell(void *context, const void *bytes, size_t length)
{
    er_learner *learner = context, *again;
    er_report one = {.size = sizeof one}, other = {.size = sizeof other};
    er_error why = {0};
    const er_learner_options options = {.size = sizeof options, .bytes = bytes, .byte_count = length};
    if (er_learner_open(er_learner_model(learner), NULL, &options, &again, &why)) abort();
    if (er_learned(learner, &one, &why) || er_learned(again, &other, &why) || one.stored != other.stored) abort();
    er_learner_close(again);
}

static void plan(void *context, const er_plan_told *told)
{
    for (uint32_t i = 0; i < told->call_count; i++) *(size_t *)context += told->calls[i].length;
}

/* Keeps a change of tools, copies what is known, hands it over, and goes on with the copy. */
static void hand_over(er_learner *learner)
{
    const er_text tool = ER_TEXT("{\"name\": \"lock_door\", \"description\": \"lock the door\", \"examples\": [\"is it so\"]}");
    const er_change change = {.size = sizeof change, .add = &tool, .add_count = 1};
    const er_model *before = er_learner_model(learner);
    er_error why = {0};
    er_model *after;
    er_learner *copy;
    size_t letters = 0;
    if (!fuzz_refused(er_with_tools(before, &change, &after, &why), &why)) {
        if (!fuzz_refused(er_learner_keep(learner, before, &change, after, &why), &why) && er_learner_model(learner) != after) abort();
        er_free(after);
    }
    if (er_learned_plans(learner, plan, &letters, &why) || er_learner_copy(learner, &copy, &why)) abort();
    fuzz_use(er_learner_model(learner), ER_TEXT("find my file and send a mail"), copy);
    if (er_learner_bytes(copy, tell, copy, &why)) abort();
    er_learner_close(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static char path[64];
    static const er_model *model;
    if (!model) model = fuzz_load(CONFORMANCE "/few", NULL);
    const uint8_t salt[ER_SALT] = {0};
    er_bytes file = {0};
    er_contents contents;
    er_learner *learner = NULL;
    er_error why = {0};
    if (!length || length > 1 << 20) return 0;
    if (!path[0]) snprintf(path, sizeof path, "/tmp/fuzz_overlay.%p", (void *)path);
    er_put_header(&file, salt, er_deciding(model)->spec.fingerprint, model->content_hash, NULL, &contents);
    if (bytes[0] % 2) {
        er_batch_begin(&file, &contents);
        file.length = file.body;
        er_put(&file, bytes + 1, length - 1);
        er_batch_end(&file, ER_OVERLAY_HEADER, "fuzz", &contents, &why);
    } else
        er_put(&file, bytes + 1, length - 1);
    write_file(path, &file);
    /* From memory as from the file. */
    const er_learner_options options = {.size = sizeof options, .bytes = file.at, .byte_count = file.length};
    const er_status told = er_learner_open(model, NULL, &options, &learner, &why);
    fuzz_refused(told, &why);
    er_learner_close(learner);
    er_bytes_free(&file);
    const er_status opened = er_learner_open(model, path, NULL, &learner, &why);
    if (opened && !told) abort(); /* of a file, what is torn off at the end is left out */
    if (!opened) {
        er_begin_options options = {.size = sizeof options, .learner = learner};
        er_task *task;
        er_decision next = {.size = sizeof next};
        if (!er_begin(er_learner_model(learner), ER_TEXT("find my file and send a mail"), &options, &task, &why)) {
            if (!er_next(task, NULL, &next, &why) && next.tool_number >= 0) er_call(task, next.tool, &why);
            er_learn(task, NULL, NULL, &why);
            er_next(task, NULL, &next, &why);
            er_end(task);
        }
        const int64_t id = 0;
        const er_forget_options chosen = {.size = sizeof chosen, .ids = &id, .id_count = 1};
        er_forget(learner, &chosen, NULL, &why);
        hand_over(learner);
        er_learner_close(learner);
    }
    remove(path);
    return 0;
}
