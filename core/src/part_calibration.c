/* Sections 9, 16 and 17: what was fitted, as far as the manifest says it. */

#include "parts.h"

enum { RISKS = 100 };

/* All in [0, 1], and every one but the first at least (1), or at most (−1), the one so many places before it. */
static bool monotone(const float *values, uint32_t count, uint32_t stride, int way)
{
    for (uint32_t i = 0; i < count; i++) {
        if (!(values[i * stride] >= 0.0f && values[i * stride] <= 1.0f)) return false;
        if (i && !(way > 0 ? values[i * stride] >= values[(i - 1) * stride] : values[i * stride] <= values[(i - 1) * stride])) return false;
    }
    return true;
}

static bool take_map(const er_fields *fields, const char *key, const float **map, uint32_t *rows)
{
    er_array array;
    if (!er_field_array(fields, key, "<f4", ER_ANY, 2, &array)) return false;
    *map = array.at;
    *rows = array.rows;
    bool fine = array.rows >= 2 && monotone(*map, array.rows, 2, 1) && monotone(*map + 1, array.rows, 2, 1);
    for (uint32_t i = 1; i < array.rows && fine; i++) fine = (*map)[2 * i] > (*map)[2 * i - 2];
    return fine || er_refuse(fields->arena->error, ER_BAD_BUNDLE, "%s: %s does not rise from 0 to 1; build the bundle again", fields->where, key);
}

static bool take_floors(const er_fields *fields, const char *key, const float **floors)
{
    er_array array;
    if (!er_field_array(fields, key, "<f4", RISKS, 0, &array)) return false;
    *floors = array.at;
    return monotone(*floors, RISKS, 1, -1) || er_field_refuse(fields, "floors by risk do not fall from 1 to 0");
}

bool er_calibration_part(const er_part *part, er_calibration *c)
{
    static const char *const owners[] = {"graph", "head", "memory", "familiarity"};
    er_fields map, p;
    er_array right;
    if (!er_info_map(part, "calibration", &map) || !er_is_owner(&map, part->fingerprint)) return false;
    for (size_t i = 0; i < sizeof owners / sizeof *owners; i++) {
        const er_entry *entry = er_part_entry(part, owners[i]);
        const er_pack *told = er_pack_get(map.map, owners[i]);
        if (told && told->kind == ER_PACK_NIL) told = NULL;
        const bool same = entry && told ? told->kind == ER_PACK_TEXT && er_same(er_pack_text(told), entry->sha256) : !entry && !told;
        if (!same)
            return er_refuse(part->arena->error, ER_BAD_BUNDLE, "%s: calibrated for another %s; build the bundle again", map.where, owners[i]);
    }
    const bool fine =
        er_field_map(&map, "parameters", &p) && er_field_number(&p, "head_weight", 0, 100, &c->head_weight) &&
        er_field_number(&p, "graph_weight", 0, 100, &c->graph_weight) && er_field_number(&p, "memory_weight", 0, 100, &c->memory_weight) &&
        er_field_number(&p, "later_head_weight", 0, 100, &c->later_head_weight) &&
        er_field_number(&p, "later_graph_weight", 0, 100, &c->later_graph_weight) &&
        er_field_number(&p, "unseen_bias", -1e4, 1e4, &c->unseen_bias) && er_field_number(&p, "added_bias", -1e4, 1e4, &c->added_bias) &&
        er_field_number(&p, "min_probability", 0, 1, &c->min_probability) && take_map(&p, "calibration_map", &c->map, &c->map_rows) &&
        take_map(&p, "prior_map", &c->prior_map, &c->prior_map_rows) && take_floors(&p, "first_floors", &c->first_floors) &&
        take_floors(&p, "later_floors", &c->later_floors) && er_field_array(&p, "right_probabilities", "<f4", ER_ANY, 0, &right);
    if (!fine) return false;
    c->right = right.at;
    c->right_count = right.rows;
    return (right.rows >= 2 && monotone(c->right, right.rows, 1, 1)) || er_field_refuse(&p, "the quantiles of right answers do not rise from 0 to 1");
}

