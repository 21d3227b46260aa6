/* What both files of the shim share: what is told to JavaScript, and how. */

#ifndef EDGERET_SHIM_H
#define EDGERET_SHIM_H

#include <stdbool.h>
#include <stddef.h>

#include "edgeret.h"

#define EXPORT(name) __attribute__((export_name(name)))

extern er_error failure;
extern double numbers[12];

void put(const void *bytes, size_t length);
void put_number(double);
void put_text(er_text);
void put_texts(const er_text *, size_t count);
void put_begin(void);
bool put_fails(bool); /* from now on, if that is true; whether it does */
double put_end(er_status); /* how many bytes; below 0: a failure */

#endif
