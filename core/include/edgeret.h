/* edgeret: which function an assistant calls next, decided on the device.

   Load a bundle, begin a task with the user's words, ask what comes next, run it, say so, ask again:

       er_error why = {0};
       er_model *model; er_task *task; er_decision next = {.size = sizeof next};
       if (er_load("desktop", NULL, &model, &why)) return puts(why.text), 1;
       if (er_begin(model, ER_TEXT("mute the speakers"), NULL, &task, &why)) return puts(why.text), 1;
       while (!er_next(task, NULL, &next, &why) && next.tool_number != ER_END) {
           printf("%.*s %.3f\n", (int)next.tool.length, next.tool.at, next.probability);
           if (er_call(task, next.tool, &why)) break;
       }
       er_end(task);
       er_free(model);

   Five rules hold everywhere. Handles are opaque; a model may be shared by threads, a task belongs to one at a time. The
   caller owns all memory that is filled; where a list is filled, `count` is how many there is room for, and then how many
   there are in all, which may be more: read the smaller of the two. NULL with 0 asks for the number alone. A text is UTF-8
   with its length, and what the library hands out lives as long as the handle that it came from. A struct that may grow begins
   with its size, which the caller sets, of options and of answers alike: `er_decision next = {.size = sizeof next};`. Options that are
   NULL, and zeros behind their size, mean all defaults. A failure is a status, and one line in `er_error`, which may be NULL,
   that says what is wrong and how to go on; a handle that was asked for is NULL then.

   docs/FORMAT.md defines what a bundle is and every number that is computed from it. */

#ifndef EDGERET_H
#define EDGERET_H

#include <stddef.h>
#include <stdint.h>

#if defined(_WIN32) && defined(ER_BUILD)
#define ER_API __declspec(dllexport)
#elif defined(_WIN32) && !defined(ER_STATIC)
#define ER_API __declspec(dllimport)
#else
#define ER_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define ER_VERSION "0.1.0"
#define ER_FORMAT 11 /* the version of bundles that this library reads */

typedef enum {
    ER_OK = 0,
    ER_BAD_INPUT = 1,  /* an argument or option that does not fit: a blank query, an unknown tool, a NULL handle */
    ER_BAD_BUNDLE = 2, /* damaged, forged, of another version, or put together from strangers */
    ER_NO_FILE = 3,    /* a folder or file that is not there or cannot be read */
    ER_NO_MEMORY = 4,
    ER_NO_ENCODER = 5, /* the bundle's encoder does not run here; er_load_options takes another one, er_begin_with its vectors */
    ER_FULL = 6,       /* a task with as many calls, or failures, as it can hold: 256 */
    ER_BAD_OVERLAY = 7, /* an overlay that is damaged, forged, or another encoder's */
    ER_NOT_KEPT = 8    /* what was to be learned, forgotten or put into a store could not be written, and was not: no room, another writer */
} er_status;

typedef struct {
    er_status status;
    char text[512]; /* one line, ends with a zero byte; says how to go on */
} er_error;

typedef struct {
    const char *at; /* UTF-8, need not end with a zero byte */
    size_t length;  /* in bytes */
} er_text;

#if defined(__cplusplus)
#define ER_TEXT(literal) (er_text{(literal), sizeof(literal) - 1})
#else
#define ER_TEXT(literal) ((er_text){(literal), sizeof(literal) - 1})
#endif
#define ER_TEXT_INIT(literal) {(literal), sizeof(literal) - 1} /* for tables */

typedef struct er_model er_model; /* a loaded bundle: immutable, shared by threads */
typedef struct er_task er_task;   /* one request, step by step */
typedef struct er_embedder er_embedder; /* an encoder without a bundle: immutable, shared by threads */
typedef struct er_learner er_learner; /* what was learned on this device: shared by threads */

/* What this library is: its version, and in a code's own words what it means. Never NULL. */
ER_API const char *er_version(void);
ER_API const char *er_status_text(er_status);

/* The set of instructions that texts are encoded with here: generic, avx2, avx_vnni, avx512, avx512_vnni or
   arm64_dotprod. Never NULL. */
ER_API const char *er_instruction_set(void);

/* ---- A bundle ---- */

/* What an encoder of your own is asked for: the ids of one window of a text (section 5), the special ones among them. */
typedef struct {
    size_t size;        /* sizeof(er_window), by which it may grow */
    const int64_t *ids; /* (count) */
    uint32_t count, dimension;
    float *vector;      /* (dimension), to be filled: of length 1 */
    float *tokens;      /* (count, dimension), to be filled */
} er_window;

/* An encoder in the place of the bundle's own: on a GPU, an NPU, or in another library, which runs the graph or one with nearly
   the same vectors. Texts are cut into tokens and windows here, and what comes back is checked and joined. So tasks, turns,
   search, learning and tools that come all read by it. */
