/* What is to change of a model's tools, read and checked before anything is made (15.6, "tools"). */

#include "distinct.h"
#include "format.h"
#include "json.h"
#include "parts.h"
#include "tools.h"

enum { MOST_DEFINITION = 1 << 22, MOST_NESTED = 64, MOST_CONTAINERS = 100000 };
static const double WHOLE = 9007199254740992.0; /* whole numbers beyond may differ and be one float */

/* ---- Whether a tool is there as it is given ---- */

static bool equal(const er_json *a, const er_json *b);

static bool equal_items(const er_json *a, const er_json *b)
{
    if (a->count != b->count) return false;
    for (uint32_t i = 0; i < a->count; i++) {
        uint32_t k = i; /* mostly keys stand in one order */
        for (uint32_t n = 0; a->keys && n < b->count && !er_same(a->keys[i], b->keys[k]); n++) k = (k + 1) % b->count;
        if ((a->keys && !er_same(a->keys[i], b->keys[k])) || !equal(&a->items[i], &b->items[k])) return false;
    }
    return true;
}

/* JSON that says the same; er_json_read bounds how deep this goes. */
static bool equal(const er_json *a, const er_json *b)
{
    if (a->kind != b->kind) return false;
    switch (a->kind) {
    case ER_JSON_NULL: return true;
    case ER_JSON_BOOLEAN: return a->truth == b->truth;
    case ER_JSON_NUMBER: return a->number == b->number && (fabs(a->number) < WHOLE || er_same(a->raw, b->raw));
    case ER_JSON_TEXT: return er_same(a->text, b->text);
    case ER_JSON_ARRAY:
    case ER_JSON_OBJECT: return equal_items(a, b);
    }
    return false;
}

/* What is missing says as much as what is empty. */
static bool equal_parts(const er_json *a, const er_json *b, const char *key)
{
    const er_json *one = er_json_get(a, key), *other = er_json_get(b, key);
    const bool none = !one || one->kind == ER_JSON_NULL || !one->count, nothing = !other || other->kind == ER_JSON_NULL || !other->count;
    return none || nothing ? none == nothing : equal(one, other);
}

/* False where there is no memory. */
static bool is_there(er_changing *c, const er_tool *old, const er_tool *given, bool *there)
{
    *there = false;
    if (!er_same(old->description, given->description) || old->risk != given->risk || old->confirm != given->confirm) return true;
    if (er_same(old->definition, given->definition)) return *there = true;
    const er_json *one, *other;
    const er_place place = er_mark(&c->work);
    if (!er_json_read(&c->work, old->definition, MOST_NESTED, MOST_CONTAINERS, "a tool", &one) ||
        !er_json_read(&c->work, given->definition, MOST_NESTED, MOST_CONTAINERS, "a tool", &other))
        return false;
    *there = equal_parts(one, other, "parameters") && equal_parts(one, other, "examples");
    er_release(&c->work, place);
    return true;
}

/* ---- What is given ---- */

static bool missing(er_changing *c, const char *kind) { return er_refuse(c->arena->error, ER_BAD_INPUT, "%s: no text where one must be", kind); }

static bool unknown(er_changing *c, const char *kind, er_text name)
{
    return er_refuse(c->arena->error, ER_BAD_INPUT, "%s: unknown tool \"%s\"; er_tool_name lists those that are there", kind, er_show(name).at);
}

static bool read_removed(er_changing *c)
{
    for (size_t i = 0; i < c->change->remove_count; i++) {
        const er_text name = c->change->remove[i];
        if (!name.at) return missing(c, "remove");
        const int64_t at = er_tool_find(c->base, name);
        if (at < 0) return unknown(c, "remove", name);
        c->removed[at] = true;
    }
    return true;
}

