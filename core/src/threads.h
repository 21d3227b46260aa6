/* The few calls of POSIX threads that workers.c makes. Windows has others for the same, so there they are
   given their POSIX names; WebAssembly without threads has none, and needs none. Knows nothing of what threads do. */

#ifndef ER_THREADS_H
#define ER_THREADS_H

#if defined(__wasm__) && !defined(_REENTRANT) && !defined(ER_ALONE)
#define ER_ALONE
#endif

#if defined(ER_ALONE) /* defined by whoever compiles for a bare device, too */
#elif defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#include <windows.h>

typedef SRWLOCK pthread_mutex_t;
typedef CONDITION_VARIABLE pthread_cond_t;
#define PTHREAD_MUTEX_INITIALIZER SRWLOCK_INIT
#define PTHREAD_COND_INITIALIZER CONDITION_VARIABLE_INIT
static inline void pthread_mutex_lock(SRWLOCK *lock) { AcquireSRWLockExclusive(lock); }
static inline void pthread_mutex_unlock(SRWLOCK *lock) { ReleaseSRWLockExclusive(lock); }
static inline void pthread_cond_wait(CONDITION_VARIABLE *until, SRWLOCK *lock)
{
    SleepConditionVariableSRW(until, lock, INFINITE, 0);
}
static inline void pthread_cond_broadcast(CONDITION_VARIABLE *waiting) { WakeAllConditionVariable(waiting); }

#else
#include <pthread.h>
#include <signal.h>
#endif

#endif