typedef struct {
    size_t size;         /* sizeof(er_encoder) */
    er_status (*run)(void *context, const er_window *, er_error *); /* by the thread that asked, by several at once where several
                            ask, not with the task that waits for it. What is not ER_OK is what was asked for ends with, in its words */
    void *context;       /* is handed to it, and stays until the model and all that was made of it are gone */
    uint32_t max_tokens; /* that it reads at a time, where they are fewer than the bundle says; 0: as many */
} er_encoder;

typedef enum {
    ER_INDEX_AUTO = 0,  /* among 4,000 tools and more by the bundle's graph, if it has one (section 6.1) */
    ER_INDEX_EXACT = 1, /* all tools are compared, and no graph is read */
    ER_INDEX_HNSW = 2   /* by the graph, which has to be there */
} er_index_kind;

typedef struct {
    size_t size;               /* sizeof(er_load_options) */
    er_text content_hash;      /* 64 hex digits that the bundle must have, got over a way that is trusted; empty: any */
    double most_loss;          /* accuracy that the first stage may cost (section 17): 0.005 if 0; below 0: never asked */
    int32_t first_stage_alone; /* 1: the small encoder decides everything and the large one is not read: profile "tiny" */
    int32_t threads;           /* that encode a text; 1 if 0 */
    er_text trust;             /* public keys and what was revoked (FORMAT.md 21): these must have signed it; at NULL: nobody need have */
    er_text signatures;        /* what NAME.sig beside the folder holds; empty: er_load reads that file, er_load_files has none */
    int64_t now;               /* seconds since 1970 by which signatures expire; the system's clock if 0 */
    const er_encoder *encoder; /* encodes in the place of the bundle's own, whose file is not read then; copied. A table is no such encoder */
    er_index_kind index;
} er_load_options;

/* Loads the bundle in a folder: every file that is read is hashed, and every number checked, before it is used. Which are
   read er_list says: profile tiny leaves most alone, damaged or not. Links are followed only where FORMAT.md 11 does. With
   `trust` nothing is parsed, the manifest not either, before the signatures were verified. */
ER_API er_status er_load(const char *folder, const er_load_options *, er_model **, er_error *);

/* One file of a bundle that somebody else holds: of a page, a flash chip, an archive. */
typedef struct {
    er_text name; /* as in the bundle's folder; "manifest" among them */
    const void *bytes;
    size_t length;
} er_file;

/* The same from files in memory, which must stay until the model is freed, its tasks are ended, and all that
   er_with_tools made of it is gone, too. */
ER_API er_status er_load_files(const er_file *, size_t count, const er_load_options *, er_model **, er_error *);

typedef struct {
    er_text name; /* lies in the manifest's bytes */
    uint64_t size;
} er_listed;

/* Which files er_load_files would read, by the bytes of `manifest`, for whoever fetches them one by one; at most 256. */
ER_API er_status er_list(
    const void *manifest, size_t length, int32_t first_stage_alone, er_listed *room, size_t *count, er_error *);
ER_API void er_free(er_model *); /* NULL is fine; running tasks hold what they need of it */

typedef struct {
    size_t size;          /* sizeof(er_summary) */
    er_text content_hash; /* 64 hex digits */
    uint32_t tools;
    uint32_t labels;      /* that demonstrations call, and the end of a plan among them; 0 from tools alone */
    uint32_t dimension;   /* of the encoder that decides */
    int32_t stages;       /* 1, or 2 with a small encoder in front */
    int32_t encodes;      /* whether text can be encoded; otherwise er_load_options.encoder, or er_begin_with */
    size_t bytes;         /* that the model holds; files that are mapped, and what it shares with another, not counted */
} er_summary;

ER_API er_status er_describe(const er_model *, er_summary *, er_error *);

/* Tools are numbered from 0 on, in the index's order. */
ER_API er_text er_tool_name(const er_model *, uint32_t tool); /* empty where there is no such tool */
ER_API er_text er_tool_definition(const er_model *, uint32_t tool); /* its JSON object: name, description, parameters */
ER_API int64_t er_tool_find(const er_model *, er_text name);  /* -1: unknown */

/* ---- Tools that come and go ---- */

/* What changes of a model's tools. A definition is a JSON object as tools.json has them (section 6): name, description,
   parameters; where the tool has any, examples, risk and confirm. */
typedef struct {
    size_t size;          /* sizeof(er_change) */
    const er_text *add;   /* (add_count): definitions of tools that come */
    size_t add_count;
    const er_text *remove; /* (remove_count): names of tools that go; one of these may be added anew */
    size_t remove_count;
    const er_text *replace; /* (replace_count): definitions that stand in the place of those with their names */
    size_t replace_count;
    const float *vectors;  /* where an encoder of your own decides: (add_count + replace_count, dimension), unit vectors of */
    const float *examples; /* the tools' texts (section 6), and of their examples as queries, in order; NULL: encoded here */
    int32_t tools_alone;   /* 1: what demonstrations taught is left behind, with the small encoder in front: for other tools
                              altogether, whose own words decide */
} er_change;

