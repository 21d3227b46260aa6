/* JSON, read strictly (RFC 8259, UTF-8): no key twice in an object, no half of a surrogate pair, bounded in depth and
   number. */

#ifndef ER_JSON_H
#define ER_JSON_H

#include "common.h"

typedef enum { ER_JSON_NULL, ER_JSON_BOOLEAN, ER_JSON_NUMBER, ER_JSON_TEXT, ER_JSON_ARRAY, ER_JSON_OBJECT } er_json_kind;

typedef struct er_json er_json;

struct er_json {
    er_json_kind kind;
    bool truth;
    bool whole;           /* a number without point and exponent */
    double number;
    er_text text;         /* of a text: what it says, escapes undone; it may hold zero bytes */
    er_text raw;          /* of everything: as it stands in the file */
    const er_json *items; /* of an array or an object, `count` of them */
    const er_text *keys;  /* of an object */
    uint32_t count;
};

/* Reads the one value of a text; nothing may stand behind it but white space. At most so many arrays and objects inside
   each other (64), and so many in all. Refuses with ER_BAD_BUNDLE, naming `where`. */
bool er_json_read(er_arena *, er_text, uint32_t most_nested, uint32_t most_containers, const char *where, const er_json **);

/* digits · 10^exponent, of at most 19 digits. */
double er_decimal(uint64_t digits, int64_t exponent);

/* The value of a key, or NULL: also where `of` is NULL or no object. */
const er_json *er_json_get(const er_json *of, const char *key);

#endif
