/* The threads are made with the first work that is shared, and are never more than were asked for. Between works they
   sleep, so they cost nothing. One work is shared at a time: whoever comes meanwhile does all alone, since then the CPUs
   have enough to do. Knows nothing of what the work is. */

#include "workers.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t wanted = PTHREAD_COND_INITIALIZER, left = PTHREAD_COND_INITIALIZER;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_flag busy = ATOMIC_FLAG_INIT;

/* All below only with the lock. */
static Work *shared;
static void *shared_of;
static int64_t next, most, inside, threads;

static void *help(void *nothing)
{
    (void)nothing;
    pthread_mutex_lock(&lock);
    for (;;) {
        while (!shared || next >= most) pthread_cond_wait(&wanted, &lock);
        Work *work = shared;
        void *of = shared_of;
        const int64_t worker = next++;
        inside++;
        pthread_mutex_unlock(&lock);
        work(of, worker);
        pthread_mutex_lock(&lock);
        if (!--inside) pthread_cond_signal(&left);
    }
    return NULL;
}

static void before_fork(void) { pthread_mutex_lock(&lock); }

static void in_parent(void) { pthread_mutex_unlock(&lock); }

/* A child has none of its parent's threads, and whoever shared something then is not in it. */
static void in_child(void)
{
    pthread_mutex_init(&lock, NULL);
    pthread_cond_init(&wanted, NULL);
    pthread_cond_init(&left, NULL);
    shared = NULL;
    inside = threads = 0;
    atomic_flag_clear(&busy);
}

static void begin(void) { pthread_atfork(before_fork, in_parent, in_child); }

/* Another thread, if one is to be had; signals are for the threads that the program made itself. */
static int add(void)
{
    pthread_t made;
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    const int failed = pthread_create(&made, NULL, help, NULL);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (!failed) pthread_detach(made);
    return !failed;
}

void edgeret_share(Work *work, void *of, int64_t workers)
{
    if (workers > MOST_WORKERS) workers = MOST_WORKERS;
    if (workers < 2 || atomic_flag_test_and_set(&busy)) {
        work(of, 0);
        return;
    }
    pthread_once(&once, begin);
    pthread_mutex_lock(&lock);
    while (threads < workers - 1 && add()) threads++;
    shared = work;
    shared_of = of;
    next = 1;
    most = workers;
    pthread_cond_broadcast(&wanted);
    pthread_mutex_unlock(&lock);
    work(of, 0);
    pthread_mutex_lock(&lock);
    shared = NULL;
    while (inside) pthread_cond_wait(&left, &lock);
    pthread_mutex_unlock(&lock);
    atomic_flag_clear(&busy);
}