/* Another model with these tools added, removed and replaced, which shares what stays with the first one; both are freed
   in any order, and running tasks go on with the tools that they began with. Tools that stay keep their order, and
   added ones stand behind them, found and chosen at once. Definitions that are there as they are given change nothing; where
   nothing changes, what comes is the first model once more, to be freed as well. Several threads may call this on one model at
   the same time. */
ER_API er_status er_with_tools(const er_model *, const er_change *, er_model **, er_error *);

/* A tool's vector, and behind it those of the examples that it shows, (count, dimension): unit vectors of the encoder that
   decides, as er_change takes them. Whoever keeps them adds the tool at the next start without encoding it. */
ER_API er_status er_tool_vectors(const er_model *, uint32_t tool, float *room, size_t *count, er_error *);

/* ---- Versions ----

   A device gets the next bundle while people use the one before. A store is a folder (FORMAT.md 22) with versions of a bundle side by
   side, one of them active. Python's edgeret.BundleStore reads and writes the same folder:

       er_store *store; er_model *model; er_error why, trouble;
       if (er_store_open("bundles", NULL, &store, &why)) return puts(why.text), 1;
       …a new one came…
       if (er_store_add(store, "download", ER_TEXT("2.1"), ER_TEXT(""), NULL, &why)) puts(why.text);
       else if (er_store_activate(store, ER_TEXT("2.1"), NULL, &why)) puts(why.text);
       …at each start, and whenever another one is to decide…
       if (er_store_load(store, &model, &trouble, &why)) return puts(why.text), 1;

   No version decides before its files are proved, its golden vectors and decisions (section 3) are done again here, and the
   probe has passed it. A store keeps no file open and holds no model: threads and processes may share its folder, and models
   live as long as those of er_load. Killed at any moment, a writer leaves the store as it was or as it was to be. */

typedef struct er_store er_store; /* a folder of versions: shared by threads */

typedef struct {
    size_t size;                 /* sizeof(er_store_options) */
    const er_load_options *load; /* how every version is loaded; copied. Without content_hash and signatures, which the store knows */
    er_status (*probe)(void *context, const er_model *, er_error *); /* what is not ER_OK refuses a version, in its words; NULL: all pass */
    void *context;               /* is handed to it */
    double wait_s;               /* for another writer to end; 60 if 0 */
} er_store_options;

typedef struct {
    char content_hash[65], name[65]; /* end with a zero byte */
    int32_t active;                  /* 1: the one that decides */
    int32_t good;                    /* 1: the one that was active before; 2: the one before that; 0: never, or left for a better one */
} er_store_version;

/* Opens the store in a folder, which is made, in a folder that is there. Nothing is loaded yet. */
ER_API er_status er_store_open(const char *folder, const er_store_options *, er_store **, er_error *);
ER_API void er_store_close(er_store *); /* NULL is fine; models stay */

/* Copies a bundle into the store, each byte proved, with the signatures beside it; one that is there and damaged is mended. It is not
   active yet. `name`: what to call it; empty: the name that it has, or its hash's first 12 digits. `content_hash`: as in er_load_options.
   What was added is told, unless `told` is NULL. On disk when it returns. */
ER_API er_status er_store_add(er_store *, const char *bundle, er_text name, er_text content_hash, er_store_version *told, er_error *);

/* All versions, in the order in which they were added. */
ER_API er_status er_store_list(const er_store *, er_store_version *room, size_t *count, er_error *);

/* Deletes a version that is not active, by its name, its content hash, or 8 and more of that one's first digits. */
ER_API er_status er_store_remove(er_store *, er_text version, er_error *);

/* Loads a version, has it prove itself, and then makes it the active one. If that fails, nothing was switched, and the store's file
   says why. The model is handed over; `made` may be NULL. */
ER_API er_status er_store_activate(er_store *, er_text version, er_model **made, er_error *);

/* The same with the version that was active before; should it fail, with the one before that. */
ER_API er_status er_store_rollback(er_store *, er_text reason, er_model **made, er_error *);

/* Loads the active version. Should it not load any more, or not prove itself, the last good one is active from now on and comes instead:
   then `trouble`, which may be NULL, says why. Not for want of memory, or for options that do not fit. */
ER_API er_status er_store_load(er_store *, er_model **made, er_error *trouble, er_error *);

/* ---- A task ---- */

enum { ER_END = -1 }; /* in the place of a tool's number: the plan is over, or before any call, nothing fits */

