/* The arguments of a call (8.4): what a bundle has for them, what a tool's parameters take, and what of a request is whose
   value. `er_arguments` (fill.c) puts it together; all other files here know one part of it. */

#ifndef ER_ARGUMENTS_H
#define ER_ARGUMENTS_H

#include "common.h"
#include "json.h"
#include "model.h"
#include "msgpack.h"
#include "pieces.h"

enum {
    ER_ARG_WIDTH = 128, ER_ARG_LONGEST = 24, ER_ARG_RELATIONS = 3, ER_ARG_UNIT_FEATURES = 65, ER_ARG_OPTION_FEATURES = 4,
    ER_ARG_PARAMETER_FEATURES = 24,
    ER_ARG_STEP = 16, /* numbers that the head multiplies at a time: rows of vectors have a multiple of it */
    ER_MOST_PARAMETERS = 400, ER_MOST_WANTED = 64, ER_MOST_OPTIONS = 400, ER_MOST_UNITS_READ = 400
};

/* Kinds of parameters, in the order of the head's features; an object and a list of objects are nested. */
typedef enum {
    ER_KIND_EMAIL, ER_KIND_URL, ER_KIND_PHONE, ER_KIND_ID, ER_KIND_PATH, ER_KIND_DURATION, ER_KIND_WHEN, ER_KIND_TEXT, ER_KIND_PLACE,
    ER_KIND_PERSON, ER_KIND_NUMBER, ER_KIND_BOOLEAN, ER_KIND_CHOICE, ER_KIND_COMMAND, ER_KIND_ANY, ER_KIND_NESTED, ER_KINDS
} er_kind;

/* ---- What a bundle has (part_arguments.c) ---- */

enum { ER_POOL_SPANS = 7, ER_POOL_SPAN_CONTEXTS = 18, ER_POOL_OPTIONS = 3, ER_POOL_OPTION_CONTEXTS = 11, ER_TRAITS = 11 };

typedef struct {
    double spans[ER_POOL_SPANS][ER_POOL_SPAN_CONTEXTS], options[ER_POOL_OPTIONS][ER_POOL_OPTION_CONTEXTS];
    double absent_required, absent_optional, no_option_required, no_option_optional;
    bool tuned, any_script; /* any_script: the head tells values where no rule knows a script's small words */
} er_pool;

enum { ER_TRAIT_SHARE, ER_TRAIT_ALL, ER_TRAIT_TOKEN, ER_TRAIT_WHEN, ER_TRAIT_MEASURE, ER_TRAIT_NUMBER, ER_TRAIT_NAME, ER_TRAIT_TOLD,
       ER_TRAIT_OPTION, ER_TRAIT_PLAIN, ER_TRAIT_MANY };

/* How often a parameter took an output: of a tool that was there unused, of one that was used. */
typedef struct {
    uint32_t tool, parameter, giver; /* places in `names` */
    uint32_t seen, taken, seen_used, taken_used;
} er_counted;

typedef struct er_pointer er_pointer; /* argument_head.c: the head as it multiplies */

typedef struct er_stored_arguments {
    const er_pointer *head;
    const int64_t *keys;   /* (texts), rising */
    const int8_t *rows;    /* (texts, dimension) */
    const float *scales;
    uint32_t texts, dimension;
    const er_text *names;
    const er_counted *counts;
    uint32_t name_count, count_count;
    er_pool pool;
    double traits[ER_TRAITS];
} er_stored_arguments;

/* What loading does for er_arguments alone comes with it: a linker that takes what is called out of a library leaves both out
   where nobody asks for arguments. */
#if defined(__ELF__) || defined(__wasm__)
#define ER_IF_LINKED __attribute__((weak))
#define ER_IS_LINKED(function) ((function) != NULL)
#else
#define ER_IF_LINKED
#define ER_IS_LINKED(function) true
#endif

/* NULL where the bundle has no head. */
struct er_part;
ER_IF_LINKED bool er_arguments_part(const struct er_part *, const er_spec *, const er_stored_arguments **);
bool er_is_tuned(const er_stored_arguments *); /* with the bundle's own demonstrations. NULL: not */

/* ---- The head (argument_head.c) ---- */

bool er_pointer_of(const er_fields *head, uint32_t dimension, const er_pointer **);

/* A tool's parameters before the layers: the rows of the function and the parameters, of each how many options it has, of
   all options two rows. */
typedef struct {
    const float *rows, *own, *by; /* (1 + count, WIDTH), (options, WIDTH) twice */
    const int64_t *counts, *boolean; /* (count) */
    uint32_t count, options;
} er_pointed;

