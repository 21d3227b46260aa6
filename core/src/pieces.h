/* What a request's words may give a call: its units (words, numbers and marks), the values found among them, and the runs of
   units that may be a value (8.4). Knows nothing of tools and of vectors. */

#ifndef ER_PIECES_H
#define ER_PIECES_H

#include "common.h"
#include "sayings.h"

/* Of matches and of pieces; the first fifteen are what the head has features of, all but the last are what its pieces are. */
typedef enum {
    ER_PIECE_EMAIL, ER_PIECE_URL, ER_PIECE_PATH, ER_PIECE_PHONE, ER_PIECE_DATE, ER_PIECE_TIME, ER_PIECE_MOMENT, ER_PIECE_DURATION,
    ER_PIECE_PERCENT, ER_PIECE_MONEY, ER_PIECE_NUMBER, ER_PIECE_MEASURE, ER_PIECE_QUOTED, ER_PIECE_NAME, ER_PIECE_CODE,
    ER_PIECE_ADDRESSEE, ER_PIECE_COMMAND, ER_PIECE_CHUNK, ER_PIECE_HEAD, ER_PIECE_TAIL, ER_PIECE_JOINED, ER_PIECE_REST, ER_PIECE_TOLD,
    ER_PIECE_CLAUSE, ER_PIECE_SENTENCE, ER_PIECE_SERIAL, ER_PIECE_KINDS
} er_piece_kind;

enum {
    ER_MATCH_KINDS = ER_PIECE_CODE + 1,
    ER_MOST_PIECES = 400,  /* of a request */
    ER_MOST_UNITS = 1200,  /* behind them it tells a story, */
    ER_MOST_READ = 4000,   /* as it does behind so many code points */
    ER_MOST_LEADS = 4
};

/* A word, a number, a possessive 's or one mark. */
typedef struct {
    uint32_t begin, end;        /* code points of the text, */
    uint32_t english, stop;     /* and of `english` */
    er_text lower;              /* lower case: in English, where that is known, "" for what belongs to the unit before it */
    er_text stem;               /* of a word (16.1), "" for none */
    uint64_t lists;             /* bits of the lists of pieces_data.h that `lower` is in */
    uint16_t clause;            /* its clause's number */
    bool is_word;               /* or a number; no mark */
    bool same;                  /* `lower` is its own lower case, no other language's */
} er_unit;

bool er_is_common_unit(const er_unit *); /* as er_is_common of its `lower`, at a glance */

/* Units of a kind, from the first up to the one behind the last. */
typedef struct {
    uint16_t first, last;
} er_match;

typedef struct {
    uint16_t first, last, clause;
    uint8_t kind;
    uint8_t leads;  /* units in front that lead to it, the nearest first: first - 1, first - 2, … */
    bool taken;     /* negated, or taken back: no value */
    bool joined;    /* a comma or an "and" is before it */
} er_piece;

/* A request as it is read once, whatever is called. Lives in the arena. */
typedef struct er_reading {
    er_language language;
    er_points text;              /* its first ER_MOST_READ code points */
    er_points english;           /* the same with what is known of it in English; `text` where nothing is */
    const er_unit *units;
    const er_match *matches;     /* by kind, kind k from match_starts[k] on */
    uint32_t match_starts[ER_PIECE_KINDS + 1];
    const er_piece *pieces;      /* by first unit, then by last */
    const er_text *clause_stems; /* different stems, clause c's from clause_starts[c] on */
    const uint32_t *clause_starts; /* (clauses + 1) */
    uint32_t unit_count, piece_count, clauses;
} er_reading;

/* False: no memory. */
bool er_read_pieces(er_arena *, const er_points *query, er_reading *);
/* The same of a request: a few words that are a day or a time in another language, and not in English, are in that one. */
bool er_read_request(er_arena *, const er_points *query, er_reading *);
/* The words from one unit up to another. */
er_text er_said_words(const er_reading *, uint32_t first, uint32_t last);

/* ---- What words say (16.12 has what they may be); all of English, so of `er_reading.english` ---- */

/* What "tomorrow" is counted from. `zoned`: minutes ahead of UTC are known. */
typedef struct {
    int16_t year;
    uint8_t month, day, hour, minute, second;
    bool zoned;
    int16_t zone;
} er_now;

/* What a number counts, each in its smallest unit. */
typedef enum { ER_NO_UNIT, ER_SECONDS, ER_MONTHS, ER_METRES, ER_MILES, ER_GRAMS, ER_POUNDS_WEIGHT, ER_MILLILITRES, ER_PERCENT,
               ER_CELSIUS, ER_FAHRENHEIT, ER_EURO, ER_DOLLAR, ER_POUND } er_dimension;

/* mantissa · 10^-scale, of a dimension. */
typedef struct {
    int64_t mantissa;
    uint8_t scale, dimension;
} er_amount;

typedef struct {
    int16_t year;
    uint8_t month, day;
} er_day;

typedef struct {
    uint8_t hour, minute, second;
} er_time;

typedef enum { ER_NO_HALF, ER_MORNING, ER_AFTERNOON, ER_NIGHT } er_half;

/* False: none, more than one unit's, or what may be either of two. `now` may be NULL; `past`: it lies behind. */
bool er_amount_of(er_arena *, er_text said, er_amount *);
bool er_day_of(er_arena *, er_text said, const er_now *, bool past, er_day *);
bool er_day_ahead(const er_now *, int days, er_day *);
/* Which half of it the last of some words for a day names, and a time that needs it: "at nine" names none alone. */
er_half er_half_of(er_arena *, er_text day);
bool er_time_of(er_arena *, er_text said, er_half, er_time *);
/* A unit's word: what it measures, and how many of the smallest one it is; ER_NO_UNIT for others. */
er_dimension er_unit_of(er_text word, er_amount *factor);

#endif