typedef struct {
    size_t size;             /* sizeof(er_begin_options) */
    const uint32_t *allowed; /* the only tools that may be chosen; NULL with 0: all */
    size_t allowed_count;
    const er_text *earlier;  /* (earlier_count): of a later turn of a conversation (below), the tools that all turns before called, */
    size_t earlier_count;    /* oldest first; not NULL with 0: they called none. NULL: the words stand alone */
    size_t last_count;       /* how many of these the latest turn called that called any */
    er_learner *learner;     /* whose knowledge decides, too, and grows by er_learn (below); NULL: the bundle alone */
    double (*clock)(void *context); /* seconds since some time, for er_times; NULL: nobody asks where time goes */
    void *clock_context;     /* is handed to it, from whichever thread uses the task or a fork of it */
} er_begin_options;

/* Reads the user's words, at most 20,000 characters, once for all steps. Where a bundle has a small encoder in front, the
   large one runs in the first er_next that needs it: some milliseconds for a sentence, a second for the longest text. */
ER_API er_status er_begin(const er_model *, er_text query, const er_begin_options *, er_task **, er_error *);

/* What an encoder of your own made of the same words, with the bundle's tokenizer (section 5). */
typedef struct {
    size_t size;
    const float *vector;          /* (dimension), of length 1 */
    const float *tokens;          /* (count, dimension) */
    const uint32_t *begins, *ends; /* (count): of each token, code points of prefix + query */
    uint32_t count, dimension;
} er_encoding;

ER_API er_status er_begin_with(
    const er_model *, er_text query, const er_encoding *, const er_begin_options *, er_task **, er_error *);

/* What the bundle's own encoder made of a task's words, as er_begin_with takes it, whichever one decides: for whoever reads
   more out of them than tools. It runs now where it did not yet, and does not run again. What is told lives as long as the
   task. */
ER_API er_status er_task_encoding(er_task *, er_encoding *, er_error *);

typedef enum { ER_AUTO = 0, ER_HEADS = 1 } er_policy; /* ER_HEADS never abstains */

typedef struct {
    size_t size;
    double tokenize, encode;       /* the request; 0 where it is read already */
    double search, graph, head;    /* what its words share with tools; demonstrations near it; what they call for it */
    double fuse, learned, decide;  /* to one probability; what was learned on this device; floors and reasons */
} er_seconds;

typedef struct {
    size_t size;
    er_policy policy;
    double min_probability; /* the least that an answer needs; 0: the bundle's own, below 0: nothing */
    double risk;            /* the share of wrong answers that is allowed, 0.005 to 0.5; 0: by min_probability */
    int32_t own;            /* 1: the bundle's own encoder decides, and from then on, also where the small one in front is sure */
    float *probabilities;   /* (probability_count): where er_next writes what er_probabilities tells; NULL: nowhere */
    size_t probability_count;
    er_seconds *seconds;    /* where it writes what er_times tells; NULL: nowhere */
} er_next_options;

/* Why a decision is as it is. */
typedef enum {
    ER_PROBABLE = 0,     /* the most probable one */
    ER_NOTHING_FITS = 1, /* abstained: calling nothing is most probable */
    ER_UNSURE = 2,       /* abstained: below the floor */
    ER_ALL_FAILED = 3,   /* abstained: every tool failed */
    ER_DONE = 4          /* nothing is left to do */
} er_reason;

/* What a probability rests on, each a bit of er_decision.parts: those that have weight. */
enum { ER_BY_TOOLS = 1, ER_BY_HEAD = 2, ER_BY_GRAPH = 4, ER_BY_DEMONSTRATIONS = 8, ER_BY_LEARNED = 16, ER_BY_TURNS = 32 };

typedef struct {
    size_t size;         /* sizeof(er_decision) */
    int32_t tool_number; /* ER_END where nothing is to be called */
    er_text tool;        /* its name, empty where nothing is to be called */
    double probability;  /* of the best candidate, calibrated */
    er_reason reason;
    int32_t abstained;   /* 1: no answer; 0: call the tool, or with ER_END end the plan */
    int32_t confirm;     /* 1: the tool asks that a person confirms its calls */
    int32_t named;       /* 1: the request says the tool's name */
    int32_t stage;       /* 0: a table of token vectors decided, 1: a transformer */
    int32_t demonstrated; /* 1: graph and head decided; 0: the tools alone */
    double floor;        /* what an answer needed */
    er_text best;        /* the best candidate's name, "<end>" for none; also where it was not taken */
    int32_t best_number; /* its number, ER_END for the end */
    uint32_t parts;      /* ER_BY_TOOLS and the like: the tools' own words; head, graph and stored steps (sections 7 and 8); what
                            was learned on this device; and earlier turns */
} er_decision;

/* What comes next. Allocates nothing, but where a request is handed from the small encoder to the bundle's own. */
ER_API er_status er_next(er_task *, const er_next_options *, er_decision *, er_error *);

