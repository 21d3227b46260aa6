/* A loaded bundle, to all who decide: views that nobody writes once load.c has proved them. All tools are in the index's
   order; sections are those of docs/FORMAT.md. */

#ifndef ER_MODEL_H
#define ER_MODEL_H

#include <stdatomic.h>

#include "common.h"
#include "lexicon.h"
#include "sayings.h"
#include "tokens.h"

typedef struct {
    er_text name, description;
    er_text definition;       /* the JSON object, as it stands in tools.json */
    er_text parameters;       /* the JSON Schema's text, a part of it */
    double risk;              /* 0: none of its own */
    bool confirm;
    const er_text *examples;  /* sentences that it shows, where their vectors are in the index */
    uint32_t example_count;
    bool given;               /* by er_with_tools: its texts are in the model's own arena, and not in the bundle */
} er_tool;

/* Section 5. */
typedef struct {
    uint32_t dimension, max_tokens;
    er_text query_prefix, tool_prefix, precision;
    er_text fingerprint; /* section 4: 64 digits */
} er_spec;

/* Section 5.1: a vector for every token. */
typedef struct {
    const int8_t *rows; /* (tokens, dimension) */
    const float *scales; /* (tokens) */
    uint32_t tokens;
} er_table;

typedef struct er_transformer er_transformer; /* encode.h */
typedef struct er_names er_names;             /* names.h */
typedef struct er_hnsw er_hnsw;               /* hnsw.h */
struct er_stored_arguments;                   /* arguments.h */

/* Section 5.2: 64 numbers of 4 bits a piece. */
typedef struct {
    const uint8_t *pairs; /* (pieces, 32) */
    const float *scales;  /* (pieces) */
    uint32_t pieces;
} er_word_vectors;

/* Section 6: unit rows, and those of examples. */
typedef struct {
    const float *vectors; /* (held, dimension): zeros for tools that are gone */
    const int8_t *examples; /* (example_count, dimension), NULL where none are there, or all are wide */
    const float *example_scales;
    const float *wide_examples;     /* (example_count, dimension): of a model that was given some, in their place */
    const uint32_t *example_starts; /* (held + 1), NULL where none are there */
    const float *example_twins;     /* (example_count): ln(c) / 10 of section 16.5 */
    uint32_t example_count;
} er_index;

/* Section 7. */
typedef struct {
    uint32_t order, nearest, clusters, rows;
    double temperature, cluster_prior, global_prior, cluster_share, repeat_factor;
    const float *centroids;                       /* (clusters, dimension) */
    const int8_t *near;                           /* the same in blocks of bytes (vectors.h), to leave out what is far; NULL: of few */
    const float *near_scales, *near_errors;       /* (clusters, and up to a whole block) */
    uint32_t near_blocks;
    const int32_t *keys, *starts, *targets;       /* (rows, order + 2), (rows + 1), (entries) */
    const float *counts;                          /* (entries) */
    const er_span *contexts;                      /* (context_mask + 1): by a context's hash its rows, none where there is none */
    uint32_t context_mask;
} er_graph;

/* Of a key without its cluster. */
static inline uint32_t er_graph_hash(const int32_t *context, uint32_t length)
{
    uint64_t hash = 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < length; i++) {
        hash = (hash ^ (uint32_t)context[i]) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return (uint32_t)(hash ^ hash >> 29);
}

/* The rows of a context: GLOBAL's, and behind it those of clusters, which rise. Both ends are 0 where nobody met it. */
static inline er_span er_graph_rows(const er_graph *g, const int32_t *context)
{
    const uint32_t length = g->order + 1;
    for (uint32_t at = er_graph_hash(context, length) & g->context_mask;; at = (at + 1) & g->context_mask) {
        const er_span rows = g->contexts[at];
        if (!rows.end || !memcmp(g->keys + (size_t)rows.begin * (length + 1) + 1, context, length * sizeof *context)) return rows;
    }
}

