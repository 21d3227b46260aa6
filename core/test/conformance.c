/* What the core makes of requests: the platforms' tests (tests/core_run.py) run it where Python is not.

       conformance BUNDLE [tiny] < requests

   A line is a request: the query, and what was called, between tabs. Of each one line of JSON is written: the decision, all
   candidates, and with no calls what its words say, what search finds, the tokens' places and the vector. Other lines begin
   with what they are:

       !turn   how many calls the latest turn made, the query, and what all turns before called: the decision
       !learn  the query, and the calls that solve it; requests behind it are decided by that, too
       !change definitions with a + in front, and names with a -; requests behind it are decided among these tools
       !call   tool, query, year to second and minutes ahead of UTC or nothing, and of each call before its tool, its arguments
               and its result: what the call is given, and what is missing */

#include "edgeret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined(_WIN32)
#include <fcntl.h>
#include <io.h>
#endif

enum { LONGEST = 1 << 20, MOST = 1 << 12, FIELDS = 300 };

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

/* Code points as bytes. */
static er_text part_of(er_text text, er_span span)
{
    size_t at = 0, begin = 0;
    for (uint32_t i = 0; at < text.length && i < span.end; i++) {
        if (i == span.begin) begin = at;
        for (at++; at < text.length && (text.at[at] & 0xc0) == 0x80; at++) continue;
    }
    return (er_text){text.at + begin, at - begin};
}

static void tell_understood(er_text query)
{
    static const char *const codes[] = {"en", "de", "fr", "es", "zh"};
    er_understood said = {.size = sizeof said};
    must(er_understand(query, &said, &why));
    printf(",\"understood\":{\"language\":\"%s\",\"sure\":%s", codes[said.language], said.sure ? "true" : "false");
    printf(",\"onlyAsks\":%s,\"values\":%u,\"clauses\":[", said.only_asks ? "true" : "false", (unsigned)said.values);
    for (uint32_t i = 0; i < said.clause_count; i++)
        printf("%s[%u,%u]", i ? "," : "", (unsigned)said.clauses[i].begin, (unsigned)said.clauses[i].end);
    printf("],\"parts\":[");
    for (uint32_t i = 0; i < said.part_count; i++) {
        if (i) putchar(',');
        put(part_of(query, said.parts[i]));
    }
    printf("]}");
}