typedef struct {
    int32_t tool_number; /* ER_END for the end */
    er_text tool;        /* "<end>" for the end */
    double probability;
} er_candidate;

/* The most probable candidates of the step that this task's er_next decided last, best first; behind a call or a failure,
   and in a fork, er_next comes first. */
ER_API er_status er_candidates(er_task *, er_candidate *room, size_t *count, er_error *);

/* Those of them that a planner of yours may be asked about: the conformal set (section 9), which holds what is right in a share
   `coverage` of decisions, above 0 and below 1; at least the best one. Listed as by er_candidates. */
ER_API er_status er_conformal(er_task *, double coverage, er_candidate *room, size_t *count, er_error *);

/* What goes for another candidate than the best of that step, by its number, should somebody choose it. */
typedef struct {
    size_t size;
    double floor;    /* what an answer with it needs */
    int32_t confirm; /* as in er_decision */
    int32_t named;
} er_answer;

ER_API er_status er_answer_with(er_task *, int32_t tool_number, const er_next_options *, er_answer *, er_error *);

/* The probabilities of all tools, by their numbers, and behind them that of the end: tools + 1 of them, 0 for what may not be chosen. */
ER_API er_status er_probabilities(er_task *, float *room, size_t *count, er_error *);

/* ---- Why ---- */

/* What a decision rests on. WORDS to EXAMPLES are what PRIOR, the tools' own word, is made of: words that request and tools
   share; cosines; what tools take that others give; kinds of values, such as a date; sentences that tools show. */
typedef enum {
    ER_PART_HEAD, ER_PART_PRIOR, ER_PART_WORDS, ER_PART_MEANING, ER_PART_FLOW, ER_PART_VALUES, ER_PART_EXAMPLES, ER_PART_GRAPH,
    ER_PART_MEMORY,     /* steps of demonstrations that the bundle keeps */
    ER_PART_LEARNED,    /* on this device */
    ER_PART_FAMILIARITY /* how far the request is from what was demonstrated: of the end alone */
} er_part_name;

enum { ER_MOST_COMPARED = 3 };

/* A part's own word. A step's log-scores are the sum of its parts' `log_p`, each times its weight, up to a constant and before
   calibration; parts within another one are counted with that. */
typedef struct {
    er_part_name part;
    int32_t within;                 /* the part that it is a part of; −1: none */
    double weight;                  /* 0 where it has no say */
    double log_p[ER_MOST_COMPARED]; /* of each candidate; NaN where it says nothing of it */
    double pull;                    /* nats that it adds to the odds of the first candidate against the second; NaN: nothing to say.
                                       Before any call all that speaks for or against the end is one part's. */
} er_vote;

typedef struct {
    er_text query;        /* empty where its words were not kept, as of all that a bundle brings */
    const er_text *calls; /* (call_count) */
    uint32_t call_count;
    int32_t learned;      /* 1: on this device */
    double cosine;        /* of both queries */
} er_demonstration;

typedef struct {
    er_text word;
    int32_t unknown; /* 1: no tool has it */
    uint32_t has;    /* a bit a candidate, the first one's first: whether its name, description or parameters have it */
} er_word_told;

typedef struct {
    size_t size;
    er_vote votes[11];
    er_demonstration near[3]; /* the nearest demonstrations that are kept, nearest first */
    er_word_told words[12];   /* the request's, first to last, each once; common ones left out */
    er_candidate cluster[3];  /* what requests like this one mostly call next: shares; without demonstrations none */
    uint32_t vote_count, near_count, word_count, cluster_count;
    double similarity;        /* the cosine to the nearest cluster of demonstrations; NaN without any */
} er_explanation;

/* Why the step that this task's er_next decided last came out as it did, by the words of its parts on 1 to 3 candidates, each by
   its number, or ER_END; the first is told from the second. Refuses those that could not be chosen. Of what is learned on this
   device it goes by what is known now. Costs what a few steps do. What is told lives until the task is asked again, or
   ends. */
ER_API er_status er_explain(er_task *, const int32_t *candidates, size_t count, er_explanation *, er_error *);

/* The request's words for wishes that no call is for yet (section 16.9), in order, where it asks for several things: at
   most 3, none where it asks for one. They lie in the task. */
ER_API er_status er_left_aside(const er_task *, er_text *room, size_t *count, er_error *);

/* Where the time of er_begin and er_next went since the task began, or was asked last; zeros without a clock. */
ER_API er_status er_times(er_task *, er_seconds *, er_error *);
ER_API double er_clock(void *context); /* the system's, for er_begin_options.clock; 0 on a page or a chip */

