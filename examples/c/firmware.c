/* Decides without files, threads and an operating system: the bundle is constant memory that this program is linked with.

       edgeret-export pack BUNDLE --target c -o bundle.c
       make -C examples/c/cortex-m run PACK=bundle.c

   Compiled for a host it runs as well; board.h then has nothing to tell of memory. */

#include <stdio.h>

#include "board.h"
#include "edgeret.h"

extern const er_file bundle_files[];
extern const size_t bundle_file_count;
extern const er_load_options bundle_options;

static const er_text requests[] = {
    ER_TEXT_INIT("Turn the volume down a little"),
    ER_TEXT_INIT("Find my lease contract, turn it into a PDF and mail it to Gideon"),
    ER_TEXT_INIT("What is the capital of Australia?"),
};
enum { MOST_CALLS = 8 };

/* Answers one request, call by call; a device would run each call before it says so. */
static er_status answer(const er_model *model, er_text request, er_error *why)
{
    er_task *task = NULL;
    er_decision next = {.size = sizeof next};
    er_status status = er_begin(model, request, NULL, &task, why);
    printf("%.*s:", (int)request.length, request.at);
    for (int calls = 0; !status && calls < MOST_CALLS; calls++) {
        status = er_next(task, NULL, &next, why);
        if (status || next.tool_number == ER_END) break;
        printf(" %.*s %.3f", (int)next.tool.length, next.tool.at, next.probability);
        status = er_call(task, next.tool, why);
    }
    if (!status) printf(" %s\n", next.abstained ? "- nothing fits" : "- done");
    board_tell("  ");
    er_end(task);
    return status;
}

int main(void)
{
    er_error why = {0};
    er_model *model = NULL;
    er_summary summary = {.size = sizeof summary};
    board_begin();
    er_status status = er_load_files(bundle_files, bundle_file_count, &bundle_options, &model, &why);
    if (!status) status = er_describe(model, &summary, &why);
    if (!status) {
        printf("edgeret %s: %u tools, the model holds %u bytes\n", er_version(), (unsigned)summary.tools, (unsigned)summary.bytes);
        board_tell("  ");
    }
    for (size_t i = 0; !status && i < sizeof requests / sizeof *requests; i++) status = answer(model, requests[i], &why);
    if (status) printf("%s: %s\n", er_status_text(status), why.text);
    er_free(model);
    return (int)status;
}
