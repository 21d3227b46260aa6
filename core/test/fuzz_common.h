/* What every target asks of a model that was loaded or made: whatever it holds, decisions are shares, and all else is refused
   in words. */

#ifndef FUZZ_COMMON_H
#define FUZZ_COMMON_H

#include "edgeret.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length);

enum { FUZZ_TOOLS = 16 };

static inline int fuzz_refused(er_status status, const er_error *why)
{
    if (status && (!why->text[0] || !memchr(why->text, 0, sizeof why->text))) abort(); /* a refusal without a word */
    return status != ER_OK;
}

static inline const er_model *fuzz_load(const char *folder, const er_load_options *options)
{
    er_error why = {0};
    er_model *model;
    if (!er_load(folder, options, &model, &why)) return model;
    fprintf(stderr, "%s\n", why.text);
    abort();
}

/* The step that was decided last, by all that tells of it. */
static inline void fuzz_told(er_task *task, const er_decision *next)
{
    er_error why = {0};
    er_candidate room[FUZZ_TOOLS];
    er_answer answer = {.size = sizeof answer};
    size_t count = FUZZ_TOOLS;
    double sum = 0;
    if (!(next->probability >= 0 && next->probability <= 1 + 1e-9)) abort(); /* no number, or none of a share */
    if (er_candidates(task, room, &count, &why)) abort();
    const size_t here = count < FUZZ_TOOLS ? count : FUZZ_TOOLS;
    for (size_t i = 0; i < here; i++) {
        if (!(room[i].probability >= 0) || (i && room[i].probability > room[i - 1].probability)) abort();
        sum += room[i].probability;
    }
    if (!(sum <= 1 + 1e-6) || (count <= FUZZ_TOOLS && sum < 1 - 1e-4 && count)) abort();
    int32_t compared[ER_MOST_COMPARED];
    size_t some = here < ER_MOST_COMPARED ? here : ER_MOST_COMPARED;
    for (size_t i = 0; i < some; i++) compared[i] = room[i].tool_number;
    er_explanation told = {.size = sizeof told};
    if (some && er_explain(task, compared, some, &told, &why)) abort(); /* all of them could be chosen */
    if (told.vote_count > 11 || told.near_count > 3 || told.word_count > 12 || told.cluster_count > 3) abort();
    for (uint32_t i = 0; i < told.word_count; i++)
        if (!told.words[i].word.length) abort();
    count = FUZZ_TOOLS;
    if (er_conformal(task, 0.9, room, &count, &why) || er_answer_with(task, next->best_number, NULL, &answer, &why)) abort();
}

/* Every tool's arguments, behind a call of itself: they lie within the text, and are as sure as a share can be. */
static inline void fuzz_arguments(er_task *task, const er_model *model, er_text query)
{
    er_error why = {0};
    for (uint32_t i = 0; i < FUZZ_TOOLS && er_tool_name(model, i).length; i++) {
        const er_text tool = er_tool_name(model, i);
        const er_made_call call = {tool, ER_TEXT("{\"query\": \"a\", \"file\": \"$out_1\"}"), ER_TEXT("{\"id\": [{\"file\": \"b\"}]}")};
        const er_arguments_options options = {.size = sizeof options, .calls = &call, .call_count = i % 2, .year = i % 3 ? 2026 : 0, .month = 2, .day = 28,
                                              .zoned = i % 2, .zone = -90};
        er_argument values[FUZZ_TOOLS];
        er_missing missing[FUZZ_TOOLS];
        size_t count = FUZZ_TOOLS, missing_count = FUZZ_TOOLS;
        if (fuzz_refused(er_arguments(task, tool, &options, values, &count, missing, &missing_count, &why), &why)) continue;
        for (size_t k = 0; k < count && k < FUZZ_TOOLS; k++)
            if (values[k].begin > values[k].end || values[k].end > query.length || !(values[k].confidence >= 0 && values[k].confidence <= 1)) abort();
        for (size_t k = 0; k < missing_count && k < FUZZ_TOOLS; k++)
            if (!missing[k].question.length) abort();
    }
}

/* Up to three steps of one request, what is left aside, what its calls are given, and what search finds. */
static inline void fuzz_use(const er_model *model, er_text query, er_learner *learner)
{
    er_error why = {0};
    er_task *task;
    er_text aside[3];
    er_hit hits[FUZZ_TOOLS];
    const er_begin_options options = {.size = sizeof options, .learner = learner};
    for (int strategy = ER_SEARCH_AUTO; strategy <= ER_SEARCH_DESCRIPTION; strategy++) {
        const er_search_options by = {.size = sizeof by, .strategy = (er_search_strategy)strategy, .learner = learner};
        size_t count = FUZZ_TOOLS;
        if (fuzz_refused(er_search(model, query, &by, hits, &count, &why), &why)) continue;
        for (size_t i = 0; i < count && i < FUZZ_TOOLS; i++)
            if (!(hits[i].share >= 0 && hits[i].share <= 1 + 1e-9)) abort();
    }
    if (fuzz_refused(er_begin(model, query, &options, &task, &why), &why)) return;
    for (int step = 0; step < 3; step++) {
        er_decision next = {.size = sizeof next};
        size_t count = 3;
        if (fuzz_refused(er_next(task, NULL, &next, &why), &why)) break;
        fuzz_told(task, &next);
        if (er_left_aside(task, aside, &count, &why)) abort();
        if (er_call(task, next.best_number < 0 ? er_tool_name(model, (uint32_t)step) : next.best, &why)) break;
    }
    fuzz_arguments(task, model, query);
    er_end(task);
}

#endif
