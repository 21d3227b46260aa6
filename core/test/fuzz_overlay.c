/* A stranger's overlay: whatever its bytes are, they are refused in words, or what they say is learned and decides.

   The first byte says which: an even one has the rest as the file's bytes behind a right header, an odd one as the body of a
   batch whose digests are made right, else nothing behind them would be reached. Built by tests/core_fuzz_run.py. */

#include "edgeret.h"
#include "learn_handle.h"
#include "sha256.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

static void write_file(const char *path, const er_bytes *b)
{
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(b->at, 1, b->length, file) != b->length) abort();
    fclose(file);
}

static const er_model *loaded(void)
{
    static er_model *model;
    er_error why = {0};
    if (!model && er_load(CONFORMANCE "/few", NULL, &model, &why)) {
        fprintf(stderr, "%s\n", why.text);
        abort();
    }
    return model;
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
    static char path[64];
    const er_model *model = loaded();
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
    er_bytes_free(&file);
    if (!er_learner_open(model, path, NULL, &learner, &why)) {
        er_begin_options options = {.size = sizeof options, .learner = learner};
        er_task *task;
        er_decision next = {sizeof next};
        if (!er_begin(er_learner_model(learner), ER_TEXT("find my file and send a mail"), &options, &task, &why)) {
            if (!er_next(task, NULL, &next, &why) && next.tool_number >= 0) er_call(task, next.tool, &why);
            er_learn(task, NULL, NULL, &why);
            er_next(task, NULL, &next, &why);
            er_end(task);
        }
        const int64_t id = 0;
        const er_forget_options chosen = {.size = sizeof chosen, .ids = &id, .id_count = 1};
        er_forget(learner, &chosen, NULL, &why);
        er_learner_close(learner);
    } else if (!why.text[0])
        abort();
    remove(path);
    return 0;
}
