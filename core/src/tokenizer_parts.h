/* What the files of the tokenizer share: its parts, and texts on their way to tokens. */

#ifndef ER_TOKENIZER_PARTS_H
#define ER_TOKENIZER_PARTS_H

#include "json.h"
#include "letters.h"
#include "tokens.h"

/* ---- A vocabulary: texts to numbers ---- */

typedef struct {
    const char *texts;      /* all pieces, one after the other */
    const uint32_t *starts; /* (count + 1) */
    const uint32_t *ids;    /* (count) */
    const uint32_t *slots;  /* by hash: number of a piece and 1, with some of its hash's bits above; 0: none */
    uint32_t shift, mask;
    uint32_t count;
    uint64_t seed;
    uint32_t longest;      /* bytes of the longest piece */
    const double *scores;  /* (count), of Unigram alone; ids are places then */
    const uint16_t *reaches; /* (REACHES): of Unigram: bytes of the longest piece that begins with these four, by their hash */
} er_vocabulary;

enum { ER_MISSING = UINT32_MAX, REACHES = 1 << 16, PIECE_BITS = 20, MOST_PIECES = 1 << 19 };

static inline uint64_t er_hashed(uint64_t hash, char c) { return (hash ^ (uint8_t)c) * 0x100000001b3u; }

uint32_t er_find_piece(const er_vocabulary *, uint64_t hash, const char *text, size_t length);

static inline uint32_t er_find_text(const er_vocabulary *v, er_text text)
{
    uint64_t hash = v->seed;
    for (size_t i = 0; i < text.length; i++) hash = er_hashed(hash, text.at[i]);
    return er_find_piece(v, hash, text.at, text.length);
}

/* How many bytes a piece that a text begins with can have at most; of Unigram. */
uint32_t er_reach(const er_vocabulary *, const char *text, size_t length);

/* Reads the JSON value of a model's `vocab`: an object of texts and their numbers, or with `scored` an array of texts and
   scores. */
bool er_vocabulary_of(er_arena *, er_text json, uint32_t texts, bool scored, er_vocabulary *);

/* Finds in a tokenizer.json where the value of `vocab` stands in `model`; an empty text where it is not found. And how many
   texts it holds. */
er_text er_find_vocabulary(er_text json, uint32_t *texts);

/* ---- A text on its way: code points as they are now, with where each comes from ---- */

typedef struct {
    uint32_t point, begin, end; /* begin and end: code points of the text as it was given */
} er_glyph;

typedef struct {
    er_glyph *at;
    uint32_t count, room;
    uint32_t origin; /* where the piece of the text begins that it is */
} er_run;

bool er_run_add(er_arena *, er_run *, er_glyph);

/* ---- Parts ---- */

typedef enum {
    ER_BERT_NORMALIZER, ER_STRIP, ER_LOWERCASE, ER_STRIP_ACCENTS, ER_FORM_NFC, ER_FORM_NFD, ER_FORM_NFKC, ER_FORM_NFKD,
    ER_PRECOMPILED, ER_REPLACE
} er_normalizer_kind;

typedef struct {
    const uint32_t *units; /* the double array */
    uint32_t unit_count;
    const char *texts;     /* each ends with a zero byte */
    size_t text_length;
} er_charsmap;

typedef struct {
    er_normalizer_kind kind;
    bool clean_text, chinese, accents, lowercase; /* of BertNormalizer */
    bool left, right;                             /* of Strip */
    er_charsmap map;                              /* of Precompiled */
    uint32_t content;                             /* of Replace: the code point */
} er_normalizer;

typedef enum { ER_BERT_SPLIT, ER_WORDS, ER_BLANKS, ER_PUNCTUATION, ER_DIGITS, ER_METASPACE } er_splitter_kind;
typedef enum { ER_REMOVED, ER_ISOLATED, ER_WITH_PREVIOUS, ER_WITH_NEXT, ER_CONTIGUOUS } er_behaviour;
typedef enum { ER_ALWAYS, ER_FIRST, ER_NEVER } er_prepending;

typedef struct {
    er_splitter_kind kind;
    er_behaviour behaviour; /* of Punctuation and Digits */
    er_prepending prepends; /* of Metaspace */
    bool splits;
} er_splitter;

