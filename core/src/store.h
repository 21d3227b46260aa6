/* What the files of a store share (FORMAT.md 22): its file, its folder of bundles, and what a version must decide. Paths are made of the
   store's folder, which is short enough for all of them. */

#ifndef ER_STORE_H
#define ER_STORE_H

#include "common.h"
#include "manifest.h"

enum { ER_MOST_STORE_PATH = 3800, ER_STORE_PATH = 4096, ER_MOST_VERSIONS = 1000, ER_MOST_EVENTS = 100 };

typedef struct {
    er_text content_hash, name;
} er_stored;

/* What store.json says; its texts lie in the arena. */
typedef struct {
    er_text active;    /* a content hash; empty: none */
    er_text *good;     /* (good_count): content hashes of those that were active before, the latest first */
    er_stored *versions;
    er_text *events;   /* (event_count), the oldest first: each an object as it stands there */
    uint32_t good_count, count, event_count;
} er_state;

/* ---- store_state.c ---- */

/* Nothing of a store that was never written; refuses a damaged one. */
bool er_state_read(er_arena *, const char *folder, er_state *);
/* On disk when it returns; what was there stays where it fails. Hold the lock. */
bool er_state_write(er_arena *, const char *folder, const er_state *);
/* The version of a name, a content hash, or its first digits, 8 and more. */
const er_stored *er_state_find(er_error *, const er_state *, er_text version);
bool er_is_version_name(er_text);
/* Changes of a state that was read. `what` is "activated", "rolled back" or "refused". */
bool er_state_add(er_arena *, er_state *, er_text content_hash, er_text name);
void er_state_remove(er_state *, er_text content_hash);
bool er_state_activate(er_arena *, er_state *, er_text content_hash, const char *what, er_text reason);
bool er_state_tell(er_arena *, er_state *, er_text content_hash, const char *what, er_text reason);

/* ---- store_bundles.c ---- */

/* A version's folder. */
void er_version_path(char path[ER_STORE_PATH], const char *folder, er_text content_hash);
/* Deletes what writers that died left and what is not listed, and brings back what one of them had set aside. Hold the lock. */
bool er_bundles_sweep(er_arena *, const char *folder, const er_state *);
/* Whether a version's files are there as its manifest lists them. */
bool er_bundle_is_whole(const char *folder, const er_manifest *);
/* Copies a bundle's files to where a version of this manifest belongs, and proves what was written; the file of signatures, unless it
   is empty, beside it. Hold the lock. */
bool er_bundle_copy(er_arena *, const char *folder, const char *bundle, const er_manifest *, er_text manifest_bytes);
bool er_bundle_sign(er_error *, const char *folder, er_text content_hash, er_text signatures);
/* Puts a file's bytes in place by renaming, on disk when it returns. */
bool er_replace_file(er_error *, const char *folder, const char *name, er_text bytes);

/* ---- store_proof.c ---- */

/* Whether a model makes the vectors and decisions that its bundle, which lies at `path`, says it does (section 3). Refuses with
   ER_BAD_BUNDLE. */
bool er_decides_as_built(er_arena *, const char *path, const char *name, const er_load_options *, const er_model *);

#endif
