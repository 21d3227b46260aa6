/* The sets of instructions that loops are compiled for, the plainest first. */

#ifndef ER_CPU_H
#define ER_CPU_H

#include "arithmetic.h"

enum { GENERIC, AVX2, AVX_VNNI, AVX512, AVX512_VNNI, ARM64_DOTPROD, SETS };

/* Whether this CPU has AVX2 and FMA, and its system keeps their registers. */
int64_t er_has_avx2(void);

/* The set that encodes fastest here, a number of the above; GENERIC where none is. */
int64_t er_widest_set(void);

#endif
