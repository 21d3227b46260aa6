#include "overlay.h"
#include "format.h"

#include <stdlib.h>

#ifndef ER_ALLOCATE /* as in common.c */
#define ER_ALLOCATE(size) calloc(1, (size))
#endif

static const char MAGIC[] = "edgeret-overlay\n";
static const uint8_t MARKER[4] = {0xff, 'r', 'e', 'c'}; /* FF occurs in no UTF-8, so that no text can look like a batch */
enum { MAGIC_BYTES = 16, VERSION = 1, KEYED = 2, HEAD = 48, MOST_CONTAINERS = 500000, MOST_ITEMS = 2000000, ALIGNMENT = 64, MOST_KIND = 64 };

static uint64_t little_endian(const char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--) value = value << 8 | (uint8_t)at[i];
    return value;
}

static void to_little_endian(uint8_t *at, uint64_t value, int bytes)
{
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(value >> 8 * i);
}

void er_key_of(er_text secret, er_key *key)
{
    enum { BLOCK = 64 };
    uint8_t block[BLOCK] = {0};
    er_sha256_begin(&key->inner);
    er_sha256_begin(&key->outer);
    if (secret.length > BLOCK) {
        er_sha256 sum = key->inner;
        er_sha256_add(&sum, secret.at, secret.length);
        er_sha256_end(&sum, block);
    } else if (secret.length)
        memcpy(block, secret.at, secret.length);
    for (int i = 0; i < BLOCK; i++) block[i] ^= 0x36;
    er_sha256_add(&key->inner, block, BLOCK);
    for (int i = 0; i < BLOCK; i++) block[i] ^= 0x36 ^ 0x5c;
    er_sha256_add(&key->outer, block, BLOCK);
}

static void digest_of(const er_key *key, const void *bytes, size_t length, uint8_t digest[ER_DIGEST])
{
    er_sha256 sum;
    if (key) sum = key->inner;
    else er_sha256_begin(&sum);
    er_sha256_add(&sum, bytes, length);
    er_sha256_end(&sum, digest);
    if (!key) return;
    sum = key->outer;
    er_sha256_add(&sum, digest, ER_DIGEST);
    er_sha256_end(&sum, digest);
}

/* Takes as long whatever differs, or a secret digest could be guessed byte by byte. */
static bool digest_is_right(const er_key *key, const char *bytes, size_t length)
{
    uint8_t digest[ER_DIGEST], wrong = 0;
    digest_of(key, bytes, length - ER_DIGEST, digest);
    for (size_t i = 0; i < ER_DIGEST; i++) wrong |= digest[i] ^ (uint8_t)bytes[length - ER_DIGEST + i];
    return !wrong;
}

/* ---- Reading ---- */

bool er_overlay_unborn(er_text data)
{
    const size_t keyed = ER_OVERLAY_HEADER + ER_DIGEST;
    if (data.length >= ER_OVERLAY_HEADER && digest_is_right(NULL, data.at, ER_OVERLAY_HEADER)) {
        if (little_endian(data.at + MAGIC_BYTES, 4) != KEYED || data.length > keyed) return false;
        for (size_t i = ER_OVERLAY_HEADER; i < data.length; i++)
            if (data.at[i] && data.length == keyed) return false;
        return true; /* its own checksum is not whole yet */
    }
    if (data.length > ER_OVERLAY_HEADER) return false;
    size_t length = data.length < MAGIC_BYTES ? data.length : MAGIC_BYTES;
    while (length && !data.at[length - 1]) length--; /* zeros: where the length came to the disk first */
    return !length || !memcmp(data.at, MAGIC, length);
}

