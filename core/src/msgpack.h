/* msgpack (FORMAT.md 2.3, 2.4), read strictly and counted before anything is allocated; and fields of its maps, checked by
   type and range. Arrays of numbers are views into the bytes, which have to stay. Knows nothing of what they mean. */

#ifndef ER_MSGPACK_H
#define ER_MSGPACK_H

#include "common.h"

typedef enum { ER_PACK_NIL, ER_PACK_BOOLEAN, ER_PACK_WHOLE, ER_PACK_NUMBER, ER_PACK_TEXT, ER_PACK_BYTES, ER_PACK_ARRAY, ER_PACK_MAP } er_pack_kind;

typedef struct er_pack er_pack;

struct er_pack {
    uint32_t kind;
    uint32_t count; /* bytes of a text, entries of an array, pairs of a map */
    union {
        bool truth;
        int64_t whole;        /* INT64_MAX for what is larger */
        double number;
        const char *at;       /* of texts and bytes */
        const er_pack *items; /* of an array; of a map key, value, key, value … */
    };
};

/* A map and nothing behind it. `where` begins the messages. */
bool er_pack_read(er_arena *, er_text bytes, const char *where, const er_pack **);

/* How many maps and arrays, and entries of them, may still come: of several texts together. */
typedef struct {
    uint64_t containers, items;
} er_census;

bool er_pack_counted(er_arena *, er_text bytes, const char *where, er_census *, const er_pack **);

/* The value of a key, NULL where there is none. */
const er_pack *er_pack_get(const er_pack *map, const char *key);

static inline er_text er_pack_text(const er_pack *value) { return (er_text){value->at, value->count}; }

/* ---- Fields: each refuses what is missing, of another type, or out of its range ---- */

typedef struct {
    er_arena *arena;
    const er_pack *map;
    const char *where;
} er_fields;

bool er_field_map(const er_fields *, const char *key, er_fields *inner);
bool er_field_list(const er_fields *, const char *key, const er_pack **);
bool er_field_text(const er_fields *, const char *key, er_text *);
bool er_field_truth(const er_fields *, const char *key, bool *);
bool er_field_whole(const er_fields *, const char *key, int64_t low, int64_t high, int64_t *);
bool er_field_number(const er_fields *, const char *key, double low, double high, double *);
bool er_field_texts(const er_fields *, const char *key, const er_text **, uint32_t *count);

/* ---- Arrays of numbers ---- */

enum { ER_ANY = -1 };

typedef struct {
    const void *at;
    uint32_t rows, columns; /* columns: 1 of an array with one dimension */
} er_array;

/* Of a type as in 2.4, with two dimensions, or one if `columns` is 0; sizes may be ER_ANY. Floats are finite and of a
   magnitude of at most 1e9. Numbers lie at a multiple of their size: they are copied if they do not in the file. */
bool er_field_array(const er_fields *, const char *key, const char *type, int64_t rows, int64_t columns, er_array *);

/* The same of `<f2`, as floats of their own. */
bool er_field_halves(const er_fields *, const char *key, int64_t rows, int64_t columns, er_array *);

float er_of_half(uint16_t); /* a number of 16 bits */

/* A map whose fields are as they must be, but not what they say: false, and "where: what; build the bundle again". */
bool er_field_refuse(const er_fields *, const char *what);

#endif
