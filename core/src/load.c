/* Loading, in the order of section 11: the manifest and nothing else until its digest is proved; then every file that is
   read, its length and its hash; and only then what is in them. */

#include "distinct.h"
#include "arguments.h"
#include "beside.h"
#include "encode.h"
#include "folder.h"
#include "format.h"
#include "hnsw.h"
#include "names.h"
#include "parts.h"
#include "unicode.h"

#include <time.h>

enum { ATTEMPTS = 100, MOST_THREADS = 4096 };
static const double MOST_LOSS = 0.005, ROUNDING = 1e-6, NEVER = 2.0;

/* Where files come from: a folder, or memory. */
typedef struct {
    er_arena *arena;
    er_text wanted; /* a content hash of 64 digits, or empty */
    er_trusted trusted; /* who must have signed it; nobody, where `trust` is NULL */
    const char *path, *shown, *where;
    er_folder *folder;
    const er_file *files;
    size_t file_count;
    er_manifest manifest;
    er_mapped *maps; /* by the manifest's entries, the manifest's own behind them */
    er_text *contents;
} source;

/* What a model keeps of its loading, for er_tool_find and er_free. */
typedef struct {
    er_mapped *maps;
    uint32_t count;
    er_places tools; /* by name */
    er_slot *takings; /* (taking_count): what is known of tools that were asked for arguments, or NULL */
    uint32_t taking_count;
} kept;

/* ---- Files ---- */

static bool read_file(const source *s, er_text name, uint64_t most, const char *remedy, er_mapped *found)
{
    if (s->folder) return er_folder_map(s->arena, s->folder, name, most, remedy, found);
    for (size_t i = 0; i < s->file_count; i++) {
        const er_file *file = &s->files[i];
        if (!er_same(file->name, name)) continue;
        if (file->length > most || file->length > SIZE_MAX / 4)
            return er_refuse(s->arena->error, ER_BAD_BUNDLE, "%s/%s: expected %llu bytes at most, found %zu; %s", s->shown, er_show(name).at,
                             (unsigned long long)most, file->length, remedy);
        *found = (er_mapped){file->bytes ? file->bytes : "", file->bytes ? file->length : 0, NULL};
        return true;
    }
    return er_refuse(s->arena->error, ER_NO_FILE, "%s/%s: missing; %s", s->shown, er_show(name).at, remedy);
}

static bool prove(const source *s, const er_entry *entry, er_mapped *file)
{
    if (!read_file(s, entry->name, entry->size, ER_REBUILD, file)) return false;
    if (file->length != entry->size)
        return er_refuse(s->arena->error, ER_BAD_BUNDLE, "%s/%s: expected %llu bytes, found %zu; %s", s->shown, er_show(entry->name).at,
                         (unsigned long long)entry->size, file->length, ER_REBUILD);
    const er_hex found = er_sha256_of(file->bytes, file->length);
    if (er_same((er_text){found.at, 64}, entry->sha256)) return true;
    const er_text said = {entry->sha256.at, entry->sha256.length < 16 ? entry->sha256.length : 16};
    return er_refuse(s->arena->error, ER_BAD_BUNDLE, "%s/%s: altered (expected sha256 %s..., found %.16s...); %s", s->shown,
                     er_show(entry->name).at, er_show(said).at, found.at, ER_REBUILD);
}

static bool begins(er_text text, const char *with) { return text.length > strlen(with) && !memcmp(text.at, with, strlen(with)); }

/* Roles whose files are looked into. */
static bool used(er_text role)
{
    static const char *const known[] = {"encoder", "encoder-arrays", "table", "tokenizer", "word-vectors", "tools", "words",
                                        "index",   "hnsw",           "graph", "head",      "memory", "familiarity", "arguments"};
    const er_text own = begins(role, "static-") ? er_cut(role, 7, role.length) : role;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (er_is(own, known[i])) return true;
    return false;
}

static bool shared(er_text role) { return er_is(role, "tokenizer") || er_is(role, "word-vectors") || er_is(role, "tools") || er_is(role, "words"); }

/* What a loading reads: all of the known roles; where the first stage decides alone, what it needs; where it is never
   asked, nothing of it; and no encoder where the caller brings one. */
static bool reads(er_text role, bool alone, bool first_stage, bool outside)
{
    if (!er_verified(role) || (begins(role, "static-") ? !first_stage : alone && !shared(role))) return false;
    if (outside && (er_is(role, "encoder") || er_is(role, "encoder-arrays"))) return false;
    return !alone || used(role);
}