static bool read_header(er_error *error, er_text data, const char *shown, er_text fingerprint, const er_key *key, er_contents *found)
{
    const size_t length = ER_OVERLAY_HEADER + (key ? ER_DIGEST : 0);
    if (data.length < MAGIC_BYTES || memcmp(data.at, MAGIC, MAGIC_BYTES))
        return er_refuse(error, ER_BAD_OVERLAY, "%s: not an edgeret overlay; nothing was changed; name another file", shown);
    if (data.length < ER_OVERLAY_HEADER || !digest_is_right(NULL, data.at, ER_OVERLAY_HEADER))
        return er_refuse(error, ER_BAD_OVERLAY, "%s: its header is damaged; " ER_MOVE_AWAY, shown);
    const unsigned version = (unsigned)little_endian(data.at + 16, 4);
    if (version != VERSION && version != KEYED)
        return er_refuse(error, ER_BAD_OVERLAY, "%s: expected format version %d, found %u; nothing was changed; use the release of edgeret that wrote it",
                         shown, key ? KEYED : VERSION, version);
    if (version == KEYED && !key) return er_refuse(error, ER_BAD_OVERLAY, "%s: bound to a device by a key; nothing was changed; give that key", shown);
    if (version == VERSION && key)
        return er_refuse(error, ER_BAD_OVERLAY, "%s: not bound to this device's key, so that anybody may have written it; nothing was changed; "
                         "move it away and begin a new one, or give no key", shown);
    if (key && (data.length < length || !digest_is_right(key, data.at, length)))
        return er_refuse(error, ER_BAD_OVERLAY, "%s: of another device, or altered: its checksum is not by this key; " ER_MOVE_AWAY, shown);
    const er_hex encoder = er_hex_of((const uint8_t *)data.at + 36);
    if (!er_same((er_text){encoder.at, 64}, fingerprint))
        return er_refuse(error, ER_BAD_OVERLAY,
                         "%s: learned with another encoder (expected fingerprint %.12s, found %.12s), so its vectors mean something else; "
                         "nothing was changed; use the bundle that it was made with, or name another file",
                         shown, fingerprint.at, encoder.at);
    *found = (er_contents){.size = length, .key = key, .census = {MOST_CONTAINERS, MOST_ITEMS}};
    memcpy(found->digest, data.at + length - ER_DIGEST, ER_DIGEST);
    return true;
}

/* Bytes of the batch that may begin there; 0 if none can. */
static size_t batch_at(er_text data, size_t at)
{
    if (data.length - at < HEAD + ER_DIGEST || memcmp(data.at + at, MARKER, sizeof MARKER)) return 0;
    const uint64_t length = little_endian(data.at + at + 4, 4);
    return length <= ER_MOST_RECORD && length + HEAD + ER_DIGEST <= data.length - at ? (size_t)length + HEAD + ER_DIGEST : 0;
}

static bool is_kind(const er_pack *value)
{
    if (value->kind != ER_PACK_TEXT || !value->count || value->count > MOST_KIND || value->at[0] == '-') return false;
    for (uint32_t i = 0; i < value->count; i++) {
        const char c = value->at[i];
        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-')) return false;
    }
    return true;
}

/* What a bundle would be told, told of an overlay. */
static bool senseless(er_error *error, const char *shown, const er_error *own)
{
    if (own->status == ER_NO_MEMORY || own->status == ER_BAD_OVERLAY) return er_refuse(error, own->status, "%s", own->text);
    const size_t ahead = strlen(shown);
    const char *told = own->text, *end;
    if (!strncmp(told, shown, ahead) && told[ahead] == ':') told += ahead + 2;
    for (end = strstr(told, "; build the bundle"); !end;) end = told + strlen(told);
    return er_refuse(error, ER_BAD_OVERLAY, "%s: a record makes no sense: %.*s; " ER_MOVE_AWAY, shown, (int)(end - told < 240 ? end - told : 240), told);
}

static bool take_records(er_arena *arena, er_text body, const char *shown, er_record_taker *take, void *context, er_contents *found)
{
    const er_pack *map, *records;
    if (!er_pack_counted(arena, body, shown, &found->census, &map)) return false;
    const er_fields fields = {arena, map, shown};
    if (!er_field_list(&fields, "records", &records)) return false;
    for (uint32_t i = 0; i < records->count; i++) {
        const er_pack *record = &records->items[i];
        if (record->kind != ER_PACK_ARRAY || record->count != 2 || !is_kind(record->items) || record->items[1].kind != ER_PACK_MAP)
            return er_refuse(arena->error, ER_BAD_BUNDLE, "expected a map and a kind (1 to 64 characters out of a-z, 0-9 and -) for each record");
    }
    for (uint32_t i = 0; i < records->count; i++) {
        const er_fields value = {arena, &records->items[i].items[1], shown};
        if (take && !take(context, er_pack_text(records->items[i].items), &value)) return false;
    }
    found->records += records->count;
    return true;
}

