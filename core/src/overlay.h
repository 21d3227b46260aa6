/* The bytes of an overlay (docs/FORMAT.md 15.1 to 15.3): a header and batches of records, each tied to what stands before it.
   Knows nothing of files, and of what a record means. */

#ifndef ER_OVERLAY_H
#define ER_OVERLAY_H

#include "common.h"
#include "msgpack.h"
#include "sha256.h"

enum { ER_OVERLAY_HEADER = 132, ER_LEAST_KEY = 16, ER_MOST_KEY = 1024, ER_SALT = 16, ER_DIGEST = 32, ER_MOST_RECORD = 16 << 20, ER_MOST_OVERLAY = 64 << 20 };

#define ER_MOVE_AWAY "nothing was changed; bring back a copy of the file, or move it away and begin a new one"

/* A device's secret, ready for checksums (HMAC of SHA-256): nobody makes such a file, or changes it, without it. */
typedef struct {
    er_sha256 inner, outer;
} er_key;

void er_key_of(er_text secret, er_key *);

/* What a file's valid bytes hold: `size` of them, in so many records, and at their end the last batch's digest. */
typedef struct {
    uint64_t size, records;
    uint8_t digest[ER_DIGEST];
    const er_key *key; /* that digests are made with; NULL: plain ones */
    er_census census; /* of all bodies */
} er_contents;

/* Told of each record, whose values stay for the call alone. False ends the reading. */
typedef bool er_record_taker(void *context, er_text kind, const er_fields *record);

/* Whether this is a file whose writer died before its header was whole. */
bool er_overlay_unborn(er_text data);
/* Reads records up to the end of the last whole batch; what stands behind is an append that was cut off. `fingerprint` has
   64 digits. Refuses (ER_BAD_OVERLAY) what is no overlay, another encoder's, or damaged; and what is not of this key, or with
   NULL of any. */
bool er_overlay_scan(er_arena *, er_text data, const char *shown, er_text fingerprint, const er_key *, er_record_taker *, void *context, er_contents *);

/* ---- Writing ---- */

/* Bytes that grow; `failed` where there was no memory. */
typedef struct {
    uint8_t *at;
    size_t length, room, body; /* body: where the batch's body begins, which arrays are aligned to */
    er_census census;
    bool failed;
} er_bytes;

void er_bytes_free(er_bytes *);
void er_put(er_bytes *, const void *, size_t length);
void er_put_quoted(er_bytes *, er_text); /* as JSON has a text */
void er_put_list(er_bytes *, uint32_t count);
void er_put_map(er_bytes *, uint32_t pairs);
void er_put_text(er_bytes *, er_text);
void er_put_whole(er_bytes *, int64_t);
void er_put_number(er_bytes *, double);
void er_put_nothing(er_bytes *);
/* Numbers of a type as in 2.4, with two dimensions, or one if `columns` is 0; they are copied from `data`. */
void er_put_array(er_bytes *, const char *type, uint32_t rows, uint32_t columns, const void *data);
void er_put_value(er_bytes *, const er_pack *); /* as it was read */
#define ER_PUT(bytes, literal) er_put_text((bytes), ER_TEXT(literal))

void er_put_header(er_bytes *, const uint8_t salt[ER_SALT], er_text fingerprint, er_text content_hash, const er_key *, er_contents *);
/* A batch of one record: begin, put kind and value, end, which ties it to `contents` and adds it there. Refuses more than a
   batch or a file may hold. */
void er_batch_begin(er_bytes *, const er_contents *);
bool er_batch_end(er_bytes *, size_t begin, const char *shown, er_contents *, er_error *);

#endif