static bool prove_files(const source *s, bool alone, bool first_stage, bool outside)
{
    for (uint32_t i = 0; i < s->manifest.count; i++) {
        const er_entry *entry = &s->manifest.entries[i];
        if (!reads(entry->role, alone, first_stage, outside)) continue;
        if (!prove(s, entry, &s->maps[i])) return false;
        if (used(entry->role)) s->contents[i] = (er_text){s->maps[i].bytes, s->maps[i].length};
        else er_unmap(&s->maps[i]);
    }
    return true;
}

/* ---- A stage ---- */

typedef struct {
    const er_text *names, *labels;
    uint32_t tools;
} named;

static bool take_encoder(const er_part *part, const er_model *model, er_stage *stage)
{
    if (er_part_entry(part, "table")) return er_table_part(part, &stage->spec, model->tokenizer.ids, &stage->table);
    if ((stage->outside = model->outside)) return true;
    if (!er_part_entry(part, "encoder-arrays")) return true; /* vectors come from outside */
    er_text onnx = {NULL, 0}, arrays; /* without the one, the other holds what it tells of */
    return (!er_part_entry(part, "encoder") || er_part_file(part, "encoder", &onnx)) && er_part_file(part, "encoder-arrays", &arrays) &&
           er_transformer_of(part->arena, (const uint8_t *)onnx.at, onnx.length, arrays, &stage->spec, &stage->transformer);
}

/* Everything that one encoder's word rests on; its spec is there. */
static bool take_stage(er_part *part, const er_model *model, er_stage *stage, named *n)
{
    return take_encoder(part, model, stage) &&
           er_index_part(part, &stage->spec, &stage->index, &n->names, &n->tools) &&
           er_hnsw_part(part, &stage->index, model->index_kind, n->tools, stage->spec.dimension, &stage->hnsw) &&
           er_heads_part(part, n->names, n->tools, stage, &n->labels) &&
           er_familiarity_part(part, &stage->spec, stage->label_count, &stage->familiarity) && er_calibration_part(part, &stage->calibration);
}

/* ---- What stages share ---- */

static bool take_tokenizer(const er_part *part, const er_spec *spec, er_model *model)
{
    er_text json;
    if (!er_part_file(part, "tokenizer", &json) || !er_tokenizer_of(part->arena, json, &model->tokenizer)) return false;
    const uint32_t *before, *behind;
    uint32_t before_count, behind_count;
    er_special(&model->tokenizer, &before, &before_count, &behind, &behind_count);
    if (before_count + behind_count >= spec->max_tokens)
        return er_refuse(part->arena->error, ER_BAD_BUNDLE,
                         "%s: %u special tokens leave no room for a word, the encoder reads %u tokens; build the bundle with another tokenizer",
                         part->shown, before_count + behind_count, spec->max_tokens);
    return er_word_vectors_part(part, model->tokenizer.ids, &model->word_vectors);
}

static bool take_tools(const er_part *part, er_model *model, const named *n, const er_index *index)
{
    er_arena *arena = part->arena;
    const er_described *described;
    er_arranged_words words;
    if (!er_tools_part(part, n->names, n->tools, index, &model->tools, &described)) return false;
    model->tool_count = model->held = n->tools;
    model->arranged_words = er_part_entry(part, "words") != NULL;
    if (model->arranged_words && !er_words_part(part, n->tools, &words)) return false;
    er_tool_text *texts = ER_TAKE(arena, er_tool_text, n->tools);
    if (!texts) return false;
    for (uint32_t i = 0; i < n->tools; i++) texts[i] = described[i].tool;
    return er_lexicon_of(arena, described, n->tools, model->arranged_words ? &words : NULL, &model->lexicon) &&
           er_lexicon_vectors(arena, &model->lexicon, er_word_vector, model) &&
           er_habits_of(arena, texts, n->tools, model->arranged_words, &model->habits) &&
           er_flow_of(arena, &model->lexicon, texts, n->tools, &model->flow);
}

static bool same_texts(const er_text *a, uint32_t count, const er_text *b, uint32_t other)
{
    bool same = count == other;
    for (uint32_t i = 0; i < count && same; i++) same = er_same(a[i], b[i]);
    return same;
}

/* ---- The whole ---- */

static double chosen_least(const er_model *model, double most_loss)
{
    double least = NEVER;
    for (uint32_t i = 0; i < model->cascade_count; i++)
        if ((double)model->losses[i] <= most_loss + ROUNDING && (double)model->least[i] < least) least = (double)model->least[i];
    return least;
}

