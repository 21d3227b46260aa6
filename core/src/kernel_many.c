#include "kernel_here.h"

#include "../../edgeret/kernel/many.c"
