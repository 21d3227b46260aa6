/* Tools that come and go (15.6, "tools"): another model with other tools, which shares what stays. What was demonstrated
   stays: a label whose tool is gone keeps its place among the names, and is never chosen. */

#include "encode.h"
#include "learn.h"
#include "names.h"
#include "parts.h"
#include "tools.h"

/* ---- Which tools there are then ---- */

/* Where the tools stand in the new order. False: not one would be left, or too many. */
static bool order_tools(er_changing *c)
{
    const er_model *base = c->base;
    er_error *error = c->arena->error;
    size_t removed = 0;
    for (uint32_t i = 0; i < base->tool_count; i++) removed += c->removed[i];
    const size_t tools = base->tool_count - removed + c->added;
    if (!tools) return er_refuse(error, ER_BAD_INPUT, "no tool would be left; keep or add at least one");
    if (tools > ER_MOST_TOOLS) return er_refuse(error, ER_BAD_INPUT, "%zu tools, at most %d are allowed; split the set", tools, ER_MOST_TOOLS);
    c->sources = ER_TAKE(&c->scratch, er_origin, tools);
    if (!c->sources) return false;
    uint32_t at = 0;
    for (uint32_t i = 0; i < base->tool_count; i++)
        if (!c->removed[i]) c->sources[at++] = (er_origin){i, c->instead[i]};
    for (uint32_t i = 0; i < c->added; i++) c->sources[at++] = (er_origin){UINT32_MAX, (int32_t)i};
    c->tools = at;
    return true;
}

/* A text in the model's own memory. */
static bool copied(er_arena *arena, er_text *text)
{
    char *copy = ER_TAKE(arena, char, text->length + 1);
    if (!copy) return false;
    if (text->length) memcpy(copy, text->at, text->length);
    text->at = copy;
    return true;
}

/* A tool that stays: where the bundle has its texts they are shared, and where another change gave them they are read
   anew, so that no model but the loaded one is held by others. */
static bool keep_tool(er_changing *c, const er_tool *old, er_tool *tool)
{
    er_text definition = old->definition;
    *tool = *old;
    return !old->given || (copied(c->arena, &definition) && er_tool_given(c->arena, &c->work, definition, "a tool", tool));
}

static bool take_tools(er_changing *c, er_model *made)
{
    const er_model *base = c->base;
    const er_stage *stage = er_deciding(made);
    const uint32_t labels = stage->has_head ? stage->label_count : 1;
    er_tool *tools = ER_TAKE(c->arena, er_tool, (size_t)c->tools + labels);
    int32_t *label_tools = ER_TAKE(c->arena, int32_t, labels);
    if (!tools || !label_tools) return false;
    for (uint32_t i = 0; i < c->tools; i++) {
        const er_origin from = c->sources[i];
        if (from.given >= 0) tools[i] = c->given[from.given].tool;
        else if (!keep_tool(c, &base->tools[from.old], &tools[i])) return false;
    }
    made->tools = tools;
    made->tool_count = made->held = c->tools;
    made->files = NULL;
    if (!er_place_tools(c->arena, made)) return false;
    for (uint32_t i = 0; i + 1 < labels; i++) {
        er_text name = base->tools[stage->label_tools[i]].name;
        const int64_t found = er_tool_find(made, name);
        label_tools[i] = found >= 0 ? (int32_t)found : (int32_t)made->held;
        if (found >= 0) continue;
        if (!copied(c->arena, &name)) return false;
        tools[made->held++] = (er_tool){.name = name, .description = ER_TEXT(""), .definition = ER_TEXT("{}"), .parameters = ER_TEXT("{}")};
    }
    label_tools[labels - 1] = ER_END;
    made->full.label_tools = made->small.label_tools = label_tools;
    return true;
}

/* ---- Their vectors ---- */

