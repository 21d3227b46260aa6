#include "manifest.h"

#include "distinct.h"
#include "format.h"
#include "utf8.h"

/* ---- Roles (section 1) ---- */

typedef struct {
    const char *name;
    uint64_t most; /* MiB */
    bool part;     /* a first stage has one of its own, `static-` before its name */
    bool variant;  /* stands in for the encoder on other hardware (section 18), or a planner: verified by whoever runs it */
} role;

static const role ROLES[] = {
    {"encoder", 2048, false, false},        {"encoder-arrays", 64, false, false},   {"table", 512, true, false},
    {"tokenizer", 64, false, false},        {"word-vectors", 64, false, false},     {"tools", 64, false, false},
    {"words", 256, false, false},           {"index", 256, true, false},            {"hnsw", 512, true, false},
    {"graph", 256, true, false},            {"head", 256, true, false},             {"memory", 64, true, false},
    {"familiarity", 64, true, false},       {"arguments", 64, false, false},        {"exemplars", 4, false, false},
    {"planner", 16384, false, true},       {"encoder-cpu-7bit", 2048, false, true}, {"encoder-cpu-8bit", 2048, false, true},
    {"encoder-gpu", 2048, false, true},     {"encoder-npu-16", 2048, false, true},  {"encoder-npu-32", 2048, false, true},
    {"encoder-npu-64", 2048, false, true},  {"encoder-npu-128", 2048, false, true}, {"encoder-npu-256", 2048, false, true},
    {"encoder-npu-512", 2048, false, true},
};

static const role *role_of(er_text name)
{
    const bool part = name.length > 7 && !memcmp(name.at, "static-", 7);
    const er_text own = part ? er_cut(name, 7, name.length) : name;
    for (size_t i = 0; i < sizeof ROLES / sizeof *ROLES; i++)
        if (er_is(own, ROLES[i].name) && (!part || ROLES[i].part)) return &ROLES[i];
    return NULL;
}

bool er_verified(er_text name)
{
    const role *known = role_of(name);
    return known && !known->variant;
}

static uint64_t most_bytes(er_text name)
{
    const role *known = role_of(name);
    return (known ? known->most : 16384) << 20;
}

const er_entry *er_entry_of(const er_manifest *manifest, er_text name)
{
    for (uint32_t i = 0; i < manifest->count; i++)
        if (er_same(manifest->entries[i].role, name)) return &manifest->entries[i];
    return NULL;
}

/* ---- 2.1 Wrapping: four elements in their shortest forms, matched byte by byte ---- */

typedef struct {
    int64_t version; /* INT64_MAX: more than that */
    char said[24];   /* in decimal */
    er_text body;
    const uint8_t *digest;
} wrapping;

static uint64_t big_endian(const uint8_t *at, size_t bytes)
{
    uint64_t value = 0;
    for (size_t i = 0; i < bytes; i++) value = value << 8 | at[i];
    return value;
}

/* An integer in its shortest form; gives its bytes, 0 for anything else. */
static size_t take_version(const uint8_t *at, size_t left, wrapping *w)
{
    if (!left) return 0;
    const uint8_t c = at[0];
    const bool below = c >= 0xd0 && c <= 0xd3;
    if (c < 0x80 || c >= 0xe0) {
        w->version = (int8_t)c;
        er_format(w->said, sizeof w->said, "%d", (int8_t)c);
        return 1;
    }
    if (!below && (c < 0xcc || c > 0xcf)) return 0;
    const size_t size = (size_t)1 << (c & 3);
    if (left <= size) return 0;
    const uint64_t value = big_endian(at + 1, size);
    if (below) {
        const int64_t whole = (int64_t)(value << (64 - 8 * size)) >> (64 - 8 * size);
        static const int64_t least[] = {-32, INT8_MIN, INT16_MIN, INT32_MIN};
        if (whole >= least[c & 3]) return 0;
        w->version = whole;
        er_format(w->said, sizeof w->said, "%lld", (long long)whole);
    } else {
        static const uint64_t most[] = {INT8_MAX, UINT8_MAX, UINT16_MAX, UINT32_MAX};
        if (value <= most[c & 3]) return 0;
        w->version = value > INT64_MAX ? INT64_MAX : (int64_t)value;
        er_format(w->said, sizeof w->said, "%llu", (unsigned long long)value);
    }
    return size + 1;
}

static bool unwrap(er_text bytes, wrapping *w)
{
    static const uint8_t magic[] = {0x94, 0xae, 'e', 'd', 'g', 'e', 'r', 'e', 't', '-', 'b', 'u', 'n', 'd', 'l', 'e'};
    const uint8_t *at = (const uint8_t *)bytes.at;
    size_t left = bytes.length;
    if (left < sizeof magic || memcmp(at, magic, sizeof magic)) return false;
    at += sizeof magic, left -= sizeof magic;
    const size_t taken = take_version(at, left, w);
    at += taken, left -= taken;
    if (!taken || left < 36 || at[0] != 0xc4 || at[1] != 32 || at[34] < 0xc4 || at[34] > 0xc6) return false;
    w->digest = at + 2;
    const size_t size = (size_t)1 << (at[34] - 0xc4);
    at += 35, left -= 35;
    if (left < size) return false;
    const uint64_t length = big_endian(at, size);
    if (length != left - size || (size == 2 && length < 1u << 8) || (size == 4 && length < 1u << 16)) return false;
    w->body = (er_text){(const char *)at + size, (size_t)length};
    er_sha256 sum;
    uint8_t digest[32];
    char first[48];
    er_sha256_begin(&sum);
    er_sha256_add(&sum, first, er_format(first, sizeof first, "edgeret-bundle/%s\n", w->said));
    er_sha256_add(&sum, w->body.at, w->body.length);
    er_sha256_end(&sum, digest);
    return !memcmp(digest, w->digest, sizeof digest);
}

