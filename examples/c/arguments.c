/* Decides a request and reads the arguments of its first call out of its words.

       cc -I core/include examples/c/arguments.c core/build/libedgeret.a -lm -lpthread -o arguments
       ./arguments build/desktop "Mail the plan to gideon@example.com" */

#include <stdio.h>
#include <string.h>

#include "edgeret.h"

enum { MOST = 16 };

static int fail(const er_error *why) { return fprintf(stderr, "%s\n", why->text), 2; }

int main(int count, char **given)
{
    er_error why = {0};
    er_model *model;
    er_task *task;
    er_decision next = {sizeof next};
    er_argument values[MOST];
    er_missing missing[MOST];
    size_t value_count = MOST, missing_count = MOST;
    if (count != 3) return fprintf(stderr, "usage: arguments BUNDLE REQUEST\n"), 2;
    if (er_load(given[1], NULL, &model, &why) || er_begin(model, (er_text){given[2], strlen(given[2])}, NULL, &task, &why) ||
        er_next(task, NULL, &next, &why))
        return fail(&why);
    if (next.tool_number == ER_END) return puts("nothing fits"), 0;
    if (er_arguments(task, next.tool, NULL, values, &value_count, missing, &missing_count, &why)) return fail(&why);
    printf("%.*s\n", (int)next.tool.length, next.tool.at);
    for (size_t i = 0; i < value_count && i < MOST; i++)
        printf("  %.*s = %.*s (%.2f)\n", (int)values[i].name.length, values[i].name.at, (int)values[i].value.text.length, values[i].value.text.at,
               values[i].confidence);
    for (size_t i = 0; i < missing_count && i < MOST; i++)
        printf("  %.*s: %.*s\n", (int)missing[i].name.length, missing[i].name.at, (int)missing[i].question.length, missing[i].question.at);
    er_end(task);
    er_free(model);
    return 0;
}