/* Whether the bytes behind the last whole batch cannot all be one that was cut off. */
static bool more_than_torn(er_text data, size_t from, const er_key *key)
{
    if (data.length - from > HEAD + ER_MOST_RECORD + ER_DIGEST) return true;
    int64_t budget = 2 * (int64_t)(data.length - from); /* only a forger's markers need more hashing */
    for (size_t at = from + 1; at + sizeof MARKER <= data.length; at++) {
        const size_t batch = (uint8_t)data.at[at] == MARKER[0] ? batch_at(data, at) : 0;
        if (!batch) continue;
        budget -= (int64_t)batch;
        if (budget < 0 || digest_is_right(key, data.at + at, batch)) return true;
    }
    return false;
}

bool er_overlay_scan(er_arena *arena, er_text data, const char *shown, er_text fingerprint, const er_key *key, er_record_taker *take, void *context,
                     er_contents *found)
{
    er_error *error = arena->error;
    if (!read_header(error, data, shown, fingerprint, key, found)) return false;
    for (size_t batch; (batch = batch_at(data, found->size)) && digest_is_right(key, data.at + found->size, batch); found->size += batch) {
        const char *at = data.at + found->size;
        if (memcmp(at + 16, found->digest, ER_DIGEST) || little_endian(at + 8, 8) != found->records)
            return er_refuse(error, ER_BAD_OVERLAY, "%s: at byte %llu expected record %llu, or one of another file: something was cut out or put in; " ER_MOVE_AWAY,
                             shown, (unsigned long long)found->size, (unsigned long long)found->records);
        er_error own = {0};
        const er_place place = er_mark(arena);
        arena->error = &own;
        const bool fine = take_records(arena, (er_text){at + HEAD, batch - HEAD - ER_DIGEST}, shown, take, context, found) && !own.status;
        arena->error = error;
        er_release(arena, place);
        if (!fine) return senseless(error, shown, &own);
        memcpy(found->digest, at + batch - ER_DIGEST, ER_DIGEST);
    }
    if (!more_than_torn(data, found->size, key)) return true;
    return er_refuse(error, ER_BAD_OVERLAY, "%s: damaged at byte %llu, behind %llu good records and before others; " ER_MOVE_AWAY, shown,
                     (unsigned long long)found->size, (unsigned long long)found->records);
}

/* ---- Writing ---- */

void er_bytes_free(er_bytes *bytes)
{
    free(bytes->at);
    bytes->at = NULL;
}

void er_put(er_bytes *b, const void *data, size_t length)
{
    if (b->failed || !length) return;
    if (b->length + length > b->room) {
        const size_t room = 2 * (b->length + length) + 4096;
        uint8_t *larger = ER_ALLOCATE(room);
        if (!larger) {
            b->failed = true;
            return;
        }
        if (b->length) memcpy(larger, b->at, b->length);
        free(b->at);
        b->at = larger;
        b->room = room;
    }
    memcpy(b->at + b->length, data, length);
    b->length += length;
}

void er_put_quoted(er_bytes *b, er_text text)
{
    er_put(b, "\"", 1);
    for (size_t i = 0; i < text.length; i++) {
        const unsigned char c = (unsigned char)text.at[i];
        char escaped[8];
        if (c == '"' || c == '\\') er_put(b, (char[]){'\\', (char)c}, 2);
        else if (c < 0x20) er_put(b, escaped, er_format(escaped, sizeof escaped, "\\u%04x", c));
        else er_put(b, text.at + i, 1);
    }
    er_put(b, "\"", 1);
}

