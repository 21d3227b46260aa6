/* Included in front of everything where -DER_ALLOCATE=probe_allocate. */

#include <stddef.h>

void *probe_allocate(size_t size);
