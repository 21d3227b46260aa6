/* An allocator that fails when it is told to: for tests/core/test_no_memory.py, which builds the core with
   -DER_ALLOCATE=probe_allocate. */

#include "probe_allocate.h"
#include <stdlib.h>

static long long left = -1, asked;

void *probe_allocate(size_t size)
{
    asked++;
    if (left >= 0 && left-- == 0) return NULL;
    return calloc(1, size);
}

/* The allocation behind so many others fails, and no other does; −1: none. Gives how many were asked for until now. */
long long probe_fail(long long after);

long long probe_fail(long long after)
{
    const long long before = asked;
    left = after;
    asked = 0;
    return before;
}
