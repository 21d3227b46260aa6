/* A store's folder of bundles: each version under its content hash, its signatures beside it. Knows nothing of which one is active. */

#include "store.h"

#include "disk.h"
#include "folder.h"
#include "format.h"

enum { HASH = 64, MOST_NAME = 100 };

void er_version_path(char path[ER_STORE_PATH], const char *folder, er_text content_hash)
{
    er_format(path, ER_STORE_PATH, "%s/bundles/%.64s", folder, content_hash.at);
}

/* `.HASH` and an ending: what a writer makes a version of, and where the one before waits meanwhile. */
static void hidden_path(char path[ER_STORE_PATH], const char *folder, er_text content_hash, const char *ending)
{
    er_format(path, ER_STORE_PATH, "%s/bundles/.%.64s%s", folder, content_hash.at, ending);
}

bool er_replace_file(er_error *error, const char *folder, const char *name, er_text bytes)
{
    char partial[ER_STORE_PATH], place[ER_STORE_PATH];
    er_format(partial, sizeof partial, "%s/.%s.partial", folder, name); /* one writer at a time, so one name will do */
    er_format(place, sizeof place, "%s/%s", folder, name);
    er_disk_remove(partial);
    if (er_disk_write(error, partial, bytes.at, bytes.length) && er_disk_rename(error, folder, partial, place)) return true;
    er_disk_remove(partial);
    return false;
}

/* ---- What dead writers left ---- */

/* The content hash in the name of something that belongs to a version; empty for anything else. */
static er_text hash_in(er_text name)
{
    const size_t begin = name.length && name.at[0] == '.';
    bool fine = name.length >= begin + HASH && (name.length == begin + HASH || name.at[begin + HASH] == '.');
    for (size_t i = begin; fine && i < begin + HASH; i++) fine = (name.at[i] >= '0' && name.at[i] <= '9') || (name.at[i] >= 'a' && name.at[i] <= 'f');
    return fine ? er_cut(name, begin, begin + HASH) : (er_text){"", 0};
}

bool er_bundles_sweep(er_arena *arena, const char *folder, const er_state *s)
{
    char bundles[ER_STORE_PATH], path[ER_STORE_PATH + 300], place[ER_STORE_PATH];
    const er_text *names;
    uint32_t count;
    er_format(bundles, sizeof bundles, "%s/bundles", folder);
    if (!er_disk_names(arena, bundles, &names, &count)) return false;
    for (uint32_t i = 0; i < count; i++) {
        const er_text content_hash = hash_in(names[i]);
        bool listed = false;
        for (uint32_t k = 0; k < s->count && content_hash.length; k++) listed |= er_same(s->versions[k].content_hash, content_hash);
        if (!content_hash.length || names[i].length > 200 || (listed && names[i].at[0] != '.')) continue;
        er_format(path, sizeof path, "%s/%.*s", bundles, (int)names[i].length, names[i].at);
        er_version_path(place, folder, content_hash);
        const bool aside = listed && er_is(er_cut(names[i], 1 + HASH, names[i].length), ".replaced");
        if (aside && !er_disk_there(place)) {
            if (!er_disk_rename(arena->error, bundles, path, place)) return false;
        } else
            er_disk_remove(path);
    }
    return true;
}

/* ---- Copies ---- */

/* Whether a folder's files are what the manifest says; `found` is why not. */
static bool is_proved(er_arena *arena, const char *path, const er_manifest *m, const char *remedy)
{
    er_folder *folder = er_folder_open(arena, path);
    er_mapped file;
    bool fine = folder != NULL;
    for (uint32_t i = 0; fine && i < m->count; i++) {
        const er_entry *entry = &m->entries[i];
        if (!(fine = er_folder_map(arena, folder, entry->name, entry->size, remedy, &file))) break;
        const er_hex hash = er_sha256_of(file.bytes, file.length);
        fine = file.length == entry->size && er_same((er_text){hash.at, HASH}, entry->sha256);
        er_unmap(&file);
        if (!fine) er_refuse(arena->error, ER_BAD_BUNDLE, "%s: altered, or changed while it was copied; %s", er_show(entry->name).at, remedy);
    }
    er_folder_close(folder);
    return fine;
}