/* What an encoder reads of a tool (section 6). */
static bool text_of(er_arena *arena, er_text form, const er_tool *tool, er_points *points)
{
    if (er_is(form, "description")) return er_points_of(arena, tool->description, points);
    if (form.length && !er_is(form, "name+description"))
        return er_refuse(arena->error, ER_BAD_BUNDLE, "unknown tool text '%s'; build the bundle again", er_show(form).at);
    er_text name;
    if (!er_name_in_words(arena, tool->name, &name)) return false;
    char *text = ER_TAKE(arena, char, name.length + 3 + tool->description.length);
    if (!text) return false;
    if (name.length) memcpy(text, name.at, name.length);
    memcpy(text + name.length, " | ", 3);
    memcpy(text + name.length + 3, tool->description.at, tool->description.length);
    return er_points_of(arena, (er_text){text, name.length + 3 + tool->description.length}, points);
}

/* Of a tool that comes, and of what it shows; `theirs`: the caller's own numbers are of this stage. */
static bool take_vectors(er_changing *c, const er_stage *stage, const er_given *given, bool theirs, float *vector, float *examples)
{
    const uint32_t d = stage->spec.dimension;
    const er_place place = er_mark(&c->work);
    er_points points;
    er_encoded encoded;
    if (theirs) {
        memcpy(vector, c->change->vectors + (size_t)given->row * d, d * sizeof(float));
        if (given->tool.example_count)
            memcpy(examples, c->change->examples + (size_t)given->example_row * d, (size_t)given->tool.example_count * d * sizeof(float));
        return (er_units(vector, 1, d) && er_units(examples, given->tool.example_count, d)) ||
               er_refuse(c->arena->error, ER_BAD_INPUT, "the vectors given for \"%s\" are not of length 1", er_show(given->tool.name).at);
    }
    if (!er_encodes(stage))
        return er_refuse(c->arena->error, ER_NO_ENCODER, "the bundle's encoder does not run here; give vectors of another one with the change");
    if (!text_of(&c->work, c->base->tool_text, &given->tool, &points) || !er_encode_tool(&c->work, c->base, stage, &points, &encoded)) return false;
    memcpy(vector, encoded.vector, d * sizeof(float));
    for (uint32_t i = 0; i < given->tool.example_count; i++) {
        if (!er_points_of(&c->work, given->tool.examples[i], &points) ||
            !er_encode_text(&c->work, c->base, stage, &points, NULL, &encoded))
            return false;
        memcpy(examples + (size_t)i * d, encoded.vector, d * sizeof(float));
    }
    er_release(&c->work, place);
    return true;
}

static uint32_t shown_before(const er_index *index, uint32_t tool)
{
    return index->example_starts ? index->example_starts[tool + 1] - index->example_starts[tool] : 0;
}

/* An example's numbers, as floats. */
static void widen(const er_index *index, uint32_t example, uint32_t d, float *vector)
{
    const size_t at = (size_t)example * d;
    if (index->wide_examples) memcpy(vector, index->wide_examples + at, d * sizeof(float));
    else
        for (uint32_t k = 0; k < d; k++) vector[k] = (float)index->examples[at + k] * index->example_scales[example];
}

/* Examples of tools that stay: as they are, or as numbers of their own. */
static void keep_examples(const er_index *old, uint32_t from, uint32_t count, uint32_t d, uint32_t to, int8_t *rows, float *scales, float *wide)
{
    for (uint32_t i = 0; i < count; i++) {
        const size_t own = (size_t)(from + i) * d;
        if (rows) {
            memcpy(rows + (size_t)(to + i) * d, old->examples + own, d);
            scales[to + i] = old->example_scales[from + i];
        } else widen(old, from + i, d, wide + (size_t)(to + i) * d);
    }
}

