/* Section 8.4: what reads the arguments of a call. */

#include "arguments.h"
#include "format.h"
#include "parts.h"

static const double MOST_WEIGHT = 100.0;

static const char *const span_names[ER_POOL_SPANS] = {"rules", "head", "new", "absent", "surest by rules", "surest by head", "share by head"};
static const char *const option_names[ER_POOL_OPTIONS] = {"options", "option by rule", "no option"};
static const char *const call_contexts[] = {"needed", "camel", "talk", "long", "described", "sure"};
static const char *const span_contexts[] = {"required", "many", "when", "number", "name", "text", "token", "unit", "by head", "by rules", "agree"};
static const char *const option_contexts[] = {"required", "boolean", "ruled", "by head"};
static const char *const trait_names[ER_TRAITS] = {"share", "all", "token", "when", "measure", "number", "name", "told", "option", "plain", "many"};

/* A weight that may be missing; those that scale are not below 0. */
static bool weight(const er_fields *map, const char *name, bool needed, double *found)
{
    const bool scales = !strcmp(name, "rules") || !strcmp(name, "head") || !strcmp(name, "options");
    *found = 0.0;
    return (!needed && !er_pack_get(map->map, name)) || er_field_number(map, name, scales ? 0.0 : -MOST_WEIGHT, MOST_WEIGHT, found);
}

/* A feature's weight and, behind it, what each context adds. */
static bool row_of(const er_fields *map, const char *feature, bool needed, const char *const *contexts, size_t count, double *row)
{
    char name[64];
    if (!weight(map, feature, needed, row++)) return false;
    for (size_t i = 0; i < count + 6; i++) {
        er_format(name, sizeof name, "%s, %s", feature, i < count ? contexts[i] : call_contexts[i - count]);
        if (!weight(map, name, false, row++)) return false;
    }
    return true;
}

static bool take_pool(const er_fields *of, er_pool *pool)
{
    er_fields map;
    double tuned, any_script;
    if (!er_field_map(of, "pool", &map)) return false;
    for (size_t i = 0; i < ER_POOL_SPANS; i++)
        if (!row_of(&map, span_names[i], i < 3, span_contexts, 11, pool->spans[i])) return false;
    for (size_t i = 0; i < ER_POOL_OPTIONS; i++)
        if (!row_of(&map, option_names[i], i < 2, option_contexts, 4, pool->options[i])) return false;
    if (!weight(&map, "absent required", true, &pool->absent_required) || !weight(&map, "absent optional", true, &pool->absent_optional) ||
        !weight(&map, "no option required", true, &pool->no_option_required) ||
        !weight(&map, "no option optional", true, &pool->no_option_optional) || !weight(&map, "tuned", false, &tuned) ||
        !weight(&map, "any script", false, &any_script))
        return false;
    pool->any_script = any_script != 0.0;
    pool->tuned = er_pack_get(map.map, "tuned") ? tuned != 0.0 : pool->spans[1][0] >= pool->spans[0][0];
    return true;
}

static bool take_traits(const er_fields *of, double *traits)
{
    er_fields map;
    bool fine = er_field_map(of, "traits", &map);
    for (size_t i = 0; i < ER_TRAITS && fine; i++) fine = weight(&map, trait_names[i], true, &traits[i]);
    return fine;
}

static bool take_counts(const er_fields *map, er_stored_arguments *found)
{
    er_array table;
    if (!er_field_texts(map, "names", &found->names, &found->name_count) || !er_field_array(map, "counts", "<i4", ER_ANY, 7, &table)) return false;
    er_counted *counts = ER_TAKE(map->arena, er_counted, table.rows + 1);
    if (!counts) return false;
    for (uint32_t i = 0; i < table.rows; i++) {
        const int32_t *row = (const int32_t *)table.at + (size_t)i * 7;
        bool fine = row[4] <= row[3] && row[6] <= row[5];
        for (int k = 0; k < 7; k++) fine &= row[k] >= 0 && (k > 2 || (uint32_t)row[k] < found->name_count);
        if (!fine) return er_field_refuse(map, "counts that contradict each other");
        counts[i] = (er_counted){(uint32_t)row[0], (uint32_t)row[1], (uint32_t)row[2], (uint32_t)row[3], (uint32_t)row[4], (uint32_t)row[5], (uint32_t)row[6]};
    }
    found->counts = counts;
    found->count_count = table.rows;
    return true;
}

bool er_is_tuned(const er_stored_arguments *stored) { return stored && stored->pool.tuned; }

bool er_arguments_part(const er_part *part, const er_spec *spec, const er_stored_arguments **made)
{
    er_fields map, head;
    er_array keys, rows;
    *made = NULL;
    if (!er_part_entry(part, "arguments")) return true;
    er_stored_arguments *found = ER_TAKE(part->arena, er_stored_arguments, 1);
    if (!found || !er_owned_map(part, "arguments", &map) || !er_field_map(&map, "head", &head) ||
        !er_pointer_of(&head, spec->dimension, &found->head) || !er_field_array(&map, "keys", "<i8", ER_ANY, 0, &keys) ||
        !er_field_array(&map, "rows", "|i1", keys.rows, spec->dimension, &rows) || !er_field_scales(&map, "scales", keys.rows, &found->scales))
        return false;
    found->keys = keys.at;
    found->rows = rows.at;
    found->texts = keys.rows;
    found->dimension = spec->dimension;
    for (uint32_t i = 0; i < keys.rows; i++) {
        if (i && found->keys[i] <= found->keys[i - 1]) return er_field_refuse(&map, "\"keys\" must rise");
        if (found->scales[i] > 1.0f) return er_field_refuse(&map, "vectors that no encoder gives");
    }
    if (!take_pool(&map, &found->pool) || !take_traits(&map, found->traits) || !take_counts(&map, found)) return false;
    *made = found;
    return true;
}