/* Section 8.1. Halves are floats here. */
typedef struct {
    const int8_t *weights;       /* (labels, dimension) */
    const float *weight_scales, *bias;
    const int32_t *starts, *followers; /* (2 labels + 1), (entries) */
    const float *values, *count; /* (entries), (count_rows, labels) */
    const float *segment_weights; /* (stages, 3) */
    const int8_t *buckets;       /* (1024, bucket_labels): the same by bucket; NULL: of many labels, or of half bytes */
    uint32_t bucket_labels;
    const uint8_t *spelling;     /* (labels, spelling_bytes): 1024 bytes, or 512 of two numbers each */
    const float *spelling_scales;
    uint32_t count_rows, stages, spelling_bytes;
    double description_weight, prior_weight;
    bool prior_steps;
    const float *popular;        /* (tools): by tool, 0 for what is not listed */
    float popular_end;           /* that of `<end>` */
    const er_text *popular_names; /* (popular_count): as the file lists them, for tools that come */
    const float *popular_values;
    uint32_t popular_count;
} er_head;

/* Section 8.2. */
typedef struct {
    const float *vectors;  /* (plans, dimension) */
    const int32_t *starts, *calls; /* (plans + 1), (entries) */
    uint32_t plans;
} er_memory;

/* Section 8.3. */
typedef struct {
    const int32_t *tools; /* (rows): label numbers */
    const float *means;   /* (rows, dimension) */
    const float *counts;  /* (rows) */
    uint32_t rows;
    double no_tool, edge;
} er_familiarity;

/* Section 9. */
typedef struct {
    double head_weight, graph_weight, memory_weight, later_head_weight, later_graph_weight;
    double unseen_bias, added_bias, min_probability;
    const float *map, *prior_map; /* (map_rows, 2), (prior_map_rows, 2) */
    const float *right, *first_floors, *later_floors; /* (right_count), (100), (100) */
    uint32_t map_rows, prior_map_rows, right_count;
} er_calibration;

/* Section 16: weights in the order of its table. */
enum { ER_TOOL_NAME, ER_TOOL_PARAMETERS, ER_TOOL_COVERAGE, ER_TOOL_TEXT, ER_TOOL_WINDOW, ER_TOOL_CLAUSE, ER_TOOL_NEXT_CLAUSE,
       ER_TOOL_THIRD, ER_TOOL_LATER, ER_TOOL_RELATED, ER_TOOL_WAS_CALLED, ER_TOOL_STILL_NEEDED, ER_TOOL_GIVES,
       ER_TOOL_KEY_WAS_CALLED, ER_TOOL_KEY_STILL_NEEDED, ER_TOOL_KEY_GIVES, ER_TOOL_SPENT_NAME, ER_TOOL_SPENT_COVERAGE,
       ER_TOOL_DUE, ER_TOOL_OPPOSED, ER_TOOL_AGREES, ER_TOOL_VALUES, ER_TOOL_WEIGHTS };
enum { ER_LAST_CONSTANT, ER_LAST_WORDS_BY_CALL, ER_LAST_LEAST_WINDOW, ER_LAST_LEAST_CLAUSE, ER_LAST_DROP, ER_LAST_BEST,
       ER_LAST_WINDOWS_LEFT, ER_LAST_TOOLS, ER_LAST_FRESH_NAME, ER_LAST_FRESH_COVERAGE, ER_LAST_FRESH_WINDOW,
       ER_LAST_FRESH_CLAUSE, ER_LAST_UNUSED, ER_LAST_KEY_UNUSED, ER_LAST_OPEN, ER_LAST_OPEN_CLEAR, ER_LAST_ANSWERED,
       ER_LAST_WEIGHTS };
enum { ER_NOTHING_CONSTANT, ER_NOTHING_BEST, ER_NOTHING_COSINE, ER_NOTHING_WINDOW, ER_NOTHING_NAME, ER_NOTHING_TOOLS,
       ER_NOTHING_EXPLAINED, ER_NOTHING_WORDS, ER_NOTHING_QUESTION, ER_NOTHING_EXPLAINS, ER_NOTHING_BARE,
       ER_NOTHING_WEIGHTS };
