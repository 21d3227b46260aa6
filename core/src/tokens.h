/* From a text to tokens (section 5): WordPiece, WordLevel and Unigram as the file `tokenizer.json` says. Knows nothing of
   vectors. */

#ifndef ER_TOKENS_H
#define ER_TOKENS_H

#include "common.h"

typedef struct er_tokenizer_parts er_tokenizer_parts;

typedef struct {
    const er_tokenizer_parts *parts;
    uint32_t ids; /* how many there are, added tokens included */
} er_tokenizer;

/* Tokens of a text, with where each stands in it, in code points of the text as it was given. */
typedef struct {
    const uint32_t *ids;
    const er_span *spans;
    uint32_t count;
} er_tokens_found;

/* Reads tokenizer.json, which must stay where it is. Refuses (ER_BAD_BUNDLE) what section 5 does. */
bool er_tokenizer_of(er_arena *, er_text json, er_tokenizer *);

/* All tokens of a text without special ones, not cut. */
bool er_tokenize(er_arena *, const er_tokenizer *, const er_points *, er_tokens_found *);

/* The ids that the post-processor puts before and behind a single sequence. */
void er_special(const er_tokenizer *, const uint32_t **before, uint32_t *before_count, const uint32_t **behind, uint32_t *behind_count);

#endif
