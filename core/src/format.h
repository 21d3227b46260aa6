/* Texts by a format, whatever a program's locale is. */

#ifndef ER_FORMAT_H
#define ER_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* As snprintf has %c %d %i %u %x %s %e %f %g and %%, with 0, a width, a precision, h, l, ll and z; a point stands before decimals.
   Gives how many bytes were written before the zero, fewer than `size`. */
size_t er_format(char *room, size_t size, const char *format, ...) __attribute__((format(printf, 3, 4)));
size_t er_format_by(char *room, size_t size, const char *format, va_list) __attribute__((format(printf, 3, 0)));

#endif
