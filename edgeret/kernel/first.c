/* What a new query needs before its first step, since numpy spends most of it on being called: edgeret_look_up does what
   StaticEncoder (static.py) does with token numbers, edgeret_spans and edgeret_passages what passages (evidence.py),
   edgeret_overlaps what Lexicon.overlaps (lexicon.py), edgeret_static what Reading (reading.py), edgeret_locate what
   Graph.locate (graph.py), edgeret_query_logits what FactoredHead.query_logits (head.py), edgeret_spell what spelling
   (spelling.py), edgeret_products what product (products.py), edgeret_log_shares what log_shares (log_shares.py), and
   edgeret_fuse, edgeret_unseen and edgeret_exponentials what Calibration (calibration.py) fuses by, gives tools without
   demonstrations and begins to calibrate with. Tests hold them to the same numbers. first_body.h has them all, and is
   compiled once for every set of instructions. Knows nothing of Python; whoever calls vouches for all lengths. */

#include <string.h>

#include "arithmetic.h"

static const float LEAST_SQUARE = 1e-24f;

/* Where the words of a set of tools are: those of word w at places[starts[w]] to places[starts[w + 1]]; a place is a
   tool's position, with the number of tools added once for the text and twice for the parameters. */
typedef struct {
    int64_t tools;
    const int64_t *starts, *places;
    const float *rarity;                             /* (words) */
    const float *per_name, *per_parameters, *per_text; /* (tools) each */
} Postings;

enum { BY_NAME, BY_PARAMETERS, BY_COVERAGE, BY_TEXT, FIELDS };

/* As in evidence.py: tokens of a window, and from one window's first to the next one's; and of a long request the most. */
enum { WINDOW = 8, STRIDE = 4, MOST_WINDOWS = 24, MOST_CLAUSES = 24, MOST_PASSAGES = MOST_WINDOWS + 2 + MOST_CLAUSES };
int64_t edgeret_clauses(const char *text, int64_t length, int64_t least, int64_t most, int64_t *spans);

/* Flow of one kind: pairs of a taker and a giver, and what one giver of the taker counts for; what a tool weighs that
   gives to what is wanted. */
typedef struct {
    int64_t pairs;
    const int64_t *takers, *givers;
    const float *shares; /* (pairs) */
    double weight;
} Flow;

/* The tools that a query is read among. */
typedef struct {
    int64_t tools, end;
    float name, parameters, coverage, text, window, clause; /* what each weighs */
    float third, next_clause, later;                        /* and before any call */
    const float *owed;                                      /* (tools): what needing another tool costs then, or NULL */
    Flow flows[2];
} Tools;

/* Unit rows that a vector is compared with: as they are; in bytes, with what one counts for; and how far the bytes are
   from the rows, at most. */
typedef struct {
    int64_t rows, dimension;
    const float *exact;
    const int8_t *few;
    const float *scales, *errors; /* (rows) each */
} Centroids;

typedef struct {
    float value;
    int64_t row;
} Near;

enum { MOST_NEAREST = 64, MOST_DIMENSION = 4096 };

/* What followed the shortest context of all: its rows, from and to, the first counting all demonstrations. */
typedef struct {
    int64_t row, row_stop, labels;
    const int64_t *row_clusters, *stops, *targets;
    const float *counts, *anywhere;
    double cluster_prior, temperature;
} Beginning;

/* What a head's logits add to the query's own part. */
typedef struct {
    int64_t labels, calls, mixed;  /* numbers of calls told apart; the query and its parts */
    int64_t dimension;
    const float *weights;          /* (labels, dimension) */
    const float *by_calls;         /* (calls, labels) */
    const int64_t *stages;         /* (calls): rows of the mixture */
    const float *mixture;          /* (stages, mixed) */
    const int8_t *spelling;        /* (buckets, labels) */
    const float *scales;           /* (labels): what one of these counts for */
    double prior_weight;
} Logits;

enum { BUCKETS = 1024 };

/* Rows that are multiplied with sixteen columns at once: as many sums as there are registers of 32 bytes, less those for
   what is multiplied. */
enum { TALL = 6 };

#define SET generic
#include "first_body.h"
#undef SET

#if defined(__x86_64__) && defined(__GNUC__)
#define SET avx2
BEGIN("avx2,fma")
#include "first_body.h"
END
#undef SET
#endif