/* A byte, and a number of so many bytes behind it. */
static void put_head(er_bytes *b, unsigned byte, uint64_t value, int bytes)
{
    uint8_t head[9] = {(uint8_t)byte};
    for (int i = 0; i < bytes; i++) head[bytes - i] = (uint8_t)(value >> 8 * i);
    er_put(b, head, (size_t)bytes + 1);
}

/* A length in its shortest form: small ones are in the byte, others behind `one`, the byte for a length of one byte (0 where
   there is none), or those after it. */
static void put_length(er_bytes *b, uint64_t length, unsigned small, unsigned most_small, unsigned one, unsigned two)
{
    if (length < most_small) put_head(b, small | (unsigned)length, 0, 0);
    else if (one && length < 0x100) put_head(b, one, length, 1);
    else put_head(b, length < 0x10000 ? two : two + 1, length, length < 0x10000 ? 2 : 4);
}

static void count(er_bytes *b, uint32_t items)
{
    b->census.containers++;
    b->census.items += items;
}

void er_put_list(er_bytes *b, uint32_t items)
{
    count(b, items);
    put_length(b, items, 0x90, 16, 0, 0xdc);
}

void er_put_map(er_bytes *b, uint32_t pairs)
{
    count(b, pairs);
    put_length(b, pairs, 0x80, 16, 0, 0xde);
}

void er_put_text(er_bytes *b, er_text text)
{
    put_length(b, text.length, 0xa0, 32, 0xd9, 0xda);
    er_put(b, text.at, text.length);
}

static void put_binary(er_bytes *b, const void *data, size_t length)
{
    put_length(b, length, 0, 0, 0xc4, 0xc5);
    er_put(b, data, length);
}

void er_put_whole(er_bytes *b, int64_t value)
{
    const uint64_t size = (uint64_t)value;
    if (value >= -32 && value < 0x80) put_head(b, (uint8_t)value, 0, 0);
    else if (value >= 0) put_head(b, value < 0x100 ? 0xcc : value < 0x10000 ? 0xcd : size >> 32 ? 0xcf : 0xce, size, value < 0x100 ? 1 : value < 0x10000 ? 2 : size >> 32 ? 8 : 4);
    else put_head(b, value >= INT8_MIN ? 0xd0 : value >= INT16_MIN ? 0xd1 : value >= INT32_MIN ? 0xd2 : 0xd3, size,
                  value >= INT8_MIN ? 1 : value >= INT16_MIN ? 2 : value >= INT32_MIN ? 4 : 8);
}

void er_put_number(er_bytes *b, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    put_head(b, 0xcb, bits, 8);
}

void er_put_nothing(er_bytes *b) { put_head(b, 0xc0, 0, 0); }

void er_put_array(er_bytes *b, const char *type, uint32_t rows, uint32_t columns, const void *data)
{
    static const uint8_t zeros[ALIGNMENT] = {0};
    const size_t length = (size_t)rows * (columns ? columns : 1) * (size_t)(type[2] - '0');
    er_put_map(b, 4);
    ER_PUT(b, "dtype"), er_put_text(b, (er_text){type, 3});
    ER_PUT(b, "shape"), er_put_list(b, columns ? 2 : 1), er_put_whole(b, rows);
    if (columns) er_put_whole(b, columns);
    ER_PUT(b, "padding");
    /* Behind the padding come its own header of two bytes, the key "data" and the header of the data's length. */
    const size_t ahead = b->length - b->body + 2 + 5 + (length < 0x100 ? 2 : length < 0x10000 ? 3 : 5);
    put_binary(b, zeros, (ALIGNMENT - ahead % ALIGNMENT) % ALIGNMENT);
    ER_PUT(b, "data"), put_binary(b, data, length);
}