/* ---- Section 16: weights, in the order of er_prior ---- */

static const char *const TOOL[] = {"name", "parameters", "coverage", "text", "window", "clause", "next_clause", "third", "later", "related",
                                   "was_called", "still_needed", "gives", "key_was_called", "key_still_needed", "key_gives", "spent_name",
                                   "spent_coverage", "due", "opposed", "agrees", "values"};
static const char *const END[] = {"constant", "words_by_call", "least_window", "least_clause", "drop", "best", "windows_left", "tools",
                                  "fresh_name", "fresh_coverage", "fresh_window", "fresh_clause", "unused", "key_unused", "open", "open_clear",
                                  "answered"};
static const char *const NOTHING[] = {"constant", "best", "cosine", "window", "name", "tools", "explained", "words", "question", "explains", "bare"};
static const char *const SEARCH[] = {"window", "clause_lead", "name", "coverage", "text", "parameters"};
static const char *const WISH[] = {"cosine", "apart", "name", "coverage"};
static const char *const VALUES[] = {"url", "email", "path", "channel", "iban", "money", "time", "date", "duration", "phone", "quoted", "number", "percent"};

_Static_assert(sizeof TOOL / sizeof *TOOL == ER_TOOL_WEIGHTS && sizeof END / sizeof *END == ER_LAST_WEIGHTS, "as in er_prior");
_Static_assert(sizeof NOTHING / sizeof *NOTHING == ER_NOTHING_WEIGHTS && sizeof SEARCH / sizeof *SEARCH == ER_SEARCH_WEIGHTS, "as in er_prior");
_Static_assert(sizeof WISH / sizeof *WISH == ER_WISH_WEIGHTS && sizeof VALUES / sizeof *VALUES == ER_VALUES, "as in er_prior");

static bool take_weights(const er_fields *prior, const char *key, const char *const *names, int count, double *weights)
{
    er_fields block;
    if (!er_field_map(prior, key, &block)) return false;
    for (int i = 0; i < count; i++)
        if (!er_field_number(&block, names[i], -1e3, 1e3, &weights[i])) return false;
    return true;
}

bool er_prior_part(const er_part *part, er_prior *prior)
{
    er_fields map;
    return er_info_map(part, "prior", &map) && take_weights(&map, "tool", TOOL, ER_TOOL_WEIGHTS, prior->tool) &&
           take_weights(&map, "end", END, ER_LAST_WEIGHTS, prior->end) &&
           take_weights(&map, "nothing", NOTHING, ER_NOTHING_WEIGHTS, prior->nothing) &&
           take_weights(&map, "search", SEARCH, ER_SEARCH_WEIGHTS, prior->search) &&
           take_weights(&map, "wish", WISH, ER_WISH_WEIGHTS, prior->wish) && take_weights(&map, "values", VALUES, ER_VALUES, prior->values);
}

/* ---- Section 17 ---- */

bool er_cascade_part(const er_part *part, er_model *model)
{
    er_fields map;
    er_array losses, least;
    if (!er_info_map(part, "cascade", &map) || !er_field_array(&map, "losses", "<f4", ER_ANY, 0, &losses) ||
        !er_field_array(&map, "least", "<f4", losses.rows, 0, &least))
        return false;
    model->losses = losses.at;
    model->least = least.at;
    model->cascade_count = losses.rows;
    bool fine = true;
    for (uint32_t i = 0; i < losses.rows; i++)
        fine = fine && model->losses[i] >= 0.0f && model->least[i] >= 0.0f &&
               (!i || (model->losses[i] > model->losses[i - 1] && model->least[i] <= model->least[i - 1]));
    if (!fine) return er_field_refuse(&map, "thresholds must rise in loss and fall in probability");
    return er_field_number(&map, "nothing", 0.0, 1.0, &model->cascade_nothing) && er_field_number(&map, "declines", 0.5, 2.0, &model->cascade_declines);
}