enum { ER_SEARCH_WINDOW, ER_SEARCH_CLAUSE_LEAD, ER_SEARCH_NAME, ER_SEARCH_COVERAGE, ER_SEARCH_TEXT, ER_SEARCH_PARAMETERS,
       ER_SEARCH_WEIGHTS };
enum { ER_WISH_COSINE, ER_WISH_APART, ER_WISH_NAME, ER_WISH_COVERAGE, ER_WISH_WEIGHTS };

typedef struct {
    double tool[ER_TOOL_WEIGHTS], end[ER_LAST_WEIGHTS], nothing[ER_NOTHING_WEIGHTS], search[ER_SEARCH_WEIGHTS];
    double wish[ER_WISH_WEIGHTS], values[ER_VALUES];
} er_prior;

/* Everything that one encoder's word rests on; section 17 has two of them in a bundle. */
typedef struct {
    er_spec spec;
    const er_table *table;             /* either this, */
    const er_transformer *transformer; /* or this, */
    const er_encoder *outside;         /* or the caller's; or none: then vectors come from outside */
    er_index index;
    const er_hnsw *hnsw;       /* of very many tools; NULL: all are compared */
    bool has_head, has_memory; /* a graph is there where a head is */
    er_graph graph;
    er_head head;
    er_memory memory;
    er_familiarity familiarity;
    er_calibration calibration;
    uint32_t label_count;      /* L, `<end>` among them and the last; 1 without a head */
    const int32_t *label_tools; /* (L): the label's tool, one of those that are gone where it is not there, ER_END for `<end>` */
    const er_names *names;     /* what is decided between; load.c has it made by er_names_of when all else is there */
} er_stage;

/* What search reads, where labels' tools are gone: words of those that are there alone. */
typedef struct {
    er_lexicon lexicon;
    er_habits habits;
} er_searched;

struct er_model {
    er_arena arena;
    atomic_uint holders;      /* handles, and models that were made of this one */
    er_model *root;           /* the loaded model that this one was made of, and shares with; NULL: loaded itself */
    er_text content_hash;
    const er_tool *tools;
    uint32_t tool_count;
    uint32_t held;            /* tools, and behind them those that labels name and that are gone: a name, and nothing else */
    er_prior prior;
    er_lexicon lexicon;       /* what words tools have */
    er_habits habits;         /* sides, values, what changes something (16.10, 16.12, 16.13) */
    er_flow flow;             /* who takes what whom gives (16.3) */
    const er_searched *searched; /* NULL: as above */
    er_text tool_text;        /* `info.recipe.tool_text` (section 6), empty where nobody says */
    er_tokenizer tokenizer;
    er_word_vectors word_vectors;
    er_stage full, small;     /* `small` where has_small */
    bool has_small, has_full, arranged_words; /* arranged_words: the bundle has the role `words` */
    const float *losses, *least; /* (cascade_count): section 17 */
    uint32_t cascade_count;
    const struct er_stored_arguments *arguments; /* what reads the arguments of calls (8.4); NULL: by rules alone */
    double cascade_nothing, cascade_declines, cascade_least; /* cascade_least: what was chosen by most_loss */
    int32_t threads;
    const er_encoder *outside; /* the caller's, in the place of the bundle's own; NULL: none */
    er_index_kind index_kind;
    void *files; /* load.c's: maps to be given back */
};

static inline bool er_encodes(const er_stage *stage) { return stage->table || stage->transformer || stage->outside; }

static inline er_described er_described_of(const er_tool *tool)
{
    return (er_described){{tool->name, tool->description, tool->parameters}, tool->examples, tool->example_count};
}

/* ---- load.c ---- */

/* Where tools are found by name, from `tools` and `tool_count`. */
bool er_place_tools(er_arena *, er_model *);
/* The place of a name among all that are held, −1 for a stranger's. */
int64_t er_held_find(const er_model *, er_text name);

/* One more holder of a model, whom er_free takes off again. */
er_model *er_held(const er_model *);

#endif