/* How deep a value nests was bounded when it was read. */
void er_put_value(er_bytes *b, const er_pack *value)
{
    switch ((er_pack_kind)value->kind) {
    case ER_PACK_NIL: er_put_nothing(b); break;
    case ER_PACK_BOOLEAN: put_head(b, value->truth ? 0xc3 : 0xc2, 0, 0); break;
    case ER_PACK_WHOLE: er_put_whole(b, value->whole); break;
    case ER_PACK_NUMBER: er_put_number(b, value->number); break;
    case ER_PACK_TEXT: er_put_text(b, er_pack_text(value)); break;
    case ER_PACK_BYTES: put_binary(b, value->at, value->count); break;
    case ER_PACK_ARRAY:
        er_put_list(b, value->count);
        for (uint32_t i = 0; i < value->count; i++) er_put_value(b, &value->items[i]);
        break;
    case ER_PACK_MAP:
        er_put_map(b, value->count);
        for (uint32_t i = 0; i < 2 * value->count; i++) er_put_value(b, &value->items[i]);
        break;
    }
}

static uint8_t digit(char c) { return (uint8_t)(c <= '9' ? c - '0' : c - 'a' + 10); }

void er_put_header(er_bytes *b, const uint8_t salt[ER_SALT], er_text fingerprint, er_text content_hash, const er_key *key, er_contents *contents)
{
    uint8_t header[ER_OVERLAY_HEADER + ER_DIGEST];
    const size_t length = ER_OVERLAY_HEADER + (key ? ER_DIGEST : 0);
    memcpy(header, MAGIC, MAGIC_BYTES);
    to_little_endian(header + 16, key ? KEYED : VERSION, 4);
    memcpy(header + 20, salt, ER_SALT);
    for (int i = 0; i < 32; i++) {
        header[36 + i] = (uint8_t)(digit(fingerprint.at[2 * i]) << 4 | digit(fingerprint.at[2 * i + 1]));
        header[68 + i] = (uint8_t)(digit(content_hash.at[2 * i]) << 4 | digit(content_hash.at[2 * i + 1]));
    }
    digest_of(NULL, header, ER_OVERLAY_HEADER - ER_DIGEST, header + ER_OVERLAY_HEADER - ER_DIGEST);
    if (key) digest_of(key, header, ER_OVERLAY_HEADER, header + ER_OVERLAY_HEADER);
    er_put(b, header, length);
    *contents = (er_contents){.size = length, .key = key, .census = {MOST_CONTAINERS, MOST_ITEMS}};
    memcpy(contents->digest, header + length - ER_DIGEST, ER_DIGEST);
}

void er_batch_begin(er_bytes *b, const er_contents *contents)
{
    uint8_t head[HEAD] = {0};
    memcpy(head, MARKER, sizeof MARKER);
    to_little_endian(head + 8, contents->records, 8);
    memcpy(head + 16, contents->digest, ER_DIGEST);
    er_put(b, head, sizeof head);
    b->body = b->length;
    b->census = (er_census){0, 0};
    er_put_map(b, 1);
    ER_PUT(b, "records");
    er_put_list(b, 1);
    er_put_list(b, 2);
}

bool er_batch_end(er_bytes *b, size_t begin, const char *shown, er_contents *contents, er_error *error)
{
    if (b->failed) return er_refuse(error, ER_NO_MEMORY, "%s: no memory for what is to be kept", shown);
    const size_t body = b->length - b->body;
    const uint64_t size = contents->size + HEAD + body + ER_DIGEST;
    if (body > ER_MOST_RECORD || size > ER_MOST_OVERLAY || b->census.containers > contents->census.containers || b->census.items > contents->census.items)
        return er_refuse(error, ER_NOT_KEPT, "%s: %zu bytes of records at once, and %llu in all, are more than it may hold; nothing was changed; forget something",
                         shown, body, (unsigned long long)size);
    to_little_endian(b->at + begin + 4, body, 4);
    uint8_t digest[ER_DIGEST];
    digest_of(contents->key, b->at + begin, b->length - begin, digest);
    er_put(b, digest, sizeof digest);
    if (b->failed) return er_refuse(error, ER_NO_MEMORY, "%s: no memory for what is to be kept", shown);
    memcpy(contents->digest, digest, sizeof digest);
    contents->size = size;
    contents->records++;
    contents->census.containers -= b->census.containers;
    contents->census.items -= b->census.items;
    return true;
}
