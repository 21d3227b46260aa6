/* From a text to vectors (section 5): by a table or a transformer. */

#ifndef ER_ENCODE_H
#define ER_ENCODE_H

#include "common.h"
#include "model.h"
#include "msgpack.h"
#include "watch.h"

typedef struct {
    const float *vector;   /* (dimension): q */
    const float *tokens;   /* (count, dimension): token vectors, those of a prefix included */
    const er_span *spans;  /* (count): code points of prefix + text */
    uint32_t count, prefix; /* prefix: its length in code points */
} er_encoded;

/* Refuses with ER_NO_ENCODER where the stage has none. The watch may be NULL. */
bool er_encode_text(er_arena *, const er_model *, const er_stage *, const er_points *query, er_watch *, er_encoded *);
/* A tool's text, of which a transformer reads the first window. */
bool er_encode_tool(er_arena *, const er_model *, const er_stage *, const er_points *text, er_encoded *);

/* Whether a stage's encoder, if it has one, makes a unit vector of the first golden query (section 11). */
bool er_encoder_works(er_arena *, const er_model *, const er_stage *, const er_pack *golden, const char *shown);

/* The segment means (3, dimension) of section 5, of so many rows. */
void er_segments(const float *tokens, uint32_t count, uint32_t dimension, float *segments);

/* The mean (dimension) of the vectors of all tokens that have one of the code points from `begin` up to `end`, of the prefix and the
   text; `mean` holds zeros before, and behind it where there is no such token. */
void er_mean_of_tokens(const er_encoding *, uint32_t begin, uint32_t end, float *mean);

/* A word's vector of 64 numbers (5.2); `of` is the model. Fits er_vector_of. */
void er_word_vector(const void *of, er_text word, float vector[64]);

/* Reads what an encoder's ONNX file holds, by the places that the role `encoder-arrays` gives; where it is NULL, what that
   role's file holds itself. */
bool er_transformer_of(er_arena *, const uint8_t *onnx, size_t length, er_text arrays, const er_spec *, const er_transformer **);

#endif
