/* Numbers modulo 2^255 - 19, as ten limbs of 26 and 25 bits in turn, signed. Knows nothing of points. */

#ifndef ER_ED25519_NUMBERS_H
#define ER_ED25519_NUMBERS_H

#include "common.h"

typedef struct {
    int32_t at[10];
} er_number;

/* Limbs of products are at most 2^25 + 2^9, and 2^24 + 2^9; those that are multiplied may be sums of up to four of these. */
void er_number_multiply(er_number *, const er_number *, const er_number *);
void er_number_square(er_number *, const er_number *, int times);
void er_number_add(er_number *, const er_number *, const er_number *);
void er_number_subtract(er_number *, const er_number *, const er_number *);

/* Of the lowest 255 bits. */
void er_number_of(er_number *, const uint8_t bytes[32]);
/* The only encoding of a number: what is below 2^255 - 19. */
void er_number_bytes(const er_number *, uint8_t bytes[32]);

/* To the power of 2^250 - 1, and of 11: both roots and inverses are made of them. */
void er_number_powers(er_number *most, er_number *eleventh, const er_number *);

#endif