/* `row` and `example_row` count on. */
static bool read_given(er_changing *c, const char *kind, const er_text *texts, size_t count, uint32_t *row, uint32_t *example_row)
{
    for (size_t i = 0; i < count; i++) {
        char where[48];
        er_given *one = &c->given[c->count];
        er_format(where, sizeof where, "%s, item %zu", kind, i + 1);
        if (!texts[i].at) return missing(c, where);
        if (texts[i].length > MOST_DEFINITION)
            return er_refuse(c->arena->error, ER_BAD_INPUT, "%s: a definition of %zu bytes, at most %d are allowed; describe it in fewer words", where,
                             texts[i].length, MOST_DEFINITION);
        char *copy = ER_TAKE(c->arena, char, texts[i].length + 1);
        if (!copy) return false;
        memcpy(copy, texts[i].at, texts[i].length);
        if (!er_tool_given(c->arena, &c->work, (er_text){copy, texts[i].length}, where, &one->tool)) return false;
        one->row = (*row)++;
        one->example_row = *example_row;
        *example_row += one->tool.example_count;
        const int64_t at = er_tool_find(c->base, one->tool.name);
        bool there = false;
        if (at >= 0 && !c->removed[at] && !is_there(c, &c->base->tools[at], &one->tool, &there)) return false;
        c->count += !there;
    }
    return true;
}

static bool names_differ(er_changing *c, const char *kind, uint32_t begin, uint32_t end)
{
    int64_t alike;
    const er_place place = er_mark(&c->scratch);
    er_text *names = ER_TAKE(&c->scratch, er_text, end - begin + 1);
    if (!names) return false;
    for (uint32_t i = begin; i < end; i++) names[i - begin] = c->given[i].tool.name;
    if (!er_first_alike(&c->scratch, names, end - begin, &alike)) return false;
    if (alike >= 0)
        return er_refuse(c->arena->error, ER_BAD_INPUT, "%s: the name \"%s\" is taken by two of these; names are unique", kind, er_show(names[alike]).at);
    er_release(&c->scratch, place);
    return true;
}

/* Whether those added are new, and those that replace have somebody to replace. */
static bool they_fit(er_changing *c)
{
    er_error *error = c->arena->error;
    if (!names_differ(c, "add", 0, c->added) || !names_differ(c, "replace", c->added, c->count)) return false;
    for (uint32_t i = c->added; i < c->count; i++) {
        const er_text name = c->given[i].tool.name;
        const int64_t at = er_tool_find(c->base, name);
        if (at < 0) return unknown(c, "replace", name);
        if (c->removed[at]) return er_refuse(error, ER_BAD_INPUT, "\"%s\" is to be removed and replaced; choose one", er_show(name).at);
        c->instead[at] = (int32_t)i;
    }
    for (uint32_t i = 0; i < c->added; i++) {
        const er_text name = c->given[i].tool.name;
        const int64_t at = er_tool_find(c->base, name);
        if (at >= 0 && !c->removed[at])
            return er_refuse(error, ER_BAD_INPUT, "\"%s\" is among the tools already; replace it instead of adding it", er_show(name).at);
    }
    return true;
}

bool er_read_change(er_changing *c)
{
    const er_change *change = c->change;
    er_error *error = c->arena->error;
    const uint32_t tools = c->base->tool_count;
    if ((change->add_count && !change->add) || (change->remove_count && !change->remove) || (change->replace_count && !change->replace))
        return er_refuse(error, ER_BAD_INPUT, "a list of a change is NULL, and not empty");
    if (change->add_count > ER_MOST_TOOLS || change->replace_count > ER_MOST_TOOLS || change->remove_count > (1u << 24))
        return er_refuse(error, ER_BAD_INPUT, "a change of more than %d tools; split it", ER_MOST_TOOLS);
    uint32_t row = 0, example_row = 0;
    c->removed = ER_TAKE(&c->scratch, bool, tools);
    c->instead = ER_TAKE(&c->scratch, int32_t, tools);
    c->given = ER_TAKE(&c->scratch, er_given, change->add_count + change->replace_count + 1);
    if (!c->removed || !c->instead || !c->given || !er_take(&c->work, 1, 1)) return false; /* a block to go back to */
    for (uint32_t i = 0; i < tools; i++) c->instead[i] = -1;
    if (!read_removed(c) || !read_given(c, "add", change->add, change->add_count, &row, &example_row)) return false;
    c->added = c->count;
    if (!read_given(c, "replace", change->replace, change->replace_count, &row, &example_row) || !they_fit(c)) return false;
    if (change->vectors && example_row && !change->examples)
        return er_refuse(error, ER_BAD_INPUT, "vectors of tools, but none of the examples that they show; give both, or none");
    c->unchanged = !c->count && !change->remove_count;
    return true;
}
