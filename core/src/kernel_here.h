/* What the kernel of Python's package needs to be compiled here as it stands there: one copy for both, of which nothing is
   seen outside of either library. */

#include "../../edgeret/kernel/arithmetic.h"

#undef PUBLIC
#define PUBLIC __attribute__((visibility("hidden")))

#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wshadow"
#pragma GCC diagnostic ignored "-Wunused-function"
#if !defined(__clang__)
#pragma GCC diagnostic ignored "-Wpsabi"
#endif