ER_API er_status er_call(er_task *, er_text tool, er_error *); /* it was called; so may be strangers' tools */
ER_API er_status er_fail(er_task *, er_text tool, er_error *); /* it did not work: left out until the next call */
ER_API er_status er_retry(er_task *, er_text tool, er_error *);
ER_API er_status er_undo(er_task *, er_error *);               /* takes the last call or failure back */
ER_API er_status er_fork(const er_task *, er_task **, er_error *);
ER_API void er_end(er_task *);                                 /* NULL is fine */

/* ---- Conversations ----

   Users go on: "and mail it to Jonas", "no, to Ana", "thanks". Such a turn says little alone. Begin it with the calls that
   `earlier` turns made, and it is a task like any other, with a history of its own:

       const er_text found = ER_TEXT("find_file");
       er_begin_options options = {.size = sizeof options, .earlier = &found, .earlier_count = 1, .last_count = 1};
       if (er_begin(model, ER_TEXT("and mail it to Jonas"), &options, &task, &why)) return puts(why.text), 1;

   The caller keeps them, over restarts if it likes, and drops the last ones where the user takes a turn back. What counts
   of them is copied (section 9.1): the latest 32, and of these the ones of the latest turn that made any. Each turn is encoded
   once, by the bundle's own encoder: the small one in front decides a first turn alone. Calls are known by their tools'
   names, so the model may be another one than before, as er_with_tools made it. Tools that may be chosen are told anew. */

/* ---- Learning ----

   A device learns which calls solved a request, and decides so from then on (section 19):

       er_learner *learner; er_begin_options options = {.size = sizeof options};
       if (er_learner_open(model, "desktop.overlay", NULL, &learner, &why)) return puts(why.text), 1;
       options.learner = learner;
       if (er_begin(er_learner_model(learner), words, &options, &task, &why)) return puts(why.text), 1;
       …er_next, er_call, as always; and where the user is content…
       if (er_learn(task, NULL, NULL, &why)) puts(why.text);
       er_end(task);
       er_learner_close(learner);

   Threads may decide with a learner while others learn. Each er_next goes by what was learned until then; only the small
   encoder in front, which learns nothing, decides as before a task that began when nothing was learned. */

typedef struct {
    size_t size;   /* sizeof(er_learner_options) */
    double wait_s; /* for another writer to end; 10 if 0 */
    er_text key;   /* this device's secret, 16 to 1,024 bytes: an overlay of another one, or altered without it, is refused
                      (FORMAT.md 15.7); at NULL: overlays are bound to nobody */
    uint32_t fold_after; /* plans that are added before the file is written anew, which can be read faster; 256 if 0 */
    const void *bytes;   /* (byte_count): in the place of a file, an overlay that the caller keeps, as er_learner_bytes told of */
    size_t byte_count;   /* it; read before this returns. What is learned then is for er_learner_bytes to tell */
} er_learner_options;

/* Goes on where an overlay (section 15) left off, which is made with the first plan where it is not there; with NULL what is
   learned lasts as long as the learner. Each change waits for other writers, and takes up what they learned. */
ER_API er_status er_learner_open(const er_model *, const char *overlay, const er_learner_options *, er_learner **, er_error *);
ER_API void er_learner_close(er_learner *); /* NULL is fine; running tasks hold what they need of it */

/* The model with the tools that came and went by the overlay, to begin tasks with: that which the learner was opened with,
   where none did. So may models that er_with_tools made of it, and those of other bundles with this encoder. It lives as long
   as the learner. */
ER_API const er_model *er_learner_model(const er_learner *);

typedef struct {
    size_t size;      /* sizeof(er_report) */
    uint32_t stored;  /* plans, in all */
    int32_t used;     /* 0 while what was learned does worse than the bundle alone, and is left aside */
    double gain;      /* nats a plan over the bundle, of the last ten or so */
    uint64_t bytes;   /* of the numbers, as they are written */
    int64_t id;       /* of the plan that er_learn learned; −1 from er_learned */
} er_report;

ER_API er_status er_learned(er_learner *, er_report *, er_error *);

typedef enum { ER_ACCEPTED = 0, ER_CORRECTED = 1, ER_DEMONSTRATION = 2 } er_source;

typedef struct {
    size_t size;
    er_source source;      /* for whoever lists plans; all count alike */
    int32_t without_words; /* 1: the query's vector and the tools' names are kept, and not its words */
} er_learn_options;

/* Learns that the calls that a task has made, and no more, solve its request: none, that nothing fits. What was learned is
   on disk when this returns ER_OK; otherwise nothing was. */
ER_API er_status er_learn(er_task *, const er_learn_options *, er_report *, er_error *);

typedef struct {
    int64_t id;
    er_text query;        /* empty where no words were kept */
    const er_text *calls; /* (call_count) */
    uint32_t call_count;
    er_source source;
    double learned_at;    /* seconds since 1970 */
} er_plan_told;