bool er_pointer_ask(er_arena *, const er_pointer *, const float *texts, const float *features, er_pointed *);

typedef struct {
    const float *words, *features, *relations, *told; /* (units, WIDTH), (units, UNIT_FEATURES), (count, units, RELATIONS), (options, 4) */
    const int64_t *places;  /* (place_count, 3) */
    uint32_t units, place_count;
} er_pointing;

/* Log-shares: of spans (count, units, LONGEST), of options, and that nobody said it (count). */
typedef struct {
    const float *spans, *options, *absent;
} er_log_shares;

/* What units say to the head, (count, WIDTH), whatever is asked: by their vectors, (count, dimension up to a multiple of STEP). */
bool er_point_units(er_arena *, const er_pointer *, const float *vectors, uint32_t count, const float **);
bool er_point_call(er_arena *, const er_pointer *, const er_pointed *, const er_pointing *, er_log_shares *);

/* ---- What a tool takes (parameters.c) ---- */

typedef struct {
    const er_text *words;
    uint32_t count;
} er_words; /* different ones */

static inline bool er_has(er_words of, er_text word)
{
    for (uint32_t i = 0; i < of.count; i++)
        if (er_same(of.words[i], word)) return true;
    return false;
}

bool er_within(er_words, er_words);  /* whether the second has all of the first */
bool er_shape_of(er_arena *, er_text, er_text *);
bool er_words_in(er_arena *, er_text, er_words *);   /* a text's stems */
bool er_lowered(er_arena *, er_text, er_text *);      /* in lower case */
bool er_first_word(er_arena *, er_text, er_text *);  /* its first stem, "" for none */
/* Whether a word is one of those in a list with spaces between them. */
bool er_listed_in(er_text word, const char *list);

/* An amount's unit, and how many of the smallest one it is. */
typedef struct {
    er_dimension dimension;
    er_amount factor;
} er_unit_taken;

typedef struct {
    er_text form, shown_form;        /* of days and times, as a description names them, or shows by an example; "" */
    er_text name, described, inside; /* inside: the one property that an object of a list needs; "" for none */
    const er_json *schema, *whole;   /* of one value; of all */
    er_kind kind;
    bool required, many;
    bool parted;                     /* all its quoted examples have parts with commas between them */
    char part;                       /* 'd', 't': a day or a time alone; or 0 */
    er_words stems, told, led, shapes, spelt; /* spelt: the words of its name in lower case */
    bool has_unit;
    er_unit_taken unit;
    const er_json *const *options;   /* (option_count) */
    uint32_t option_count;
    const er_text *option_texts;
} er_parameter;

/* What is known of a tool when its call is filled; made once. */
typedef struct {
    er_arena arena;
    const er_tool *tool;
    const er_json *schema;
    const er_parameter *parameters;
    uint32_t count, wanted;          /* the first `wanted` are looked at */
    const uint32_t *asked;           /* (pointed.count): numbers of those that the head is asked about */
    er_pointed pointed;
    bool apart;                      /* each parameter stands for itself */
    er_words name, text;             /* stems of the name; of both */
    double needed, camel, described;
    er_words about, spelt;           /* of what it gives: what that is, the words of its name, */
    const er_text *returns;          /* and what it says that it returns, in order */
    uint32_t return_count;
    bool finds;                      /* it tells or makes, and changes nothing that was */
} er_taking;

typedef _Atomic(er_taking *) er_slot;

er_slot *er_takings(const er_model *); /* load.c: (tools), each made when it is first asked about */
ER_IF_LINKED void er_taking_free(er_taking *);
bool er_taking_of(er_arena *scratch, const er_model *, const er_tool *, er_taking *);

/* A parameter's schema without the alternatives that are null. */
const er_json *er_plain_schema(er_arena *, const er_json *);
/* 45 numbers and so on of 8.4 for all that are asked about, and the texts that stand for them. */
bool er_option_text(er_arena *, const er_parameter *, const er_json *, er_text *);
er_text er_schema_text(const er_json *schema, const char *key); /* "" where it is no text */

/* ---- Schemas (schema.c) ---- */

extern const er_json er_json_true, er_json_false;
const er_json *er_json_text(er_arena *, er_text);
const er_json *er_json_number(er_arena *, double, bool whole);
const er_json *er_json_list(er_arena *, const er_json *items, uint32_t count);
bool er_json_same(const er_json *, const er_json *); /* equal as Python has it: 1 is 1.0 and true */
bool er_json_shown(er_arena *, const er_json *, er_text *); /* str() of what is no list and no object */
bool er_json_write(er_arena *, const er_json *, er_text *); /* as JSON */