static bool take_parts(source *s, er_model *model, double most_loss, bool alone)
{
    er_part whole = {s->arena, s->shown, &s->manifest, s->contents, s->manifest.info, s->manifest.info, false, {0}}, first = whole;
    const er_pack *own = er_pack_get(s->manifest.info.map, "static");
    const bool small_bundle = er_part_entry(&whole, "table") != NULL;
    first.first_stage = true;
    if (own && !er_field_map(&s->manifest.info, "static", &first.own)) return false;
    if (alone && !small_bundle && !own)
        return er_refuse(s->arena->error, ER_BAD_INPUT, "%s: no table of token vectors in it; build one with --profile tiny or default", s->shown);
    alone = alone && !small_bundle;
    bool both = own && !alone && most_loss >= 0.0;
    if (both) {
        if (!er_cascade_part(&first, model)) return false;
        model->cascade_least = chosen_least(model, most_loss);
        both = model->cascade_least <= 1.0;
    }
    if (!prove_files(s, alone, alone || both, model->outside != NULL)) return false;
    er_part *deciding = alone ? &first : &whole;
    er_stage *stage = alone ? &model->small : &model->full;
    named names, others;
    model->has_small = alone || both;
    model->has_full = !alone;
    const er_pack *recipe = er_part_info(&whole, "recipe");
    const er_pack *form = recipe && recipe->kind == ER_PACK_MAP ? er_pack_get(recipe, "tool_text") : NULL;
    if (form && form->kind == ER_PACK_TEXT) model->tool_text = er_pack_text(form);
    if (!er_spec_part(deciding, &stage->spec) || !er_others_part(&whole) || !take_tokenizer(deciding, &stage->spec, model) ||
        !take_stage(deciding, model, stage, &names) || (!alone && ER_IS_LINKED(er_arguments_part) && !er_arguments_part(&whole, &stage->spec, &model->arguments)) ||
        !er_prior_part(&whole, &model->prior) || !take_tools(&whole, model, &names, &stage->index))
        return false;
    if (both) {
        if (!er_spec_part(&first, &model->small.spec) || !take_stage(&first, model, &model->small, &others)) return false;
        if (!same_texts(names.names, names.tools, others.names, others.tools))
            return er_refuse(s->arena->error, ER_BAD_BUNDLE, "%s: both stages need the same tools; build the bundle again", s->shown);
        if (!model->full.has_head || !model->small.has_head ||
            !same_texts(names.labels, model->full.label_count, others.labels, model->small.label_count))
            return er_refuse(s->arena->error, ER_BAD_BUNDLE, "%s: both stages need heads, and the same labels; build the bundle again", s->shown);
    }
    return (!model->has_full || (er_names_of(s->arena, model, &model->full, &model->full.names) &&
                                 er_encoder_works(s->arena, model, &model->full, er_part_info(&whole, "golden"), s->shown))) &&
           (!model->has_small || (er_names_of(s->arena, model, &model->small, &model->small.names) &&
                                  er_encoder_works(s->arena, model, &model->small, er_part_info(&first, "golden"), s->shown)));
}

bool er_place_tools(er_arena *arena, er_model *model)
{
    if (!model->files && !(model->files = ER_TAKE(arena, kept, 1))) return false;
    kept *own = model->files;
    er_text *names = ER_TAKE(arena, er_text, model->tool_count);
    int64_t alike;
    if (!names || !(own->takings = ER_TAKE(arena, er_slot, model->tool_count))) return false;
    own->taking_count = model->tool_count;
    for (uint32_t i = 0; i < model->tool_count; i++) names[i] = model->tools[i].name;
    return er_places_of(arena, names, model->tool_count, &own->tools, &alike);
}

er_slot *er_takings(const er_model *model) { return ((const kept *)model->files)->takings; }

static void drop(er_model *model)
{
    const kept *own = model->files;
    er_arena arena = model->arena; /* which holds the model itself */
    er_model *root = model->root;
    for (uint32_t i = 0; own && i < own->count; i++) er_unmap(&own->maps[i]);
    for (uint32_t i = 0; own && i < own->taking_count; i++)
        if (atomic_load(&own->takings[i])) er_taking_free(atomic_load(&own->takings[i]));
    er_give_back(&arena);
    er_free(root);
}

