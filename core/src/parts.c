#include "parts.h"

#include "format.h"
#include "sha256.h"
#include "utf8.h"
#include "vectors.h"

enum { MOST_DIMENSION = 1 << 16, MOST_TOKENS = 8192, MOST_PREFIX = 1000 };

const char *er_where(const er_part *part, const char *what)
{
    char *where = ER_TAKE(part->arena, char, 256);
    if (where) er_format(where, 256, part->first_stage ? "%.160s (static-%s)" : "%.160s (%s)", part->shown, what);
    return where;
}

/* ---- Files and info ---- */

const er_entry *er_part_entry(const er_part *part, const char *role)
{
    static const char *const own[] = {"table", "index", "hnsw", "graph", "head", "memory", "familiarity"};
    static const char *const shared[] = {"tokenizer", "word-vectors", "tools", "words", "exemplars", "planner"};
    char name[64];
    bool known = false;
    er_format(name, sizeof name, "%s", role);
    if (part->first_stage) {
        for (size_t i = 0; i < sizeof own / sizeof *own && !known; i++)
            if ((known = !strcmp(role, own[i]))) er_format(name, sizeof name, "static-%s", role);
        for (size_t i = 0; i < sizeof shared / sizeof *shared && !known; i++) known = !strcmp(role, shared[i]);
        if (!known) return NULL;
    }
    return er_entry_of(part->manifest, (er_text){name, strlen(name)});
}

bool er_part_file(const er_part *part, const char *role, er_text *bytes)
{
    const er_entry *entry = er_part_entry(part, role);
    if (!entry)
        return er_refuse(part->arena->error, ER_BAD_BUNDLE, "%s: no file with the role \"%s%s\"; %s", part->shown,
                         part->first_stage ? "static-" : "", role, ER_REBUILD);
    *bytes = part->contents[entry - part->manifest->entries];
    return true;
}

bool er_part_map(const er_part *part, const char *role, er_fields *map)
{
    er_text bytes;
    *map = (er_fields){part->arena, NULL, er_where(part, role)};
    return map->where && er_part_file(part, role, &bytes) && er_pack_read(part->arena, bytes, map->where, &map->map);
}

bool er_is_owner(const er_fields *map, er_text fingerprint)
{
    const er_pack *owner = er_pack_get(map->map, "encoder");
    const bool text = owner && owner->kind == ER_PACK_TEXT;
    if (text && er_same(er_pack_text(owner), fingerprint)) return true;
    er_text found = text ? er_pack_text(owner) : ER_TEXT("nothing"), expected = fingerprint;
    if (found.length > 12) found.length = 12;
    if (expected.length > 12) expected.length = 12;
    return er_refuse(map->arena->error, ER_BAD_BUNDLE,
                     "%s: made for another encoder (expected fingerprint %s..., found %s...); its vectors mean something else: build the "
                     "bundle again",
                     map->where, er_show(expected).at, er_show(found).at);
}

bool er_owned_map(const er_part *part, const char *role, er_fields *map)
{
    return er_part_map(part, role, map) && er_is_owner(map, part->fingerprint);
}

const er_pack *er_part_info(const er_part *part, const char *key)
{
    const er_pack *own = part->first_stage ? er_pack_get(part->own.map, key) : NULL;
    return own ? own : er_pack_get(part->info.map, key);
}

bool er_info_map(const er_part *part, const char *key, er_fields *map)
{
    const er_pack *own = part->first_stage ? er_pack_get(part->own.map, key) : NULL;
    const er_fields holder = {part->arena, own ? part->own.map : part->info.map, er_where(part, key)};
    return holder.where && er_field_map(&holder, key, map);
}

/* ---- Sections 5 and 4 ---- */

static bool one_of(const er_fields *map, const char *key, const char *const *known, er_text *text)
{
    if (!er_field_text(map, key, text)) return false;
    for (; *known; known++)
        if (er_is(*text, *known)) return true;
    return er_refuse(map->arena->error, ER_BAD_BUNDLE, "%s: \"%s\" is none that is known; build the bundle again", map->where, key);
}

static bool bounded(const er_fields *map, const char *key, er_text *text)
{
    return er_field_text(map, key, text) &&
           (er_count_points(*text) <= MOST_PREFIX || er_refuse(map->arena->error, ER_BAD_BUNDLE, "%s: \"%s\" has more than %d characters; build the bundle again",
                                                                map->where, key, MOST_PREFIX));
}

static void add_head(er_sha256 *sum, uint8_t first, uint64_t value, int bytes)
{
    uint8_t head[9] = {first};
    for (int i = 0; i < bytes; i++) head[1 + i] = (uint8_t)(value >> 8 * (bytes - 1 - i));
    er_sha256_add(sum, head, 1 + (size_t)bytes);
}

static void add_text(er_sha256 *sum, er_text text)
{
    if (text.length < 32) add_head(sum, (uint8_t)(0xa0 | text.length), 0, 0);
    else if (text.length < 256) add_head(sum, 0xd9, text.length, 1);
    else add_head(sum, 0xda, text.length, 2); /* at most 1,000 characters */
    er_sha256_add(sum, text.at, text.length);
}

static void add_key(er_sha256 *sum, const char *key) { add_text(sum, (er_text){key, strlen(key)}); }

static void add_whole(er_sha256 *sum, int64_t value) /* 1 to 65,536 */
{
    if (value < 128) add_head(sum, (uint8_t)value, 0, 0);
    else if (value < 256) add_head(sum, 0xcc, (uint64_t)value, 1);
    else if (value < 65536) add_head(sum, 0xcd, (uint64_t)value, 2);
    else add_head(sum, 0xce, (uint64_t)value, 4);
}