bool er_has_format(er_arena *, const char *format, er_text); /* true for formats that are not known */
bool er_is_blank_text(er_text);
bool er_is_reference(er_text, uint32_t *number);
bool er_fits(er_arena *, const er_json *value, const er_json *schema);
bool er_takes(er_arena *, const er_parameter *, const er_json *value);
/* Several values as a parameter takes them; NULL for what its schema refuses. */
const er_json *er_several(er_arena *, const er_json *const *values, uint32_t count, const er_parameter *);

/* ---- Forms (forms.c) ---- */

/* What a request says around a time that names no day. */
typedef struct {
    er_text day; /* the only one of the request, in English: "on Friday … at 5 pm"; or "" */
    bool past;   /* it lies behind */
    const er_reading *of;
} er_around;
/* What a piece says, and the same in English. Of "3 to 10 August" the 3 says a day of that month, of "9-10 am" the 9 an hour
   of that half of the day. False: no memory. */
bool er_text_of_piece(er_arena *, const er_reading *, const er_piece *, er_text *said, er_text *english);
/* From where to where the hours stand of which a piece is one: "9-10 am". */
void er_hours_of(const er_reading *, const er_piece *, uint32_t *first, uint32_t *last);
er_around er_around_of(const er_reading *, const er_piece *, bool past);
/* What words are as one value of a parameter; NULL for what they are not. */
const er_json *er_form_value(er_arena *, er_text said, er_text english, const er_around *, uint32_t kind, const er_parameter *, const er_now *);
/* Whether a run of capitals is what something is called, for a parameter that takes its number: "cancel my table at Chez Anna". */
bool er_is_other_name(er_arena *, const er_reading *, const er_parameter *, const er_piece *);
bool er_is_extreme(er_text word);

/* ---- What was called before (earlier.c, outputs.c) ---- */

typedef struct {
    er_text tool;
    const er_json *arguments, *result; /* an object; NULL where nobody told it */
    const er_taking *giver;            /* NULL: a stranger's */
} er_made;

typedef struct {
    const er_made *calls;
    uint32_t count;
    const uint32_t *used; /* (count): the last call that took an output, from 1 on; 0 where none did */
    er_words said, taken; /* values in lower case: of all, of those of this tool */
    const er_text *named_names, *named_values;       /* of other tools, by parameter: pairs */
    uint32_t named_count;
} er_earlier;

bool er_earlier_of(er_arena *, const er_made *, uint32_t count, er_text tool, er_earlier *);

/* An earlier call, and how surely it is meant; call 0: none. A leftover is what no parameter asks for and no call took. */
typedef struct {
    uint32_t call;
    double score;
    bool named, counted, leftover;
    const uint32_t *beside; /* other calls of its tool that nobody took from */
    uint32_t beside_count;
} er_output;

bool er_outputs_of(er_arena *, const er_taking *, const er_earlier *, const er_stored_arguments *, er_output *found);
/* The value that a call's result has for a parameter; NULL where it has none or several. */
const er_json *er_result_value(er_arena *, const er_made *, const er_parameter *, bool named);

/* ---- How well words suit (suits.c) ---- */

typedef struct {
    double score;
    er_piece piece;
    const er_json *value;
} er_fit;

typedef struct {
    er_arena *arena;
    const er_reading *reading;
    const er_taking *tool;
    const er_earlier *earlier;
    const er_now *now;
    const bool *own;           /* (units): in the tool's name */
    const double *near;        /* (clauses) */
    const uint32_t *anchors;   /* units in the tool's name */
    uint32_t anchor_count;
    int64_t reached;           /* where what was said before ends, −1 */
    bool points, dated, ascii;
} er_suitor;

bool er_suitor_of(er_arena *, const er_reading *, const er_taking *, const er_earlier *, const er_now *, er_suitor *);
/* Whether a match of some kinds, as bits, holds all of a piece, and, with `more`, is not the same units. */
bool er_is_inside(const er_reading *, const er_piece *, uint32_t kinds, bool more);
bool er_is_street(const er_unit *, uint32_t first, uint32_t last); /* whether one of these words says that it is a street */
/* Whether a number or a duration cannot be that which a parameter asks for; whether a run of capitals is a street without its
   number, or has one in front where no address is asked for (numbered.c). */
bool er_is_part(const er_suitor *, const er_parameter *, const er_piece *);
/* Whether the name of another parameter of the tool, of some words, stands in front of a day or an hour: the twelfth of "check in
   12 June" is no check_out. */
bool er_is_named_other(const er_suitor *, const er_parameter *, const er_piece *);
/* Whether a day or an hour is the other end of what a parameter asks for one end of: 10 August of "3 to 10 August" is no
   beginning, nor any day but for an end, and 11 am of "10 to 11 am" is an hour for an end alone, but where the tool takes
   several hours. */