static bool load_once(source *s, er_model *model, double most_loss, bool alone)
{
    er_mapped manifest = {0};
    if (!read_file(s, ER_TEXT("manifest"), ER_MOST_MANIFEST, "it is not a bundle; " ER_REBUILD, &manifest)) return false;
    er_trusted trusted = s->trusted;
    const bool asked = trusted.trust.at != NULL;
    const bool proved = (!asked || trusted.signatures.length || er_signatures_beside(s->arena, s->path, s->shown, &trusted.signatures)) &&
                        er_manifest_of(s->arena, (er_text){manifest.bytes, manifest.length}, s->wanted, asked ? &trusted : NULL, s->shown, s->where,
                                       &s->manifest);
    const uint32_t count = proved ? s->manifest.count : 0;
    kept *own = ER_TAKE(s->arena, kept, 1);
    char *hash = ER_TAKE(s->arena, char, 64);
    s->maps = ER_TAKE(s->arena, er_mapped, count + 1);
    s->contents = ER_TAKE(s->arena, er_text, count);
    if (!proved || !own || !hash || !s->maps || !s->contents) return er_unmap(&manifest), false;
    s->maps[count] = manifest;
    *own = (kept){.maps = s->maps, .count = count + 1};
    model->files = own;
    model->content_hash = (er_text){memcpy(hash, s->manifest.content_hash.at, 64), 64};
    return take_parts(s, model, most_loss, alone) && er_place_tools(s->arena, model);
}

/* ---- The door ---- */

/* Seconds since 1970; a page's C has nobody to ask. */
static int64_t clock_says(void)
{
#ifdef __wasm__
    return 0;
#else
    return (int64_t)time(NULL);
#endif
}

static bool take_options(er_error *error, const er_load_options *given, er_load_options *options)
{
    *options = (er_load_options){.size = sizeof *options, .most_loss = MOST_LOSS, .threads = 1};
    if (!given) return true;
    er_load_options own;
    if (!er_options(&own, sizeof own, given, sizeof given->size, "er_load_options", error)) return false;
    options->content_hash = own.content_hash;
    options->first_stage_alone = own.first_stage_alone;
    if (own.most_loss != 0.0) options->most_loss = own.most_loss;
    if (own.threads) options->threads = own.threads;
    options->trust = own.trust;
    options->signatures = own.signatures;
    options->now = own.now || !own.trust.at ? own.now : clock_says();
    options->encoder = own.encoder;
    options->index = own.index;
    if (own.encoder && (own.encoder->size < sizeof *own.encoder || !own.encoder->run))
        return er_refuse(error, ER_BAD_INPUT, "an encoder needs its size, and a function to run");
    if (own.index < ER_INDEX_AUTO || own.index > ER_INDEX_HNSW)
        return er_refuse(error, ER_BAD_INPUT, "index is %d; ER_INDEX_AUTO, ER_INDEX_EXACT and ER_INDEX_HNSW are there", (int)own.index);
    if (!(own.most_loss <= 1.0)) return er_refuse(error, ER_BAD_INPUT, "most_loss must be 1 at most, found %g", own.most_loss);
    if (options->threads < 1 || options->threads > MOST_THREADS)
        return er_refuse(error, ER_BAD_INPUT, "threads must be 1 to %d, found %d", MOST_THREADS, (int)options->threads);
    return true;
}

/* In an arena of its own, which the model then holds, itself in it. */
static er_status load(source *s, const er_load_options *given, er_model **made, er_error *error)
{
    er_load_options options;
    char digits[64];
    if (!take_options(error, given, &options)) return error->status;
    if (options.content_hash.length && !er_given_hash(error, options.content_hash, digits, &s->wanted)) return error->status;
    s->trusted = (er_trusted){options.trust, options.signatures, options.now};
    er_arena arena = {.error = error};
    er_model *model = ER_TAKE(&arena, er_model, 1);
    if (!model) return er_give_back(&arena), error->status;
    model->arena = arena;
    s->arena = &model->arena;
    model->threads = options.threads;
    model->index_kind = options.index;
    atomic_init(&model->holders, 1);
    bool fine = true;
    if (options.encoder) {
        er_encoder *own = ER_TAKE(s->arena, er_encoder, 1);
        if ((fine = own != NULL)) *own = *options.encoder;
        model->outside = own;
    }
    fine = fine && load_once(s, model, options.most_loss, options.first_stage_alone != 0) && !error->status;
    model->arena.error = NULL;
    const kept *files = model->files;
    for (uint32_t i = 0; fine && i < files->count; i++) er_idle(&files->maps[i]);
    if (fine) return *made = model, ER_OK;
    drop(model);
    return er_status_of(error);
}

