/* A bundle's table of contents (FORMAT.md 2.1, 2.2), proved before anything in it is believed. Opens no file. */

#ifndef ER_MANIFEST_H
#define ER_MANIFEST_H

#include "common.h"
#include "msgpack.h"
#include "sha256.h"
#include "signature.h"

#define ER_REBUILD "copy the bundle again or build it again with: edgeret-export build"

enum { ER_MOST_MANIFEST = 16 << 20, ER_MOST_FILES = 256 };

typedef struct {
    er_text name, role, sha256;
    uint64_t size;
} er_entry;

typedef struct {
    er_hex content_hash;
    const er_entry *entries;
    uint32_t count;
    er_fields info;
} er_manifest;

/* The bytes must stay. `wanted` is a content hash that the bundle must have (64 digits), or empty, and `trusted` who must
   have signed it, or NULL: both are looked at before the body is parsed. `shown` is what messages call the bundle, and
   `where` its manifest. */
bool er_manifest_of(
    er_arena *, er_text bytes, er_text wanted, const er_trusted *trusted, const char *shown, const char *where, er_manifest *);

const er_entry *er_entry_of(const er_manifest *, er_text role);

/* Whether readers verify files of a role, whatever they need for deciding. */
bool er_verified(er_text role);

#endif
