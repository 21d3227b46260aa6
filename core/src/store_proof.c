/* What a version must get right before it decides for anybody: the vectors and decisions that the build host wrote into its manifest
   (FORMAT.md 3), done again here. Knows nothing of stores. */

#include "store.h"

#include "folder.h"
#include "model.h"
#include "vectors.h"

enum { MOST_GOLDEN = 16 };
/* Near vectors must give all decisions, and nearly their probabilities; further ones, as of int8 on another kind of processor, three of
   four. */
static const double NEAR = 0.999, TOLERANCE = 0.05, SHARE = 0.75, FURTHER = 0.25;

typedef struct {
    er_arena *arena;
    const char *name; /* what messages call the version */
    const er_model *model;
    const er_stage *stage;
    int32_t own; /* as in er_next_options */
} trial;

static double least_cosine(er_text precision) { return er_is(precision, "int8") || er_is(precision, "codebook") ? 0.98 : er_is(precision, "fp16") ? 0.999 : 0.9999; }

static bool senseless(const trial *t, const char *what)
{
    return er_refuse(t->arena->error, ER_BAD_BUNDLE, "%s: its golden %s make no sense; " ER_REBUILD, t->name, what);
}

static bool take_cosines(const trial *t, const er_pack *golden, double *worst)
{
    const er_fields fields = {t->arena, golden, t->name};
    const uint32_t d = t->stage->spec.dimension;
    const er_text *queries;
    uint32_t count;
    er_array vectors;
    *worst = 1.0;
    if (!golden) return true;
    if (golden->kind != ER_PACK_MAP) return senseless(t, "vectors");
    if (!er_field_texts(&fields, "queries", &queries, &count) || !er_field_array(&fields, "vectors", "<f4", count, d, &vectors)) return false;
    if (count > MOST_GOLDEN) return senseless(t, "vectors");
    float *found = ER_TAKE(t->arena, float, d);
    for (uint32_t i = 0; found && i < count; i++) {
        if (er_encode(t->model, queries[i], found, d, t->arena->error)) return false;
        const double cosine = (double)er_dot(found, (const float *)vectors.at + (size_t)i * d, d);
        if (!(cosine >= *worst)) *worst = cosine;
    }
    const double needed = least_cosine(t->stage->spec.precision);
    return found && (*worst >= needed || er_refuse(t->arena->error, ER_BAD_BUNDLE, "%s: its encoder gives other vectors here than where it was built (cosine "
                                                                            "%.5f, %g needed); build a bundle here, or with --precision fp32",
                                                   t->name, *worst, needed));
}

/* What is most probable behind these calls: nothing learned, no floor, nobody else asked. */
static bool decided(const trial *t, er_text query, const er_text *history, uint32_t count, er_text *tool, double *probability)
{
    const er_next_options options = {.size = sizeof options, .policy = ER_HEADS, .own = t->own};
    er_decision decision = {.size = sizeof decision};
    er_error *error = t->arena->error;
    er_task *task;
    if (er_begin(t->model, query, NULL, &task, error)) return false;
    bool fine = true;
    for (uint32_t i = 0; fine && i < count; i++) fine = !er_call(task, history[i], error);
    fine = fine && !er_next(task, &options, &decision, error);
    /* The name may lie in the task. */
    char *name = fine ? ER_TAKE(t->arena, char, decision.best.length + 1) : NULL;
    if (name) *tool = (er_text){memcpy(name, decision.best.at, decision.best.length), decision.best.length}, *probability = decision.probability;
    er_end(task);
    return name != NULL;
}

static bool decides(const trial *t, const er_pack *golden, const er_pack *decisions)
{
    double worst;
    if (!take_cosines(t, golden, &worst)) return false;
    if (!decisions) return true;
    if (decisions->kind != ER_PACK_ARRAY || decisions->count > MOST_GOLDEN) return senseless(t, "decisions");
    const double tolerance = worst >= NEAR ? TOLERANCE : FURTHER, needed = (worst >= NEAR ? 1.0 : SHARE) * decisions->count;
    uint32_t same = 0;
    er_error wrong = {0};
    for (uint32_t i = 0; i < decisions->count; i++) {
        const er_fields one = {t->arena, &decisions->items[i], t->name};
        er_text query, tool, found;
        const er_text *history;
        uint32_t count;
        double probability, here;
        if (one.map->kind != ER_PACK_MAP) return senseless(t, "decisions");
        if (!er_field_text(&one, "query", &query) || !er_field_texts(&one, "history", &history, &count) || !er_field_text(&one, "tool", &tool) ||
            !er_field_number(&one, "probability", 0.0, 1.0, &probability) || !decided(t, query, history, count, &found, &here))
            return false;
        if (er_same(tool, found) && fabs(here - probability) <= tolerance) same++;
        else er_refuse(&wrong, ER_BAD_BUNDLE, "\"%s\": expected %s (%.3f), found %s (%.3f)", er_show(query).at, er_show(tool).at, probability, er_show(found).at, here);
    }
    return same >= needed || er_refuse(t->arena->error, ER_BAD_BUNDLE, "%s: only %u of %u golden decisions as they were built; %.300s; build the bundle again", t->name, same,
                                       decisions->count, wrong.text);
}

static const er_pack *of(const er_pack *map, const char *key) { return map && map->kind == ER_PACK_MAP ? er_pack_get(map, key) : NULL; }

bool er_decides_as_built(er_arena *arena, const char *path, const char *name, const er_load_options *options, const er_model *model)
{
    er_folder *folder = er_folder_open(arena, path);
    er_mapped file = {0};
    er_manifest m;
    er_model *alone = NULL;
    /* Loading proved it and believed its signatures; the hash says that it is still the same. */
    bool fine = folder && er_folder_map(arena, folder, ER_TEXT("manifest"), ER_MOST_MANIFEST, ER_REBUILD, &file) &&
                er_manifest_of(arena, (er_text){file.bytes, file.length}, model->content_hash, NULL, name, name, &m);
    er_folder_close(folder);
    const er_pack *first = fine ? of(m.info.map, "static") : NULL, *info = fine ? m.info.map : NULL;
    if (fine && model->has_full) {
        const trial t = {arena, name, model, &model->full, 1};
        fine = !er_encodes(t.stage) || decides(&t, of(info, "golden"), of(info, "decisions"));
    }
    if (fine && model->has_small) {
        er_load_options small = *options;
        small.first_stage_alone = 1;
        small.content_hash = model->content_hash;
        fine = !model->has_full || !er_load(path, &small, &alone, arena->error);
        const trial t = {arena, name, alone ? alone : model, alone ? &alone->small : &model->small, 0};
        fine = fine && decides(&t, of(first, "golden"), of(first, "decisions"));
    }
    er_free(alone);
    er_unmap(&file);
    return fine;
}