bool er_bundle_is_whole(const char *folder, const er_manifest *m)
{
    char path[ER_STORE_PATH];
    er_error why = {0}; /* of which nobody hears: it is mended */
    er_arena arena = {.error = &why};
    er_manifest found;
    er_mapped file = {0};
    er_version_path(path, folder, (er_text){m->content_hash.at, HASH});
    er_folder *opened = er_disk_there(path) ? er_folder_open(&arena, path) : NULL;
    const bool fine = opened && er_folder_map(&arena, opened, ER_TEXT("manifest"), ER_MOST_MANIFEST, ER_REBUILD, &file) &&
                      er_manifest_of(&arena, (er_text){file.bytes, file.length}, (er_text){m->content_hash.at, HASH}, NULL, "", "", &found) &&
                      is_proved(&arena, path, m, ER_REBUILD);
    er_unmap(&file);
    er_folder_close(opened);
    er_give_back(&arena);
    return fine;
}

static bool copy_files(er_arena *arena, const char *bundle, const char *partial, const er_manifest *m, er_text manifest_bytes)
{
    char path[ER_STORE_PATH + MOST_NAME + 2];
    er_folder *from = er_folder_open(arena, bundle);
    er_mapped file;
    bool fine = from && er_disk_folder(arena->error, partial);
    for (uint32_t i = 0; fine && i < m->count; i++) {
        const er_entry *entry = &m->entries[i];
        if (!(fine = er_folder_map(arena, from, entry->name, entry->size, ER_REBUILD, &file))) break;
        er_format(path, sizeof path, "%s/%.*s", partial, (int)entry->name.length, entry->name.at);
        fine = er_disk_write(arena->error, path, file.bytes, file.length);
        er_unmap(&file);
    }
    er_folder_close(from);
    er_format(path, sizeof path, "%s/manifest", partial);
    /* The copy is proved, and not what it was made of: that may have changed meanwhile. */
    return fine && is_proved(arena, partial, m, ER_REBUILD) && er_disk_write(arena->error, path, manifest_bytes.at, manifest_bytes.length) &&
           er_disk_flush(arena->error, partial);
}

bool er_bundle_copy(er_arena *arena, const char *folder, const char *bundle, const er_manifest *m, er_text manifest_bytes)
{
    char bundles[ER_STORE_PATH], partial[ER_STORE_PATH], place[ER_STORE_PATH], aside[ER_STORE_PATH];
    const er_text content_hash = {m->content_hash.at, HASH};
    er_format(bundles, sizeof bundles, "%s/bundles", folder);
    hidden_path(partial, folder, content_hash, ".partial");
    hidden_path(aside, folder, content_hash, ".replaced");
    er_version_path(place, folder, content_hash);
    bool fine = copy_files(arena, bundle, partial, m, manifest_bytes);
    /* A folder takes no other's place in one step: a damaged one steps aside, where readers find it. */
    if (fine && er_disk_there(place)) fine = er_disk_rename(arena->error, bundles, place, aside);
    fine = fine && er_disk_rename(arena->error, bundles, partial, place);
    er_disk_remove(partial);
    if (er_disk_there(place)) er_disk_remove(aside);
    return fine;
}

bool er_bundle_sign(er_error *error, const char *folder, er_text content_hash, er_text signatures)
{
    char bundles[ER_STORE_PATH], name[HASH + 8];
    er_format(bundles, sizeof bundles, "%s/bundles", folder);
    er_format(name, sizeof name, "%.64s.sig", content_hash.at);
    return !signatures.length || er_replace_file(error, bundles, name, signatures);
}
