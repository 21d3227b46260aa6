/* The sets of instructions that loops are compiled for; their numbers are those in encoders/compiled.py. */

#ifndef EDGERET_CPU_H
#define EDGERET_CPU_H

#include "arithmetic.h"

enum { GENERIC, AVX2, AVX_VNNI, AVX512, AVX512_VNNI, ARM64_DOTPROD, SETS };

/* Whether this CPU has AVX2 and FMA, and its system keeps their registers. */
PUBLIC int64_t edgeret_has_avx2(void);

/* The set that encodes fastest here, a number of the above; GENERIC where none is. */
PUBLIC int64_t edgeret_instruction_set(void);

#endif
