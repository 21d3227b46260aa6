#define _GNU_SOURCE /* signals are POSIX, not C */
#define _DARWIN_C_SOURCE

/* The threads are made with the first work that is shared, and are never more than were asked for. Between works they
   sleep, so they cost nothing. One work is shared at a time: whoever comes meanwhile does all alone, since then the CPUs
   have enough to do. Nobody waits for a thread that has not come back from its work, which other programs may keep from
   its CPU for milliseconds. Knows nothing of what the work is. */

#include "workers.h"

#include <stdatomic.h>
#include <stddef.h>
#include <string.h>

#include "threads.h"

#if defined(ER_ALONE)
int64_t er_share(Work *work, void *of, int64_t workers)
{
    (void)workers;
    work(of, 0);
    return 0;
}

int64_t er_gone(const void *of, int64_t wait)
{
    (void)of;
    (void)wait;
    return 1;
}

#else

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wanted = PTHREAD_COND_INITIALIZER, left = PTHREAD_COND_INITIALIZER;
static atomic_flag busy = ATOMIC_FLAG_INIT;

/* All below only with the lock. */
static Work *shared;
static void *shared_of;
static const void *at[MOST_WORKERS]; /* what each thread is at */
static int64_t next, most, threads;

static void *help(void *place)
{
    const void **mine = place;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!shared || next >= most) pthread_cond_wait(&wanted, &lock);
        Work *work = shared;
        void *of = shared_of;
        const int64_t worker = next++;
        *mine = of;
        pthread_mutex_unlock(&lock);
        work(of, worker);
        pthread_mutex_lock(&lock);
        *mine = NULL;
        pthread_cond_broadcast(&left);
    }
    return NULL;
}

#if defined(_WIN32)
static void begin_once(void) {} /* nobody forks there */

static DWORD WINAPI run(void *place)
{
    help(place);
    return 0;
}

static int add(const void **place)
{
    const HANDLE made = CreateThread(NULL, 0, run, place, 0, NULL);
    if (made) CloseHandle(made);
    return made != NULL;
}

#else
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void before_fork(void) { pthread_mutex_lock(&lock); }

static void in_parent(void) { pthread_mutex_unlock(&lock); }

/* A child has none of its parent's threads, and whoever shared something then is not in it. */
static void in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&wanted, NULL);
    pthread_cond_init(&left, NULL);
    shared = NULL;
    memset(at, 0, sizeof at);
    threads = 0;
    atomic_flag_clear(&busy);
}

static void begin(void) { pthread_atfork(before_fork, in_parent, in_child); }

static void begin_once(void) { pthread_once(&once, begin); }

/* Another thread, if one is to be had; signals are for the threads that the program made itself. */
static int add(const void **place)
{
    pthread_t made;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&made, NULL, help, place);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed) pthread_detach(made);
    return !failed;
}
#endif

/* With the lock. */
static int64_t somebody_at(const void *of)
{
    int64_t found = 0;
    for (int64_t i = 0; i < threads; i++) found |= at[i] == of;
    return found;
}

int64_t er_share(Work *work, void *of, int64_t workers)
{
    if (workers > MOST_WORKERS) workers = MOST_WORKERS;
    if (workers < 2 || atomic_flag_test_and_set(&busy)) {
        work(of, 0);
        return 0;
    }
    begin_once();
    pthread_mutex_lock(&lock);
    while (threads < workers - 1 && add(at + threads)) threads++;
    shared = work;
    shared_of = of;
    next = 1;
    most = workers;
    pthread_mutex_unlock(&lock);
    pthread_cond_broadcast(&wanted); /* without the lock, which they want at once */
    work(of, 0);
    pthread_mutex_lock(&lock);
    shared = NULL;
    const int64_t late = somebody_at(of);
    pthread_mutex_unlock(&lock);
    atomic_flag_clear(&busy);
    return late;
}

int64_t er_gone(const void *of, int64_t wait)
{
    pthread_mutex_lock(&lock);
    while (wait && somebody_at(of)) pthread_cond_wait(&left, &lock);
    const int64_t gone = !somebody_at(of);
    pthread_mutex_unlock(&lock);
    return gone;
}
#endif