er_status er_load(const char *path, const er_load_options *options, er_model **made, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!path || !path[0] || !made) return er_refuse(error, ER_BAD_INPUT, "er_load needs a folder, and a place for the model"), ER_BAD_INPUT;
    *made = NULL;
    er_arena arena = {.error = error};
    const er_shown shown = er_show((er_text){path, strlen(path)});
    char where[sizeof shown.at + 16];
    er_format(where, sizeof where, "%s/manifest", shown.at);
    er_status status = ER_OK;
    for (int i = 0; i < ATTEMPTS; i++) {
        source s = {.path = path, .shown = shown.at, .where = where, .folder = er_folder_open(&arena, path)};
        status = s.folder ? load(&s, options, made, error) : error->status;
        /* A bundle that was put in this one's place meanwhile may be why: it is read then. */
        const bool again = (status == ER_BAD_BUNDLE || status == ER_NO_FILE) && s.folder && er_folder_replaced(s.folder);
        er_folder_close(s.folder);
        if (!again || i + 1 == ATTEMPTS) break;
        er_clear(error, error);
    }
    er_give_back(&arena);
    return status;
}

er_status er_load_files(const er_file *files, size_t count, const er_load_options *options, er_model **made, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if ((!files && count) || !made) return er_refuse(error, ER_BAD_INPUT, "er_load_files needs files, and a place for the model"), ER_BAD_INPUT;
    *made = NULL;
    source s = {.shown = "bundle", .where = "bundle/manifest", .files = files, .file_count = count};
    return load(&s, options, made, error);
}

er_status er_list(const void *bytes, size_t length, int32_t first_stage_alone, er_listed *room, size_t *count, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!bytes || !count || (*count && !room)) return er_refuse(error, ER_BAD_INPUT, "er_list needs a manifest, and a place for what it lists"), ER_BAD_INPUT;
    er_arena arena = {.error = error};
    er_manifest manifest;
    if (er_manifest_of(&arena, (er_text){bytes, length}, (er_text){NULL, 0}, NULL, "bundle", "bundle/manifest", &manifest)) {
        const bool alone = first_stage_alone && er_pack_get(manifest.info.map, "static") && !er_entry_of(&manifest, ER_TEXT("table"));
        size_t found = 0;
        for (uint32_t i = 0; i < manifest.count; i++) {
            if (!reads(manifest.entries[i].role, alone, true, false)) continue;
            if (found < *count) room[found] = (er_listed){manifest.entries[i].name, manifest.entries[i].size};
            found++;
        }
        *count = found;
    }
    er_give_back(&arena);
    return error->status;
}

void er_free(er_model *model)
{
    if (model && atomic_fetch_sub(&model->holders, 1) == 1) drop(model);
}

/* ---- What was loaded ---- */

er_status er_describe(const er_model *model, er_summary *summary, er_error *given)
{
    er_error own, *error = er_clear(given, &own);
    if (!model || !summary) return er_refuse(error, ER_BAD_INPUT, "er_describe needs a model, and a place for what it says"), ER_BAD_INPUT;
    if (!er_sized(summary, sizeof *summary, "er_summary", error)) return error->status;
    const er_stage *stage = model->has_full ? &model->full : &model->small;
    const er_summary found = {
        .content_hash = model->content_hash,
        .tools = model->tool_count,
        .labels = stage->has_head ? stage->label_count : 0,
        .dimension = stage->spec.dimension,
        .stages = model->has_full && model->has_small ? 2 : 1,
        .encodes = er_encodes(stage),
        .bytes = model->arena.taken,
    };
    er_fill(summary, &found, sizeof found);
    return ER_OK;
}

er_text er_tool_name(const er_model *model, uint32_t tool)
{
    return model && tool < model->tool_count ? model->tools[tool].name : ER_TEXT("");
}

er_text er_tool_definition(const er_model *model, uint32_t tool)
{
    return model && tool < model->tool_count ? model->tools[tool].definition : ER_TEXT("");
}

int64_t er_tool_find(const er_model *model, er_text name)
{
    return model && name.length ? er_place_of(&((const kept *)model->files)->tools, name) : -1;
}

int64_t er_held_find(const er_model *model, er_text name)
{
    const int64_t found = er_tool_find(model, name);
    for (uint32_t i = model->tool_count; found < 0 && i < model->held; i++)
        if (er_same(model->tools[i].name, name)) return i;
    return found;
}
