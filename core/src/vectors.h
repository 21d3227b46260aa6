/* Products and sums of float vectors. */

#ifndef ER_VECTORS_H
#define ER_VECTORS_H

#include "common.h"

float er_dot(const float *a, const float *b, uint32_t n);
/* found[i] = rows[i] · vector, for rows (count, n). */
void er_products(const float *rows, uint32_t count, uint32_t n, const float *vector, float *found);
/* found[k * count + i] = rows[i] · vectors[k], for vectors (many, n). */
void er_many_products(const float *rows, uint32_t count, uint32_t n, const float *vectors, uint32_t many, float *found);
/* The same of one vector for rows of bytes with a scale each. */
void er_byte_products(const int8_t *rows, const float *scales, uint32_t count, uint32_t n, const float *vector, float *found);
/* found = the sum of the rows `at` (count), each times a value; of rows (…, n) of bytes, n a multiple of 16. */
void er_sum_rows(const int8_t *rows, uint32_t n, const uint32_t *at, const float *values, uint32_t count, float *found);
/* A vector's numbers as whole ones, as many as sums of their products with bytes have room for (16.5): what 1 of them
   counts for. All are finite. */
float er_whole_numbers(const float *vector, uint32_t n, int16_t *found);
enum { ER_BLOCK = 16 };
/* Rows as bytes with a scale each, and how far each is from its row, in blocks of rows: of each pair of numbers (an odd
   one is followed by 0) those of all rows stand together. All are finite; what is no row stays as it was. */
void er_bytes_of(const float *rows, uint32_t count, uint32_t n, int8_t *bytes, float *scales, float *errors);
/* found[i] = row i · a vector of whole numbers, which count for a step each; of all rows of so many blocks. `asked` has
   an even count of numbers. */
void er_block_products(const int8_t *bytes, const float *scales, uint32_t blocks, uint32_t n, const int16_t *asked, float step, float *found);
/* near[i] = the largest of near[i] and of the products of row i with so many such vectors, (many, n) and a step each. */
void er_nearest_bytes(
    const int8_t *rows, const float *scales, uint32_t count, uint32_t n, const int16_t *asked, const float *steps, uint32_t many, float *near);
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
