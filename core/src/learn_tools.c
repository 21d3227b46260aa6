/* Tools that came and went, as an overlay's record tells of them (15.6, "tools"). */

#include "learn_records.h"

#include "format.h"
#include "parts.h"

enum { MOST_NESTED = 64 };

/* A decoded value as JSON, which is how tools are given. False: it nests too deeply, or holds bytes. */
static bool put_json(er_bytes *b, const er_pack *value, int depth)
{
    char number[40];
    const bool map = value->kind == ER_PACK_MAP;
    switch ((er_pack_kind)value->kind) {
    case ER_PACK_NIL: return er_put(b, "null", 4), true;
    case ER_PACK_BOOLEAN: return er_put(b, value->truth ? "true" : "false", value->truth ? 4 : 5), true;
    case ER_PACK_WHOLE: return er_put(b, number, er_format(number, sizeof number, "%lld", (long long)value->whole)), true;
    case ER_PACK_NUMBER: return er_put(b, number, er_format(number, sizeof number, "%.17g", value->number)), isfinite(value->number);
    case ER_PACK_TEXT: return er_put_quoted(b, er_pack_text(value)), true;
    case ER_PACK_BYTES: return false;
    case ER_PACK_ARRAY:
    case ER_PACK_MAP: break;
    }
    if (depth == MOST_NESTED) return false;
    er_put(b, map ? "{" : "[", 1);
    for (uint32_t i = 0; i < value->count; i++) {
        if (i) er_put(b, ",", 1);
        if (map) {
            er_put_quoted(b, er_pack_text(&value->items[2 * i]));
            er_put(b, ":", 1);
        }
        if (!put_json(b, &value->items[map ? 2 * i + 1 : i], depth + 1)) return false;
    }
    return er_put(b, map ? "}" : "]", 1), true;
}

static bool definitions(const er_fields *f, const char *key, const er_text **found, uint32_t *count, uint32_t *examples)
{
    const er_pack *list;
    if (!er_field_list(f, key, &list)) return false;
    er_text *texts = ER_TAKE(f->arena, er_text, list->count);
    if (!texts) return false;
    for (uint32_t i = 0; i < list->count; i++) {
        er_bytes b = {0};
        const er_pack *tool = &list->items[i], *shown = tool->kind == ER_PACK_MAP ? er_pack_get(tool, "examples") : NULL;
        const bool fine = tool->kind == ER_PACK_MAP && put_json(&b, tool, 0) && !b.failed;
        char *copy = fine ? ER_TAKE(f->arena, char, b.length) : NULL;
        if (copy) texts[i] = (er_text){memcpy(copy, b.at, b.length), b.length};
        er_bytes_free(&b);
        if (b.failed) return er_refuse(f->arena->error, ER_NO_MEMORY, "no memory for tools");
        if (!copy) return er_refuse(f->arena->error, ER_BAD_BUNDLE, "\"%s\" must hold tools", key);
        *examples += shown && shown->kind == ER_PACK_ARRAY ? shown->count : 0;
    }
    *found = texts;
    *count = list->count;
    return true;
}

bool er_tools_take(er_model **model, const er_fields *f)
{
    const er_text *added, *removed, *replaced;
    uint32_t add, remove, replace, shown = 0;
    const uint32_t d = er_deciding(*model)->spec.dimension;
    er_array vectors, examples;
    if (!definitions(f, "added", &added, &add, &shown) || !definitions(f, "replaced", &replaced, &replace, &shown) ||
        !er_field_texts(f, "removed", &removed, &remove) || !er_field_array(f, "vectors", "<f4", (int64_t)add + replace, d, &vectors) ||
        !er_field_array(f, "examples", "<f4", shown, d, &examples))
        return false;
    if (!er_units(vectors.at, vectors.rows, d) || !er_units(examples.at, examples.rows, d))
        return er_refuse(f->arena->error, ER_BAD_BUNDLE, "vectors of tools or examples that are not of length 1");
    const er_change change = {sizeof change, added, add, removed, remove, replaced, replace, vectors.at, examples.at, 0};
    er_model *made;
    er_error own = {0};
    if (er_with_tools(*model, &change, &made, &own)) {
        if (own.status == ER_NO_MEMORY) return er_refuse(f->arena->error, ER_NO_MEMORY, "%s", own.text);
        return er_refuse(f->arena->error, ER_BAD_BUNDLE, "%.400s", own.text);
    }
    er_free(*model);
    *model = made;
    return true;
}
