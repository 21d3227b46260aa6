/* Decides request by request, from standard input: one line each; lines that begin with "+" say what was called.

       cc -I core/include examples/c/decide.c core/build/libedgeret.a -lm -lpthread -o decide
       ./decide build/desktop */

#include <stdio.h>
#include <string.h>

#include "edgeret.h"

int main(int count, char **given)
{
    er_error why = {0};
    er_model *model = NULL;
    er_task *task = NULL;
    char line[4096];
    if (count != 2) return fprintf(stderr, "usage: decide BUNDLE\n"), 2;
    if (er_load(given[1], NULL, &model, &why)) return fprintf(stderr, "%s\n", why.text), 2;
    while (fgets(line, sizeof line, stdin)) {
        const size_t length = strcspn(line, "\r\n");
        er_decision next = {.size = sizeof next};
        er_status status;
        if (line[0] == '+') {
            status = task ? er_call(task, (er_text){line + 1, length - 1}, &why) : ER_BAD_INPUT;
        } else {
            er_end(task);
            status = er_begin(model, (er_text){line, length}, NULL, &task, &why);
        }
        if (!status) status = er_next(task, NULL, &next, &why);
        if (status) printf("! %s\n", why.status ? why.text : "a call before any request");
        else if (next.tool_number != ER_END) printf("%.*s %.3f\n", (int)next.tool.length, next.tool.at, next.probability);
        else printf("- %s\n", next.reason == ER_DONE ? "nothing is left to do" : next.reason == ER_UNSURE ? "unsure" : "nothing fits");
        fflush(stdout);
    }
    er_end(task);
    er_free(model);
    return 0;
}
