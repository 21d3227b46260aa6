/* What er_pack_read makes of bytes, written out plainly: for tests/core/test_msgpack.py. */

#include "msgpack.h"

#include <stdio.h>

typedef struct {
    char *at;
    size_t left;
} room;

static void put(room *r, const char *text, size_t length)
{
    if (length > r->left) length = r->left;
    memcpy(r->at, text, length);
    r->at += length;
    r->left -= length;
}

static void write_out(room *r, const er_pack *v)
{
    char number[64];
    int length = 0;
    switch (v->kind) {
    case ER_PACK_NIL: put(r, "n", 1); return;
    case ER_PACK_BOOLEAN: put(r, v->truth ? "t" : "f", 1); return;
    case ER_PACK_WHOLE: length = snprintf(number, sizeof number, "i%lld;", (long long)v->whole); break;
    case ER_PACK_NUMBER: length = snprintf(number, sizeof number, "d%.17g;", isnan(v->number) ? (double)NAN : v->number); break;
    case ER_PACK_TEXT:
    case ER_PACK_BYTES: length = snprintf(number, sizeof number, "%c%u:", v->kind == ER_PACK_TEXT ? 's' : 'b', v->count); break;
    default: length = snprintf(number, sizeof number, "%c%u:", v->kind == ER_PACK_ARRAY ? '[' : '{', v->count);
    }
    put(r, number, (size_t)length);
    if (v->kind == ER_PACK_TEXT || v->kind == ER_PACK_BYTES) put(r, v->at, v->count);
    else if (v->kind >= ER_PACK_ARRAY)
        for (uint32_t i = 0; i < (v->kind == ER_PACK_MAP ? 2 : 1) * v->count; i++) write_out(r, &v->items[i]);
}

/* Bytes written, or −1 with the message in `into`. */
int64_t probe_msgpack(const char *bytes, size_t length, char *into, size_t size)
{
    er_error why = {0};
    er_arena arena = {.error = &why};
    const er_pack *found;
    room r = {into, size};
    const bool fine = er_pack_read(&arena, (er_text){bytes, length}, "here", &found);
    if (fine) write_out(&r, found);
    else put(&r, why.text, strlen(why.text) + 1);
    er_give_back(&arena);
    return fine ? r.at - into : -1;
}
