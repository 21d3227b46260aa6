/* Sections 3, 10 and 18: what no decision of this library needs, and is no bundle's if it is wrong. */

#include "distinct.h"
#include "parts.h"
#include "utf8.h"

enum { MOST_LANGUAGES = 300, MOST_VARIANTS = 16, MOST_VARIANT_NAME = 100, MOST_VARIANT_TOKENS = 512 };

/* ---- Section 3: languages, codes as in BCP 47 with one subtag at most ---- */

static bool is_code(const er_pack *value)
{
    if (value->kind != ER_PACK_TEXT) return false;
    const er_text code = er_pack_text(value);
    size_t at = 0;
    while (at < code.length && code.at[at] >= 'a' && code.at[at] <= 'z') at++;
    if ((at != 2 && at != 3) || at == code.length) return at == 2 || at == 3;
    if (code.at[at] != '-' || code.length - at < 3 || code.length - at > 9) return false;
    for (at++; at < code.length; at++) {
        const char c = code.at[at];
        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'))) return false;
    }
    return true;
}

static bool languages_hold(const er_part *part)
{
    er_fields encoder;
    if (!er_info_map(part, "encoder", &encoder)) return false;
    const er_pack *list = er_pack_get(encoder.map, "languages");
    bool fine = !list || (list->kind == ER_PACK_ARRAY && list->count <= MOST_LANGUAGES);
    for (uint32_t i = 0; fine && list && i < list->count; i++) fine = is_code(&list->items[i]);
    return fine || er_field_refuse(&encoder, "\"languages\" must be a list of at most 300 codes like en");
}

/* ---- Section 10: the planner ---- */

static bool planner_holds(const er_part *part)
{
    static const char *const chats[] = {"chatml", "qwen3", "gemma", "plain"};
    er_fields planner, spec, parameters;
    er_text chat;
    int64_t context;
    double number;
    if (!er_part_entry(part, "planner")) return true;
    if (!er_info_map(part, "planner", &planner) || !er_field_map(&planner, "spec", &spec) || !er_field_text(&spec, "chat", &chat) ||
        !er_field_whole(&spec, "context", 1, 1 << 24, &context) || !er_field_map(&planner, "parameters", &parameters) ||
        !er_field_number(&parameters, "weight", 0.0, 1e3, &number) || !er_field_number(&parameters, "scale", 0.0, 1e3, &number) ||
        !er_field_number(&parameters, "ask_below", 0.0, 1.0, &number))
        return false;
    if (er_pack_get(parameters.map, "filling") && !er_field_number(&parameters, "filling", 0.0, 1.0, &number)) return false;
    for (size_t i = 0; i < sizeof chats / sizeof *chats; i++)
        if (er_is(chat, chats[i])) return true;
    return er_field_refuse(&spec, "a planner with an unknown chat format");
}

/* ---- Section 18: variants ---- */

static bool is_variant(er_text role, bool mobile)
{
    static const char *const graphs[] = {"encoder-cpu-7bit", "encoder-cpu-8bit", "encoder-gpu",     "encoder-npu-16", "encoder-npu-32",
                                         "encoder-npu-64",   "encoder-npu-128",  "encoder-npu-256", "encoder-npu-512"};
    if (mobile) return er_is(role, "encoder-mobile") || er_is(role, "encoder-mobile-operators");
    for (size_t i = 0; i < sizeof graphs / sizeof *graphs; i++)
        if (er_is(role, graphs[i])) return true;
    return false;
}

static bool files_hold(const er_part *part, const er_fields *variant, er_text target)
{
    const er_pack *files;
    const bool mobile = er_is(target, "mobile"), npu = er_is(target, "npu");
    if (!er_field_list(variant, "files", &files)) return false;
    if (!files->count || (files->count > 1 && !mobile && !npu)) return er_field_refuse(variant, "its files must have lengths of their own, in order");
    int64_t before = -1;
    for (uint32_t i = 0; i < files->count; i++) {
        const er_fields file = {part->arena, &files->items[i], variant->where};
        er_text role;
        int64_t tokens;
        if (file.map->kind != ER_PACK_MAP) return er_field_refuse(variant, "a file that is not a map");
        if (!er_field_text(&file, "role", &role) || !er_field_whole(&file, "tokens", 0, MOST_VARIANT_TOKENS, &tokens)) return false;
        if (!is_variant(role, mobile) || !er_entry_of(part->manifest, role))
            return er_refuse(part->arena->error, ER_BAD_BUNDLE, "%s: no file with the role \"%s\"; build the bundle again", variant->where, er_show(role).at);
        if (!mobile && tokens <= before) return er_field_refuse(variant, "its files must have lengths of their own, in order");
        before = tokens;
    }
    return true;
}

static bool same_value(const er_fields *a, const er_fields *b, const char *key)
{
    const er_pack *one = er_pack_get(a->map, key), *other = er_pack_get(b->map, key);
    if (!one || !other || one->kind != other->kind) return false;
    return one->kind == ER_PACK_TEXT ? er_same(er_pack_text(one), er_pack_text(other))
                                     : one->kind == ER_PACK_BOOLEAN ? one->truth == other->truth : one->whole == other->whole;
}

static bool variant_holds(const er_part *part, const er_fields *own, const er_fields *variant)
{
    static const char *const targets[] = {"cpu", "gpu", "npu", "mobile"};
    static const char *const same[] = {"dimension", "max_tokens", "pooling", "normalised", "query_prefix", "tool_prefix"};
    er_text name, target;
    er_fields map;
    er_spec spec;
    bool known = false;
    if (!er_field_text(variant, "name", &name) || !er_field_text(variant, "target", &target)) return false;
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) known |= er_is(target, targets[i]);
    if (!known || !name.length || er_count_points(name) > MOST_VARIANT_NAME) return er_field_refuse(variant, "needs a name, and a target that is known");
    if (!files_hold(part, variant, target) || !er_field_map(variant, "spec", &map) || !er_spec_of(&map, &spec)) return false;
    for (size_t i = 0; i < sizeof same / sizeof *same; i++)
        if (!same_value(&map, own, same[i])) return er_field_refuse(variant, "its spec is another encoder's");
    return true;
}

static bool variants_hold(const er_part *part)
{
    const er_pack *list = er_pack_get(part->info.map, "variants");
    er_fields encoder, own;
    const er_fields info = {part->arena, part->info.map, er_where(part, "variants")};
    er_text names[MOST_VARIANTS];
    int64_t alike;
    if (!list) return true;
    if (!info.where || !er_field_list(&info, "variants", &list) || !er_info_map(part, "encoder", &encoder) || !er_field_map(&encoder, "spec", &own))
        return false;
    if (list->count > MOST_VARIANTS) return er_field_refuse(&info, "more than 16 variants");
    for (uint32_t i = 0; i < list->count; i++) {
        const er_fields variant = {part->arena, &list->items[i], info.where};
        if (variant.map->kind != ER_PACK_MAP) return er_field_refuse(&info, "a variant that is not a map");
        if (!variant_holds(part, &own, &variant)) return false;
        names[i] = er_pack_text(er_pack_get(variant.map, "name"));
    }
    if (!er_first_alike(part->arena, names, list->count, &alike)) return false;
    return alike < 0 || er_field_refuse(&info, "two variants of one name");
}

bool er_others_part(const er_part *part) { return languages_hold(part) && planner_holds(part) && variants_hold(part); }
