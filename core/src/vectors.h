/* Products and sums of float vectors. */

#ifndef ER_VECTORS_H
#define ER_VECTORS_H

#include "common.h"

float er_dot(const float *a, const float *b, uint32_t n);
/* found[i] = rows[i] · vector, for rows (count, n). */
void er_products(const float *rows, uint32_t count, uint32_t n, const float *vector, float *found);
/* found[k * count + i] = rows[i] · vectors[k], for vectors (many, n). */
void er_many_products(const float *rows, uint32_t count, uint32_t n, const float *vectors, uint32_t many, float *found);
/* The same for rows of bytes with a scale each. */
void er_byte_products(const int8_t *rows, const float *scales, uint32_t count, uint32_t n, const float *vector, float *found);
void er_many_byte_products(
    const int8_t *rows, const float *scales, uint32_t count, uint32_t n, const float *vectors, uint32_t many, float *found);
/* a += weight · b */
void er_add(float *a, float weight, const float *b, uint32_t n);
double er_length(const float *a, uint32_t n);
/* Divides by the length, at least `least`. */
void er_unit(float *a, uint32_t n, double least);
float er_largest(const float *, uint32_t n);
/* The first of the largest ones. */
uint32_t er_first_largest(const float *, uint32_t n);
/* values − log Σ exp values. */
void er_log_softmax(float *values, uint32_t n);

#endif
