/* As Python's is compiled: a product and a sum are one operation where the CPU has it, which -std=c11 would forbid, and
   rounding to bytes makes much of a last bit. */
#if !defined(__clang__)
#pragma GCC optimize("O3", "fp-contract=fast", "no-math-errno", "no-trapping-math")
#endif

#include "kernel_here.h"

#include "../../edgeret/kernel/transformer.c"
