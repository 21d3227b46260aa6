#include "kernel_here.h"

#include "../../edgeret/kernel/cpu.c"