/* Tells of each plan that is stored, in no order; what is told lives for the call, which may use the learner. */
ER_API er_status er_learned_plans(er_learner *, void (*tell)(void *context, const er_plan_told *), void *context, er_error *);

/* Exactly one of these says what to forget. */
typedef struct {
    size_t size;
    er_text query;      /* plans with these words, whatever their case and spaces */
    er_text tool;       /* plans that call it */
    const int64_t *ids; /* (id_count): plans with these */
    size_t id_count;
    int32_t everything; /* 1 */
} er_forget_options;

/* Forgets plans and all that they taught: what is left is learned anew, in a millisecond a plan. `count`: how many there
   were; may be NULL. */
ER_API er_status er_forget(er_learner *, const er_forget_options *, uint32_t *count, er_error *);

/* Has the overlay keep a change of tools for later starts: the one by which er_with_tools made `after` of `before`, which
   holds the tools that the overlay has (er_learner_model). That is `after` from then on. */
ER_API er_status er_learner_keep(er_learner *, const er_model *before, const er_change *, const er_model *after, er_error *);

/* Another learner that has learned the same, and keeps nothing: to try out what a plan would change. It knows nothing of what
   is learned later, and is closed like any other. */
ER_API er_status er_learner_copy(er_learner *, er_learner **copy, er_error *);

/* Tells of all that was learned as the bytes of an overlay without changes of tools, which live for the call: to hand over,
   or to back up what no file keeps. */
ER_API er_status er_learner_bytes(
    er_learner *, void (*tell)(void *context, const void *bytes, size_t length), void *context, er_error *);

/* ---- A call's arguments ---- */

/* A value's type in JSON. */
typedef enum { ER_NULL, ER_BOOLEAN, ER_INTEGER, ER_NUMBER, ER_STRING, ER_ARRAY, ER_OBJECT } er_type;

/* Where a value is from: words of the request; one of the schema's choices, or a Boolean; what an earlier call gave, "$out_1"
   where nobody told that; an earlier call's argument of that name; the schema's default. */
typedef enum { ER_FROM_WORDS, ER_FROM_CHOICE, ER_FROM_OUTPUT, ER_FROM_EARLIER, ER_FROM_DEFAULT } er_argument_source;

typedef struct {
    er_type type;
    er_text text; /* of a string what it says; of all others JSON */
} er_value;

typedef struct {
    er_text name;
    er_value value;
    er_argument_source source;
    uint32_t begin, end;      /* code points of the query; both 0 where it is not from there */
    double confidence;        /* the share of such values that are right */
    er_value alternatives[3]; /* (alternative_count): others that may be meant, the likeliest first */
    uint32_t alternative_count;
} er_argument;

/* What a call must have and nobody said, or what is likelier wrong than right. */
typedef struct {
    er_text name, question; /* what to ask the user */
} er_missing;

/* A call that was made: its arguments as a JSON object, and what it gave as JSON. */
typedef struct {
    er_text tool, arguments, result; /* empty: none; nobody told it */
} er_made_call;

typedef struct {
    size_t size;
    const er_made_call *calls; /* (call_count): those before this one, oldest first; the task's own calls have no arguments */
    size_t call_count;
    int32_t year, month, day, hour, minute, second; /* what "tomorrow" is counted from; year 0: such days have no date */
    int32_t zoned, zone;       /* 1: that is so many minutes ahead of UTC */
    int32_t rules_alone;       /* 1: what the bundle has for arguments is left aside */
} er_arguments_options;

/* Reads a tool's arguments out of a task's words (section 8.5), as the next call: nothing is made up, and nothing given that the tool's schema
   refuses. In the schema's order, those first that a call must have. Texts live until the task's arguments are read again, or
   it ends. */
ER_API er_status er_arguments(er_task *, er_text tool, const er_arguments_options *, er_argument *room, size_t *count, er_missing *missing,
                              size_t *missing_count, er_error *);

/* ---- Search ---- */

typedef enum {
    ER_SEARCH_AUTO = 0,       /* by what was demonstrated and learned where words are like that, else as hybrid (16.14) */
    ER_SEARCH_HYBRID = 1,     /* by the tools' own words, and by meaning, whatever was demonstrated (16.8) */
    ER_SEARCH_DESCRIPTION = 2 /* by the cosine alone */
} er_search_strategy;

typedef struct {
    size_t size;
    er_search_strategy strategy;
    er_learner *learner;      /* whose knowledge ranks, too; NULL: the bundle's alone */
    /* Is told of the words, and then of each clause, that demonstrations speak of: of all tools their probabilities as the first
       call, which live for the call, and how many clauses are left to be read. Other than 0 leaves these out. NULL: nobody asks. */
    int32_t (*tell)(void *context, er_text words, const float *probabilities, uint32_t left);
    void *tell_context;
    const er_task *task;      /* of this model, with these very words: by hybrid and description they are not encoded again where
                                 the bundle's own encoder read them; no other thread may use it meanwhile. NULL: none */
} er_search_options;