/* The sha256 of what the vectors come from: of the file, or where it was left out, as it was told (section 18). */
static bool weights_of(const er_part *part, const er_fields *told, er_text *weights)
{
    const er_entry *entry = er_part_entry(part, "table");
    if (!entry) entry = er_part_entry(part, "encoder");
    if (!entry) entry = er_part_entry(part, "encoder-arrays");
    if (entry) return *weights = entry->sha256, true;
    const er_pack *variants = er_pack_get(part->info.map, "variants");
    if (!part->first_stage && variants && variants->kind == ER_PACK_ARRAY && variants->count) return er_field_text(told, "weights", weights);
    return er_refuse(part->arena->error, ER_BAD_BUNDLE, "%s: no file with the role \"%s\"; %s", part->shown,
                     part->first_stage ? "static-table" : "encoder", ER_REBUILD);
}

/* What the fingerprint is made of, beside what er_spec has. */
typedef struct {
    er_text pooling, instructions;
    bool normalised;
} more;

static bool take_spec(const er_fields *map, er_spec *spec, more *told)
{
    static const char *const poolings[] = {"mean", "cls", "max", "lasttoken", NULL}, *const precisions[] = {"fp32", "fp16", "int8", "codebook", NULL};
    int64_t dimension = 0, tokens = 0;
    const bool fine = er_field_whole(map, "dimension", 1, MOST_DIMENSION, &dimension) &&
                      er_field_whole(map, "max_tokens", 1, MOST_TOKENS, &tokens) && one_of(map, "pooling", poolings, &told->pooling) &&
                      er_field_truth(map, "normalised", &told->normalised) && bounded(map, "query_prefix", &spec->query_prefix) &&
                      bounded(map, "tool_prefix", &spec->tool_prefix) && one_of(map, "precision", precisions, &spec->precision) &&
                      bounded(map, "instruction_set", &told->instructions);
    spec->dimension = (uint32_t)dimension;
    spec->max_tokens = (uint32_t)tokens;
    return fine;
}

bool er_spec_of(const er_fields *map, er_spec *spec)
{
    more told;
    return take_spec(map, spec, &told);
}

bool er_spec_part(er_part *part, er_spec *spec)
{
    er_fields told, map;
    er_text weights;
    more also;
    if (!er_info_map(part, "encoder", &told) || !er_field_text(&told, "fingerprint", &part->fingerprint) || !er_field_map(&told, "spec", &map) ||
        !take_spec(&map, spec, &also) || !weights_of(part, &told, &weights))
        return false;
    const er_entry *tokenizer = er_part_entry(part, "tokenizer");
    if (weights.length > 64 || !tokenizer) return er_part_file(part, "tokenizer", &weights) && er_contradicts(&map);
    er_sha256 sum;
    uint8_t digest[32];
    er_sha256_begin(&sum);
    add_head(&sum, 0x8a, 0, 0); /* the two hashes, and the eight fields of section 5, ascending */
    add_key(&sum, "weights"), add_text(&sum, weights);
    add_key(&sum, "tokenizer"), add_text(&sum, tokenizer->sha256);
    add_key(&sum, "dimension"), add_whole(&sum, spec->dimension);
    add_key(&sum, "instruction_set"), add_text(&sum, also.instructions);
    add_key(&sum, "max_tokens"), add_whole(&sum, spec->max_tokens);
    add_key(&sum, "normalised"), add_head(&sum, also.normalised ? 0xc3 : 0xc2, 0, 0);
    add_key(&sum, "pooling"), add_text(&sum, also.pooling);
    add_key(&sum, "precision"), add_text(&sum, spec->precision);
    add_key(&sum, "query_prefix"), add_text(&sum, spec->query_prefix);
    add_key(&sum, "tool_prefix"), add_text(&sum, spec->tool_prefix);
    er_sha256_end(&sum, digest);
    const er_hex found = er_hex_of(digest);
    spec->fingerprint = part->fingerprint;
    if (er_same((er_text){found.at, 64}, part->fingerprint)) return true;
    const er_text said = {part->fingerprint.at, part->fingerprint.length < 12 ? part->fingerprint.length : 12};
    return er_refuse(part->arena->error, ER_BAD_BUNDLE,
                     "%s: its fingerprint is %.12s..., the manifest says %s...; weights, tokenizer or settings were exchanged: build the bundle "
                     "again",
                     map.where, found.at, er_show(said).at);
}

/* ---- What parts have in common ---- */

bool er_units(const float *rows, uint32_t count, uint32_t dimension)
{
    for (uint32_t i = 0; i < count; i++) {
        const float *row = rows + (size_t)i * dimension;
        if (!(fabsf(er_dot(row, row, dimension) - 1.0f) <= 0.01001f)) return false; /* NaN is not */
    }
    return true;
}

bool er_field_scales(const er_fields *fields, const char *key, uint32_t rows, const float **scales)
{
    er_array array;
    if (!er_field_array(fields, key, "<f4", rows, 0, &array)) return false;
    *scales = array.at;
    for (uint32_t i = 0; i < rows; i++)
        if (!((*scales)[i] >= 0.0f && (*scales)[i] <= 1e6f))
            return er_refuse(fields->arena->error, ER_BAD_BUNDLE, "%s: \"%s\" must lie between 0 and 1e+06; build the bundle again", fields->where,
                             key);
    return true;
}

bool er_spans_hold(const int32_t *starts, uint32_t count, uint32_t end, bool rising)
{
    if (!count || starts[0] != 0 || (int64_t)starts[count - 1] != (int64_t)end) return false;
    for (uint32_t i = 1; i < count; i++)
        if (rising ? starts[i] <= starts[i - 1] : starts[i] < starts[i - 1]) return false;
    return true;
}

bool er_contradicts(const er_fields *map)
{
    return er_field_refuse(map, "its tables contradict each other");
}