typedef struct {
    const uint32_t *points; /* what is looked for */
    uint32_t length, id, order;
    bool single_word, left, right;
} er_added;

/* Added tokens, rising by their code points; `firsts` has a bit for each value of a first one's lowest six bits. */
typedef struct {
    const er_added *tokens;
    uint32_t count;
    uint64_t firsts;
} er_added_set;

typedef enum { ER_WORD_PIECE, ER_WORD_LEVEL, ER_UNIGRAM } er_model_kind;

enum { MOST_STEPS = 8, MOST_SPECIAL = 16 * 8, LONGEST_WORD = 200, LONGEST_PREFIX = 16 };

struct er_tokenizer_parts {
    er_model_kind kind;
    er_vocabulary vocabulary;
    uint32_t unknown;
    char prefix[LONGEST_PREFIX * 4]; /* of pieces that go on with a word */
    uint32_t prefix_length, longest_word;
    uint64_t prefix_hash;
    double unknown_score;
    er_normalizer normalizers[MOST_STEPS];
    er_splitter splitters[MOST_STEPS];
    uint32_t normalizer_count, splitter_count;
    er_added_set plain, normalized;
    uint32_t before[MOST_SPECIAL], behind[MOST_SPECIAL];
    uint32_t before_count, behind_count;
    bool takes_spaces; /* a word's first token stands for the space before it, too */
    bool trims, trims_first; /* RobertaProcessing takes spaces out of places, of the first token all but one or all */
    bool quick;        /* printable ASCII is read in one go, by `kinds` and `folded` */
    uint8_t kinds[128];
    char folded[128];
};

enum { QUICK_OTHER, QUICK_SPACE, QUICK_LETTER, QUICK_MARK };

/* Where tokens go. */
typedef struct {
    er_arena *arena;
    uint32_t *ids;
    er_span *spans;
    uint32_t count, room;
} er_tokens_made;

/* A token that is this piece of a run. */
bool er_made_add(er_tokens_made *, const er_tokenizer_parts *, const er_run *, er_span piece, uint32_t id);

/* Normalises a piece of a text in place. */
bool er_normalize_run(er_arena *, const er_normalizer *, uint32_t count, er_run *);

/* Where pieces of a run begin and end, places of its code points. */
typedef struct {
    er_span *at;
    uint32_t count, room;
} er_pieces;

bool er_pieces_add(er_arena *, er_pieces *, er_span);

/* Cuts every piece of a run, by one pre-tokenizer; Metaspace changes the run. */
bool er_split_run(er_arena *, const er_splitter *, er_run *, er_pieces *);

/* Tokens of a piece of a run, whose UTF-8 has the code point i at starts[i]. */
bool er_word_piece(const er_tokenizer_parts *, const er_run *, er_span, const char *bytes, const uint32_t *starts, er_tokens_made *);
bool er_unigram(er_arena *, const er_tokenizer_parts *, const er_run *, er_span, const char *bytes, const uint32_t *starts, er_tokens_made *);

/* Of printable ASCII: how many tokens, with room for `length`; ER_MISSING for a text that has to be read otherwise. */
uint32_t er_quick_tokens(const er_tokenizer_parts *, const char *text, uint32_t length, uint32_t *ids, er_span *spans);

bool er_charsmap_of(er_arena *, er_text base64, er_charsmap *);
/* What it makes of a text, which begins in `texts` and ends with a zero byte; NULL for nothing else. */
const char *er_charsmap_find(const er_charsmap *, const char *text, size_t length);

/* What added tokens are looked for by. */
typedef struct {
    er_text content;
    uint32_t id;
    bool special, normalized, single_word, left, right;
} er_added_told;

enum { MOST_ADDED = 1024 };

/* Reads all of tokenizer.json, of which `json` has everything but the vocabulary's entries: these are in `vocabulary`, as
   many `texts`. Then added tokens, and how many ids there are. */
bool er_read_parts(er_arena *, const er_json *json, er_text vocabulary, uint32_t texts, er_tokenizer_parts *, er_added_told *,
                   uint32_t *added, uint32_t *ids);

#endif