static bool take_index(er_changing *c, const er_model *made, const er_stage *base, bool theirs, er_index *index)
{
    const uint32_t d = base->spec.dimension;
    const er_index *old = &base->index;
    float *vectors = ER_TAKE(c->arena, float, (size_t)made->held * d);
    uint32_t *starts = ER_TAKE(c->arena, uint32_t, (size_t)made->held + 1);
    if (!vectors || !starts) return false;
    bool wide = old->wide_examples != NULL;
    for (uint32_t i = 0; i < c->tools; i++) {
        const er_origin from = c->sources[i];
        wide |= from.given >= 0 && c->given[from.given].tool.example_count;
        starts[i + 1] = starts[i] + (from.given >= 0 ? c->given[from.given].tool.example_count : shown_before(old, from.old));
    }
    for (uint32_t i = c->tools; i < made->held; i++) starts[i + 1] = starts[i];
    const uint32_t count = starts[c->tools];
    wide &= count > 0;
    float *numbers = wide ? ER_TAKE(c->arena, float, (size_t)count * d) : NULL, *scales = wide ? NULL : ER_TAKE(c->arena, float, count);
    int8_t *rows = wide ? NULL : ER_TAKE(c->arena, int8_t, (size_t)count * d);
    if (wide ? !numbers : !scales || !rows) return false;
    for (uint32_t i = 0; i < c->tools; i++) {
        const er_origin from = c->sources[i];
        float *vector = vectors + (size_t)i * d;
        if (from.given >= 0) {
            float *examples = numbers ? numbers + (size_t)starts[i] * d : NULL;
            if (!take_vectors(c, base, &c->given[from.given], theirs, vector, examples)) return false;
            continue;
        }
        memcpy(vector, old->vectors + (size_t)from.old * d, d * sizeof(float));
        if (shown_before(old, from.old)) keep_examples(old, old->example_starts[from.old], shown_before(old, from.old), d, starts[i], rows, scales, numbers);
    }
    *index = (er_index){.vectors = vectors};
    if (!count) return true;
    index->examples = rows;
    index->example_scales = scales;
    index->wide_examples = numbers;
    index->example_starts = starts;
    index->example_count = count;
    return er_twins_of(c->arena, index, d);
}

/* ---- What is made of them ---- */

static bool take_words(er_changing *c, er_model *made)
{
    er_described *described = ER_TAKE(&c->scratch, er_described, made->held);
    er_tool_text *texts = ER_TAKE(&c->scratch, er_tool_text, made->held);
    if (!described || !texts) return false;
    for (uint32_t i = 0; i < made->held; i++) {
        described[i] = er_described_of(&made->tools[i]);
        texts[i] = described[i].tool;
    }
    made->arranged_words = false; /* those are of the bundle's own tools */
    made->searched = NULL;
    if (!er_lexicon_of(c->arena, described, made->held, NULL, &made->lexicon) ||
        !er_habits_of(c->arena, texts, made->held, false, &made->habits) ||
        !er_flow_of(c->arena, &made->lexicon, texts, made->held, &made->flow))
        return false;
    er_lexicon *lexicon = &made->lexicon;
    if (made->held > made->tool_count) {
        er_searched *searched = ER_TAKE(c->arena, er_searched, 1);
        if (!searched || !er_lexicon_of(c->arena, described, made->tool_count, NULL, &searched->lexicon) ||
            !er_habits_of(c->arena, texts, made->tool_count, false, &searched->habits))
            return false;
        lexicon = &searched->lexicon;
        made->searched = searched;
    }
    return er_lexicon_vectors(c->arena, lexicon, er_word_vector, made);
}

static bool take_stage(er_changing *c, const er_model *made, const er_stage *base, bool theirs, er_stage *stage)
{
    if (!take_index(c, made, base, theirs, &stage->index)) return false;
    stage->hnsw = NULL; /* of the tools that were there */
    if (!stage->has_head) return true;
    er_text *names = ER_TAKE(c->arena, er_text, made->held);
    if (!names) return false;
    for (uint32_t i = 0; i < made->held; i++) names[i] = made->tools[i].name;
    return er_popular_of(c->arena, names, made->held, &stage->head);
}

/* What the tools alone leave of a stage (9): nothing demonstrated, no floors but the usual one, and the prior's own map. */
static bool forget_demonstrated(er_changing *c, er_model *made)
{
    static const float right[] = {0.0f, 1.0f};
    er_stage *stage = made->has_full ? &made->full : &made->small;
    float *floors = ER_TAKE(c->arena, float, 100);
    if (!floors) return false;
    for (int i = 0; i < 100; i++) floors[i] = 1.0f - (float)(i + 1) / 200.0f;
    made->has_small &= !made->has_full;
    stage->has_head = stage->has_memory = false;
    stage->label_count = 1;
    stage->familiarity.rows = 0;
    stage->familiarity.no_tool = 0;
    const er_calibration *old = &stage->calibration;
    stage->calibration = (er_calibration){
        .min_probability = 0.1, .map = old->prior_map, .map_rows = old->prior_map_rows, .prior_map = old->prior_map,
        .prior_map_rows = old->prior_map_rows, .right = right, .right_count = 2, .first_floors = floors, .later_floors = floors};
    return true;
}

