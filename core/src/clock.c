/* A clock for er_begin_options.clock, for whoever has none at hand. */

#if !defined(_WIN32) && !defined(_POSIX_C_SOURCE)
#define _POSIX_C_SOURCE 200809L
#endif

#include "edgeret.h"

#include <time.h>

#if defined(_WIN32)
#include <windows.h>
#endif

double er_clock(void *context)
{
    (void)context;
#if defined(_WIN32)
    LARGE_INTEGER now, a_second;
    if (!QueryPerformanceCounter(&now) || !QueryPerformanceFrequency(&a_second)) return 0.0;
    return (double)now.QuadPart / (double)a_second.QuadPart;
#elif defined(__wasm__) || defined(ER_ALONE)
    return 0.0; /* a page, or a chip, brings its own */
#else
    struct timespec now;
    return clock_gettime(CLOCK_MONOTONIC, &now) ? 0.0 : (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
#endif
}