/* ---- 2.2 Body ---- */

static bool is_letter_or_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z'); }

/* So that it cannot leave the folder. */
static bool is_name(er_text name)
{
    bool any = false;
    for (size_t i = 0; i < name.length; i++) {
        const char c = name.at[i];
        any |= is_letter_or_digit(c);
        if (!is_letter_or_digit(c) && c != '-' && c != '_' && c != '.') return false;
    }
    return any && name.length <= 100 && name.at[0] != '.' && !er_is(name, "manifest");
}

static bool take_entry(const er_fields *list, const er_pack *value, const char *where, er_entry *entry)
{
    static const struct {
        const char *key;
        size_t most;
    } texts[] = {{"name", 100}, {"role", 100}, {"sha256", 64}, {"licence", 500}, {"source", 2000}};
    er_error *error = list->arena->error;
    if (value->kind != ER_PACK_MAP) return er_refuse(error, ER_BAD_BUNDLE, "%s: a file entry is not a map; %s", where, ER_REBUILD);
    const er_fields fields = {list->arena, value, where};
    er_text found[5];
    int64_t size;
    for (int i = 0; i < 5; i++)
        if (!er_field_text(&fields, texts[i].key, &found[i])) return false;
    if (!is_name(found[0]))
        return er_refuse(error, ER_BAD_BUNDLE, "%s: '%s' is no file name that a bundle may hold; %s", where, er_show(found[0]).at, ER_REBUILD);
    for (int i = 0; i < 5; i++)
        if (er_count_points(found[i]) > texts[i].most)
            return er_refuse(error, ER_BAD_BUNDLE, "%s: \"%s\" of %s is too long; %s", where, texts[i].key, er_show(found[0]).at, ER_REBUILD);
    if (!er_field_whole(&fields, "size", INT64_MIN, INT64_MAX, &size)) return false;
    if (size < 0 || (uint64_t)size > most_bytes(found[1]))
        return er_refuse(error, ER_BAD_BUNDLE, "%s: %s (%s) is said to have %lld bytes; %s", where, er_show(found[0]).at, er_show(found[1]).at,
                         (long long)size, ER_REBUILD);
    *entry = (er_entry){found[0], found[1], found[2], (uint64_t)size};
    return true;
}

static bool no_name_or_role_twice(const er_fields *list, const er_entry *entries, uint32_t count, const char *where)
{
    er_text names[ER_MOST_FILES], roles[ER_MOST_FILES];
    char lower[ER_MOST_FILES][100];
    for (uint32_t i = 0; i < count; i++) {
        for (size_t k = 0; k < entries[i].name.length; k++) {
            const char c = entries[i].name.at[k];
            lower[i][k] = (char)(c >= 'A' && c <= 'Z' ? c + 32 : c);
        }
        names[i] = (er_text){lower[i], entries[i].name.length};
        roles[i] = entries[i].role;
    }
    int64_t name, played;
    if (!er_first_alike(list->arena, names, count, &name) || !er_first_alike(list->arena, roles, count, &played)) return false;
    return (name < 0 && played < 0) ||
           er_refuse(list->arena->error, ER_BAD_BUNDLE, "%s: lists a file or a role twice; %s", where, ER_REBUILD);
}

bool er_manifest_of(
    er_arena *arena, er_text bytes, er_text wanted, const er_trusted *trusted, const char *shown, const char *where, er_manifest *manifest)
{
    wrapping w = {0};
    if (!unwrap(bytes, &w))
        return er_refuse(arena->error, ER_BAD_BUNDLE, "%s: damaged (its checksum does not match its content); %s", where, ER_REBUILD);
    /* Behind the digest, so that a flipped bit in the version is damage and no newer format. */
    if (w.version != ER_FORMAT)
        return er_refuse(arena->error, ER_BAD_BUNDLE, "%s: format version %s, this edgeret reads %d; %s", where, w.said, ER_FORMAT,
                         w.version > ER_FORMAT ? "install a newer edgeret" : "it was built by an older one: build it again");
    manifest->content_hash = er_hex_of(w.digest);
    const er_text hash = {manifest->content_hash.at, 64};
    if (wanted.length && !er_same(wanted, hash))
        return er_refuse(arena->error, ER_BAD_BUNDLE,
                         "%s: another bundle than the one asked for (expected content hash %.64s, found %.64s); get it again from where the hash "
                         "came from",
                         shown, wanted.at, hash.at);
    if (trusted && !er_signed(arena, trusted, hash, shown)) return false;
    er_fields body = {arena, NULL, where};
    const er_pack *listed;
    if (!er_pack_read(arena, w.body, where, &body.map) || !er_field_list(&body, "files", &listed)) return false;
    if (listed->count > ER_MOST_FILES)
        return er_refuse(arena->error, ER_BAD_BUNDLE, "%s: lists %u files, at most %d are allowed; %s", where, listed->count, ER_MOST_FILES,
                         ER_REBUILD);
    er_entry *entries = ER_TAKE(arena, er_entry, listed->count);
    if (!entries) return false;
    for (uint32_t i = 0; i < listed->count; i++)
        if (!take_entry(&body, &listed->items[i], where, &entries[i])) return false;
    manifest->entries = entries;
    manifest->count = listed->count;
    return no_name_or_role_twice(&body, entries, listed->count, where) && er_field_map(&body, "info", &manifest->info);
}
