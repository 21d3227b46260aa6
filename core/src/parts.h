/* From a bundle's files to what er_model says they are: every number is proved before it is used. Each part refuses what
   FORMAT.md says of it, and what belongs to another encoder. Decides nothing. */

#ifndef ER_PARTS_H
#define ER_PARTS_H

#include "common.h"
#include "manifest.h"
#include "model.h"

/* A bundle, or the stage that decides first (section 17), which is a bundle of its own: files whose roles begin with
   `static-` play the roles behind that, and `own` stands in front of `info`. */
typedef struct er_part {
    er_arena *arena;
    const char *shown; /* what messages call the bundle */
    const er_manifest *manifest;
    const er_text *contents; /* by the manifest's entries; nothing where a file was not read */
    er_fields info, own;
    bool first_stage;
    er_text fingerprint; /* set by er_spec_part */
} er_part;

/* `SHOWN (WHAT)`, for messages. NULL: no memory. */
const char *er_where(const er_part *, const char *what);

const er_entry *er_part_entry(const er_part *, const char *role); /* NULL: nobody plays it */
bool er_part_file(const er_part *, const char *role, er_text *);
bool er_part_map(const er_part *, const char *role, er_fields *);   /* a file's map */
bool er_owned_map(const er_part *, const char *role, er_fields *);  /* the same, of this very encoder (section 4) */
const er_pack *er_part_info(const er_part *, const char *key);      /* of `own`, or else of `info`; NULL: not there */
bool er_info_map(const er_part *, const char *key, er_fields *);
bool er_is_owner(const er_fields *, er_text fingerprint);

/* Section 5 and 4: the spec, and whether the fingerprint is that of spec, weights and tokenizer. */
bool er_spec_part(er_part *, er_spec *);
bool er_spec_of(const er_fields *, er_spec *); /* the spec alone */

/* Sections 5.1 and 5.2, of a tokenizer with so many ids. */
bool er_table_part(const er_part *, const er_spec *, uint32_t ids, const er_table **);
bool er_word_vectors_part(const er_part *, uint32_t ids, er_word_vectors *);

/* Sections 6 and 6.2. */
bool er_index_part(const er_part *, const er_spec *, er_index *, const er_text **names, uint32_t *tools);
bool er_words_part(const er_part *, uint32_t tools, er_arranged_words *);

/* Sections 7, 8 and 8.2, if the bundle has a head. `names` are the index's. */
bool er_heads_part(const er_part *, const er_text *names, uint32_t tools, er_stage *, const er_text **labels);
bool er_graph_part(const er_part *, const er_spec *, const er_text *labels, uint32_t label_count, er_graph *);

/* Section 8.3, of so many labels. */
bool er_familiarity_part(const er_part *, const er_spec *, uint32_t labels, er_familiarity *);

/* Sections 9, 16 and 17. */
bool er_calibration_part(const er_part *, er_calibration *);
bool er_prior_part(const er_part *, er_prior *);
bool er_cascade_part(const er_part *, er_model *);

/* Section 6: the tools with these names, in this order; and what their words are found in: of the examples those of tools
   whose examples this index has. */
bool er_tools_part(const er_part *, const er_text *names, uint32_t tools, const er_index *, const er_tool **, const er_described **);

/* Sections 3, 10 and 18: languages, planner, variants. */
bool er_others_part(const er_part *);

/* ---- For tools that come and go ---- */

/* One tool's definition as somebody gives it, which stays: checked as a bundle's is, and refused with ER_BAD_INPUT, naming
   `where`. What is decoded of it is in the first arena; the second one is released. */
bool er_tool_given(er_arena *, er_arena *scratch, er_text definition, const char *where, er_tool *);

/* Whether a text is such as tools may be called (section 6). */
bool er_is_tool_name(er_text);

/* Popularity by tool, from what the head lists; of this very index's examples, how many are alike (16.5). */
bool er_popular_of(er_arena *, const er_text *names, uint32_t tools, er_head *);
bool er_twins_of(er_arena *, er_index *, uint32_t dimension);

/* ---- For parts ---- */

/* Whether rows are of length 1: squared, within 0.01. */
bool er_units(const float *rows, uint32_t count, uint32_t dimension);

/* Numbers that scale rows of bytes: of so many, from 0 to 1,000,000. */
bool er_field_scales(const er_fields *, const char *key, uint32_t rows, const float **);

/* First 0, last `end`, never falling; or strictly rising. */
bool er_spans_hold(const int32_t *starts, uint32_t count, uint32_t end, bool rising);

bool er_contradicts(const er_fields *); /* refuses */

#endif