bool er_is_other_end(const er_suitor *, const er_parameter *, const er_piece *);
/* The clock from which on a day is the next one, made in `room` where it is another; and whether it is one that was. What ends
   days from one to another comes behind their beginning. */
const er_now *er_counted_from(const er_suitor *, const er_parameter *, const er_piece *, er_now *room, bool *past);
bool er_is_no_number(const er_suitor *, const er_parameter *, const er_piece *);
bool er_lacks_number(const er_suitor *, const er_parameter *, const er_piece *);

/* The pieces that may be meant, the best first; with `spans` (units, LONGEST) those alone that are possible. */
bool er_fits_of(const er_suitor *, const er_parameter *, const float *spans, const er_fit **, uint32_t *count);
/* Any units as a value. False with no value: none, and true. */
bool er_fit_of(const er_suitor *, const er_parameter *, uint32_t first, uint32_t last, bool any_script, er_fit *, bool *there);
double er_absent_of(const er_parameter *);
void er_shares(double *scores, uint32_t count); /* in place */
er_text er_glossed_words(const er_reading *, uint32_t first, uint32_t last);
static inline bool er_is_plain_piece(uint32_t kind)
{
    return kind == ER_PIECE_CHUNK || (kind >= ER_PIECE_HEAD && kind <= ER_PIECE_SENTENCE);
}

/* ---- Choices (choices.c) ---- */

typedef struct {
    const er_json *value, *others[3];
    uint32_t other_count;
    uint8_t source, rule;
    bool spanned;
    double score;
    er_span span; /* code points */
} er_found;

/* Rules, as the shares of them that were right are told. */
enum {
    ER_RULE_NONE, ER_RULE_NAMED_ID, ER_RULE_NAMED_TEXT, ER_RULE_WORDS_ID, ER_RULE_WORDS_TEXT, ER_RULE_REFERENCE, ER_RULE_EARLIER,
    ER_RULE_RESULT, ER_RULE_NAMED_RESULT, ER_RULE_ONLY_OPTIONAL, ER_RULE_ONLY_REQUIRED, ER_RULE_SEVERAL_REQUIRED, ER_RULE_BOOLEAN,
    ER_RULE_BOOLEAN_NOT, ER_RULE_SWITCH, ER_RULE_SWITCH_BOTH, ER_RULE_DEFAULT, ER_RULE_COUNTED, ER_RULE_OPTION,
    ER_RULE_PIECE /* and the kind of piece more */
};

bool er_chosen(const er_suitor *, const er_parameter *, er_found *); /* value NULL: nothing */

/* ---- The join of head and rules (joining.c) ---- */

/* What the head says of one call. */
typedef struct {
    const er_stored_arguments *stored;
    const er_taking *tool;
    er_log_shares shares;
    uint32_t units;
    double call[6]; /* needed, camel, talk, long, described, sure */
} er_headed;

/* The head's word on a call; `there` is false for a request that is too long and a tool without parameters. */
bool er_headed_of(const er_suitor *, const er_stored_arguments *, const float *words, er_headed *, bool *there);
/* The fits of a parameter, asked as number `asked`, with scores of both, the best first, and the score that nobody said it. */
bool er_joined(const er_suitor *, const er_headed *, uint32_t asked, const er_fit **, uint32_t *count, double *absent);
/* The shares of its options and behind them that nobody said it, (option_count + 1); `ruled` (option_count). */
bool er_option_shares(const er_suitor *, const er_headed *, uint32_t asked, const bool *ruled, double *shares);

/* ---- A call (fill.c) ---- */

typedef struct {
    const er_suitor *suitor;
    const er_stored_arguments *stored; /* NULL: by rules alone */
    const float *words;                /* as er_pointing has them; NULL likewise */
    bool tuned, headed;
    er_headed head;
    er_output *outputs;                /* (wanted) */
    double *absent;                    /* (wanted): the scores that nobody said it */
    er_piece *used;                    /* (used_count): what was given away */
    uint32_t used_count;
} er_filling;

/* The values by number of the parameter, (tool.wanted); `value` NULL: none. */
bool er_fill_call(er_filling *, er_found *found);
double er_confidence(const er_found *, const er_parameter *, const er_filling *);
/* Texts as one. False: no memory. */
bool er_join(er_arena *, const er_text *parts, uint32_t count, er_text *);
bool er_question(er_arena *, const er_reading *, const er_now *, const er_parameter *, er_text *); /* reading, clock: or NULL */

#endif