typedef struct {
    uint32_t tool_number;
    er_text tool;
    double score;  /* what hits are ordered by */
    double share;  /* of what the words want: all shares sum to 1; by description 0 */
    double cosine; /* of the words to the tool's text */
} er_hit;

/* The tools that words want most, best first. Clauses are encoded one by one where demonstrations speak. */
ER_API er_status er_search(
    const er_model *, er_text query, const er_search_options *, er_hit *room, size_t *count, er_error *);

/* ---- What words say by themselves ---- */

/* Languages whose rules are known; and kinds of values. */
typedef enum { ER_EN, ER_DE, ER_FR, ER_ES, ER_ZH, ER_LANGUAGES } er_language;
enum { ER_VALUE_URL, ER_VALUE_EMAIL, ER_VALUE_PATH, ER_VALUE_CHANNEL, ER_VALUE_IBAN, ER_VALUE_MONEY, ER_VALUE_TIME, ER_VALUE_DATE,
       ER_VALUE_DURATION, ER_VALUE_PHONE, ER_VALUE_QUOTED, ER_VALUE_NUMBER, ER_VALUE_PERCENT, ER_VALUES };

typedef struct {
    uint32_t begin, end; /* code points of a text, the second not included */
} er_span;

enum { ER_MOST_CLAUSES = 24 };

typedef struct {
    size_t size;          /* sizeof(er_understood) */
    er_language language; /* by 16.11; English where there is doubt */
    int32_t sure;         /* 1: nobody doubts that it is this one, and not English */
    int32_t only_asks;    /* 1: a question that changes nothing (16.13) */
    uint32_t values;      /* kinds of values that stand in it (16.12), each a bit: 1 << ER_VALUE_URL and the like */
    uint32_t clause_count, part_count;
    er_span clauses[ER_MOST_CLAUSES]; /* that are compared with tools (16.4, 16.9): at least one, which may be all of it */
    er_span parts[ER_MOST_CLAUSES];   /* that a search may look for one by one: without signs around them, each once, never all of it */
} er_understood;

/* Reads a text of at most 20,000 characters by the rules of its language; no bundle is needed. With a size up to `only_asks`,
   offsetof(er_understood, only_asks), the language alone is told, in a fifth of the time. */
ER_API er_status er_understand(er_text, er_understood *, er_error *);

/* The kinds of values that a tool takes by its parameters' names and formats, as bits; 0 where there is no such tool. */
ER_API uint32_t er_tool_takes(const er_model *, uint32_t tool);

/* ---- Signatures, for whoever keeps bundles without loading them (FORMAT.md 21) ---- */

/* Whether 32 bytes are a public key of Ed25519: a point, in its only encoding, that is not of small order. */
ER_API int32_t er_ed25519_is_key(const uint8_t key[32]);

/* Whether that key made the signature of 64 bytes over a text (RFC 8032); 0 for a key that is none. The equation is that
   without the cofactor, and R is compared as bytes, so that all readers agree on all bytes. */
ER_API int32_t er_ed25519_verify(const uint8_t key[32], er_text, const uint8_t signature[64]);

/* ---- Text, for whoever brings an encoder ---- */

/* The query's tokens without special ones, as the bundle's tokenizer has them. Any of the three may be NULL. Places are code points of prefix + query. */
ER_API er_status er_tokens(
    const er_model *, er_text query, uint32_t *ids, uint32_t *begins, uint32_t *ends, size_t *count, er_error *);

/* The query's vector, (dimension) numbers. */
ER_API er_status er_encode(const er_model *, er_text query, float *vector, size_t dimension, er_error *);

/* ---- An encoder without a bundle, for whoever builds one: heads are fitted on the vectors that devices will have ---- */

typedef struct {
    size_t size;         /* sizeof(er_embedder_options) */
    const void *encoder; /* what will be the file with the role `encoder` (FORMAT.md 5), of so many bytes; NULL where there is none */
    size_t length;
    er_text arrays;      /* the file with the role `encoder-arrays` (5.4); both files stay as long as what is made of them */
    uint32_t dimension, max_tokens; /* as the bundle's spec will have them */
} er_embedder_options;

ER_API er_status er_embedder_open(const er_embedder_options *, er_embedder **, er_error *);
ER_API void er_embedder_close(er_embedder *); /* NULL is fine */

/* The vectors of one text's tokens, (count, dimension), and the text's own, (dimension), by the ids of all of its tokens, the
   special ones among them; up to `threads` CPUs share the work, and no bit depends on how many. */
ER_API er_status er_embed(const er_embedder *, const int64_t *ids, size_t count, int32_t threads, float *tokens, float *vector, er_error *);

#ifdef __cplusplus
}
#endif

#endif
