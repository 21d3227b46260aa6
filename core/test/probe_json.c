/* What er_json_read makes of a text, written out plainly: for tests/core/test_json.py. */

#include "json.h"

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

static void put_text(room *r, er_text text)
{
    char length[32];
    put(r, length, (size_t)snprintf(length, sizeof length, "s%zu:", text.length));
    put(r, text.at, text.length);
}

static void write_out(room *r, const er_json *v)
{
    char number[64];
    switch (v->kind) {
    case ER_JSON_NULL: put(r, "n", 1); break;
    case ER_JSON_BOOLEAN: put(r, v->truth ? "t" : "f", 1); break;
    case ER_JSON_NUMBER: put(r, number, (size_t)snprintf(number, sizeof number, "%c%.17g;", v->whole ? 'i' : 'd', v->number)); break;
    case ER_JSON_TEXT: put_text(r, v->text); break;
    case ER_JSON_ARRAY:
    case ER_JSON_OBJECT:
        put(r, v->keys ? "{" : "[", 1);
        for (uint32_t i = 0; i < v->count; i++) {
            if (v->keys) put_text(r, v->keys[i]);
            write_out(r, &v->items[i]);
        }
        put(r, v->keys ? "}" : "]", 1);
    }
}

/* Bytes written, or −1 with the message in `into`. */
int64_t probe_json(const char *text, size_t length, uint32_t nested, uint32_t containers, char *into, size_t size)
{
    er_error why = {0};
    er_arena arena = {.error = &why};
    const er_json *found;
    room r = {into, size};
    const bool fine = er_json_read(&arena, (er_text){text, length}, nested, containers, "here", &found);
    if (fine) write_out(&r, found);
    else put(&r, why.text, strlen(why.text) + 1);
    er_give_back(&arena);
    return fine ? r.at - into : -1;
}
