/* What was learned, shared by threads: who writes has the turn, and waits for other processes with it; only then the state
   is locked, on which decisions wait. */

#ifndef ER_LEARN_HANDLE_H
#define ER_LEARN_HANDLE_H

#include <stdatomic.h>

#include "learn_records.h"
#include "locked.h"
#include "request.h"

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>
#undef near /* words of ours, and of sixteen bits */
#undef far
typedef SRWLOCK er_mutex;
static inline void er_mutex_make(er_mutex *m) { InitializeSRWLock(m); }
static inline void er_mutex_drop(er_mutex *m) { (void)m; }
static inline void er_mutex_lock(er_mutex *m) { AcquireSRWLockExclusive(m); }
static inline void er_mutex_unlock(er_mutex *m) { ReleaseSRWLockExclusive(m); }
#elif defined(__wasm__) || defined(ER_ALONE)
typedef int er_mutex; /* one thread */
static inline void er_mutex_make(er_mutex *m) { (void)m; }
static inline void er_mutex_drop(er_mutex *m) { (void)m; }
static inline void er_mutex_lock(er_mutex *m) { (void)m; }
static inline void er_mutex_unlock(er_mutex *m) { (void)m; }
#else
#include <pthread.h>
typedef pthread_mutex_t er_mutex;
static inline void er_mutex_make(er_mutex *m) { pthread_mutex_init(m, NULL); }
static inline void er_mutex_drop(er_mutex *m) { pthread_mutex_destroy(m); }
static inline void er_mutex_lock(er_mutex *m) { pthread_mutex_lock(m); }
static inline void er_mutex_unlock(er_mutex *m) { pthread_mutex_unlock(m); }
#endif

/* A model that a learner hands out, and so keeps. */
typedef struct er_kept_model er_kept_model;
struct er_kept_model {
    er_model *model;
    er_kept_model *next;
};

struct er_learner {
    const er_recalling *by; /* first, as in request.h */
    er_arena arena;        /* which holds the learner itself */
    atomic_uint holders;
    er_model *given, *model; /* with the overlay's tools; the same where it has none */
    er_kept_model *before;   /* what `model` was */
    er_demonstrated shown;
    const char *path;      /* NULL: nothing is kept */
    const er_key *key;     /* that it is bound to; NULL: to none */
    double wait_s;
    er_mutex turn, lock;
    er_knowledge *state;     /* changed with the turn, under the lock */
    int64_t serials;
    /* With the turn: */
    er_contents contents;  /* of the file, */
    er_stamp stamp;        /* as this learner left it */
    uint8_t others[ER_DIGEST]; /* of its records that are not learned */
    bool others_changed;   /* by somebody else, so that `model` has other tools */
    uint32_t fold_after; /* plans behind the state beyond which it is written anew */
    uint32_t unfolded, named, folded; /* plans behind the state in it; names in it; names when it was written anew */
};

#ifndef ER_UNFOLDED /* plans in a file beyond which it is written anew; tests have it sooner */
#define ER_UNFOLDED 256
#endif
enum { ER_NEW_NAMES = 20000 }; /* beyond which it is, too: it drops those that nothing refers to any more */

extern const er_recalling er_learner_recalling; /* learn_recall.c */
bool er_learner_serves(const er_learner *, const er_model *);
/* A learner of a model, which has learned nothing; NULL: no memory. */
er_learner *er_learner_new(const er_model *, double wait_s, er_error *);
/* Reads the overlay, and the tools in it: the file without a lock, or these bytes, if there are any. */
bool er_learner_read(er_learner *, er_text bytes, er_error *);
/* Locks it, and takes up what others wrote; the caller closes it. */
bool er_learner_lock(er_learner *, er_locked *, er_error *);
/* Begins a record that is to be added, and adds it. */
void er_record_begin(const er_learner *, er_bytes *);
bool er_record_add(er_learner *, const er_locked *, er_bytes *, er_error *);
bool er_learner_append(er_learner *, const er_locked *, const er_plan *, er_error *);
/* All that was learned, with names numbered anew, as batches that are tied to `contents`. */
bool er_put_learned(er_bytes *, er_arena *, const er_knowledge *, const int32_t *numbers, uint32_t names, const char *shown, er_contents *);
/* Writes it anew, if there is one, and drops names that nothing refers to; the state is then this one. */
bool er_learner_fold(er_learner *, er_locked *, er_knowledge *, er_error *);

#endif