static void tell_text(const er_model *model, er_text query, uint32_t dimension)
{
    static er_hit hits[MOST];
    size_t count = MOST;
    tell_understood(query);
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

static void tell_decision(er_task *task)
{
    static er_candidate candidates[MOST];
    er_decision next = {.size = sizeof next};
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
}

/* What decides now, and what it was loaded as. */
typedef struct {
    er_model *model;
    er_learner *learner;
    uint32_t dimension;
} state;

/* A line's fields, which are cut at tabs. */
static size_t cut(char *line, er_text *fields)
{
    size_t count = 0;
    for (char *at = line; at && count < FIELDS; count++) {
        char *more = strchr(at, '\t');
        if (more) *more++ = 0;
        fields[count] = (er_text){at, strlen(at)};
        at = more;
    }
    return count;
}

static void decide(const state *s, const er_text *fields, size_t count)
{
    er_task *task;
    const er_begin_options options = {.size = sizeof options, .learner = s->learner};
    must(er_begin(s->model, fields[0], &options, &task, &why));
    for (size_t i = 1; i < count; i++) must(er_call(task, fields[i], &why));
    tell_decision(task);
    if (count == 1) tell_text(s->model, fields[0], s->dimension);
    printf("}\n");
    er_end(task);
}

static void turn(const state *s, const er_text *fields, size_t count)
{
    er_task *task;
    const er_begin_options options = {.size = sizeof options, .earlier = fields + 2, .earlier_count = count - 2, .last_count = (size_t)atoi(fields[0].at)};
    must(er_begin(s->model, fields[1], &options, &task, &why));
    tell_decision(task);
    printf("}\n");
    er_end(task);
}

static void learn(state *s, const er_text *fields, size_t count)
{
    er_task *task;
    er_report report = {.size = sizeof report};
    if (!s->learner) must(er_learner_open(s->model, NULL, NULL, &s->learner, &why));
    const er_begin_options options = {.size = sizeof options, .learner = s->learner};
    must(er_begin(s->model, fields[0], &options, &task, &why));
    for (size_t i = 1; i < count; i++) must(er_call(task, fields[i], &why));
    must(er_learn(task, NULL, &report, &why));
    printf("{\"stored\":%u}\n", (unsigned)report.stored);
    er_end(task);
}

static void change(state *s, er_text *fields, size_t count)
{
    er_text add[FIELDS], remove[FIELDS];
    er_model *made;
    er_change change = {.size = sizeof change, .add = add, .remove = remove};
    for (size_t i = 0; i < count; i++) {
        const er_text one = {fields[i].at + 1, fields[i].length - 1};
        if (*fields[i].at == '+') add[change.add_count++] = one;
        else remove[change.remove_count++] = one;
    }
    must(er_with_tools(s->model, &change, &made, &why));
    er_free(s->model);
    er_learner_close(s->learner);
    s->model = made;
    s->learner = NULL;
    printf("{\"changed\":%zu}\n", count);
}

static void put_value(const er_value *value)
{
    if (value->type == ER_STRING) put(value->text);
    else printf("%.*s", (int)value->text.length, value->text.at);
}

static void call(const state *s, const er_text *fields, size_t count)
{
    static const char *const sources[] = {"rule", "choice", "output", "earlier", "default"};
    static er_argument given[MOST];
    static er_missing missing[MOST];
    er_made_call made[FIELDS / 3];
    er_task *task;
    er_arguments_options options = {.size = sizeof options, .calls = made};
    size_t given_count = MOST, missing_count = MOST;
    for (size_t i = 3; i + 2 < count; i += 3) made[options.call_count++] = (er_made_call){fields[i], fields[i + 1], fields[i + 2]};
    if (fields[2].length) {
        int32_t *parts[] = {&options.year, &options.month, &options.day, &options.hour, &options.minute, &options.second, &options.zone};
        char *at = (char *)fields[2].at;
        for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) *parts[i] = (int32_t)strtol(at, &at, 10);
        options.zoned = 1;
    }
    must(er_begin(s->model, fields[1], NULL, &task, &why));
    must(er_arguments(task, fields[0], &options, given, &given_count, missing, &missing_count, &why));
    printf("{\"given\":[");
    for (size_t i = 0; i < given_count; i++) {
        printf(i ? ",[" : "[");
        put(given[i].name);
        printf(",");
        put_value(&given[i].value);
        printf(",\"%s\",%u,%u,%.9g,[", sources[given[i].source], (unsigned)given[i].begin, (unsigned)given[i].end, given[i].confidence);
        for (uint32_t k = 0; k < given[i].alternative_count; k++) {
            if (k) printf(",");
            put_value(&given[i].alternatives[k]);
        }
        printf("]]");
    }
    printf("],\"missing\":[");
    for (size_t i = 0; i < missing_count; i++) {
        printf(i ? ",[" : "[");
        put(missing[i].name);
        printf(",");
        put(missing[i].question);
        printf("]");
    }
    printf("]}\n");
    er_end(task);
}

static void answer(state *s, char *line)
{
    er_text fields[FIELDS];
    const size_t count = cut(line, fields);
    if (!strcmp(line, "!turn") && count > 2) turn(s, fields + 1, count - 1);
    else if (!strcmp(line, "!learn") && count > 1) learn(s, fields + 1, count - 1);
    else if (!strcmp(line, "!change")) change(s, fields + 1, count - 1);
    else if (!strcmp(line, "!call") && count > 3) call(s, fields + 1, count - 1);
    else decide(s, fields, count);
}

int main(int count, char **words)
{
    static char line[LONGEST];
    er_load_options options = {sizeof options, {NULL, 0}, 0, count > 2 && !strcmp(words[2], "tiny"), 1};
    state s = {NULL};
    er_summary summary = {.size = sizeof summary};
    if (count < 2) return fprintf(stderr, "conformance BUNDLE [tiny] < requests\n"), 2;
#if defined(_WIN32)
    _setmode(_fileno(stdin), _O_BINARY);
    _setmode(_fileno(stdout), _O_BINARY);
#endif
    must(er_load(words[1], &options, &s.model, &why));
    must(er_describe(s.model, &summary, &why));
    s.dimension = summary.dimension;
    printf("{\"contentHash\":");
    put(summary.content_hash);
    printf(",\"tools\":[");
    for (uint32_t i = 0; i < summary.tools; i++) {
        if (i) putchar(',');
        put(er_tool_name(s.model, i));
    }
    printf("],\"takes\":[");
    for (uint32_t i = 0; i < summary.tools; i++) printf("%s%u", i ? "," : "", (unsigned)er_tool_takes(s.model, i));
    printf("]}\n");
    while (fgets(line, sizeof line, stdin)) {
        line[strcspn(line, "\n")] = 0;
        answer(&s, line);
    }
    er_learner_close(s.learner);
    er_free(s.model);
    return 0;
}