static bool make(er_changing *c, er_model *made)
{
    const er_model *base = c->base;
    const bool theirs = c->change->vectors != NULL;
    if (!order_tools(c) || (c->change->tools_alone && !forget_demonstrated(c, made)) || !take_tools(c, made)) return false;
    if (made->has_full && !take_stage(c, made, &base->full, theirs, &made->full)) return false;
    if (made->has_small && !take_stage(c, made, &base->small, theirs && !made->has_full, &made->small)) return false;
    return take_words(c, made) && (!made->has_full || er_names_of(c->arena, made, &made->full, &made->full.names)) &&
           (!made->has_small || er_names_of(c->arena, made, &made->small, &made->small.names));
}

/* ---- The door ---- */

er_model *er_held(const er_model *model)
{
    er_model *one = (er_model *)model; /* who counts holders writes nothing else */
    atomic_fetch_add(&one->holders, 1);
    return one;
}

er_status er_with_tools(const er_model *base, const er_change *change, er_model **made, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!base || !change || !made) return er_refuse(error, ER_BAD_INPUT, "er_with_tools needs a model, a change, and a place for the model that comes"), ER_BAD_INPUT;
    *made = NULL;
    er_change whole;
    if (!er_options(&whole, sizeof whole, change, offsetof(er_change, tools_alone), "er_change", error)) return error->status;
    er_arena arena = {.error = error};
    er_model *model = ER_TAKE(&arena, er_model, 1);
    if (!model) return er_give_back(&arena), er_status_of(error);
    /* All but memory and holders, which belong to one model each. */
    const size_t from = offsetof(er_model, content_hash);
    memcpy((char *)model + from, (const char *)base + from, sizeof *model - from);
    model->arena = arena;
    er_changing c = {.arena = &model->arena, .scratch = {.error = error}, .work = {.error = error}, .base = base, .change = &whole};
    const bool read = er_read_change(&c), less = whole.tools_alone && (er_deciding(base)->has_head || er_deciding(base)->familiarity.rows);
    const bool same = read && c.unchanged && !less, fine = read && (same || make(&c, model)) && !error->status;
    er_give_back(&c.scratch);
    er_give_back(&c.work);
    if (same || !fine) {
        arena = model->arena;
        er_give_back(&arena);
        if (!fine) return er_status_of(error);
        *made = er_held(base);
        return ER_OK;
    }
    atomic_init(&model->holders, 1);
    model->root = er_held(base->root ? base->root : base);
    model->arena.error = NULL;
    *made = model;
    return ER_OK;
}

er_status er_tool_vectors(const er_model *model, uint32_t tool, float *room, size_t *count, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!model || !count || (!room && *count)) return er_refuse(error, ER_BAD_INPUT, "er_tool_vectors needs a model, a count, and room for so many"), ER_BAD_INPUT;
    if (tool >= model->tool_count)
        return er_refuse(error, ER_BAD_INPUT, "no tool has the number %u; there are %u, from 0 on", tool, model->tool_count), ER_BAD_INPUT;
    const er_stage *stage = er_deciding(model);
    const uint32_t d = stage->spec.dimension, shown = shown_before(&stage->index, tool);
    const size_t fits = *count;
    *count = 1 + (size_t)shown;
    if (fits) memcpy(room, stage->index.vectors + (size_t)tool * d, d * sizeof(float));
    for (uint32_t i = 0; i < shown && i + 1 < fits; i++) widen(&stage->index, stage->index.example_starts[tool] + i, d, room + (size_t)(i + 1) * d);
    return ER_OK;
}
