#define _GNU_SOURCE /* signals are POSIX, not C */
#define _DARWIN_C_SOURCE
#include "kernel_here.h"

#include "../../edgeret/kernel/workers.c"
