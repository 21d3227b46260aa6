#include "common.h"

#include "ed25519_numbers.h"
#include "sha512.h"

typedef er_number number;

static const uint8_t D[32] = {
    0xa3, 0x78, 0x59, 0x13, 0xca, 0x4d, 0xeb, 0x75, 0xab, 0xd8, 0x41, 0x41, 0x4d, 0x0a, 0x70, 0x00,
    0x98, 0xe8, 0x79, 0x77, 0x79, 0x40, 0xc7, 0x8c, 0x73, 0xfe, 0x6f, 0x2b, 0xee, 0x6c, 0x03, 0x52};
static const uint8_t ROOT[32] = { /* of -1 */
    0xb0, 0xa0, 0x0e, 0x4a, 0x27, 0x1b, 0xee, 0xc4, 0x78, 0xe4, 0x2f, 0xad, 0x06, 0x18, 0x43, 0x2f,
    0xa7, 0xd7, 0xfb, 0x3d, 0x99, 0x00, 0x4d, 0x2b, 0x0b, 0xdf, 0xc1, 0x4f, 0x80, 0x24, 0x83, 0x2b};
static const uint8_t BASE_X[32] = {
    0x1a, 0xd5, 0x25, 0x8f, 0x60, 0x2d, 0x56, 0xc9, 0xb2, 0xa7, 0x25, 0x95, 0x60, 0xc7, 0x2c, 0x69,
    0x5c, 0xdc, 0xd6, 0xfd, 0x31, 0xe2, 0xa4, 0xc0, 0xfe, 0x53, 0x6e, 0xcd, 0xd3, 0x36, 0x69, 0x21};
static const uint8_t BASE_Y[32] = {
    0x58, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66,
    0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66};
static const number ZERO = {{0}}, ONE = {{1}};

static void load(number *n, const uint8_t bytes[32]) { er_number_of(n, bytes); }
static void multiply(number *n, const number *a, const number *b) { er_number_multiply(n, a, b); }
static void square(number *n, const number *a) { er_number_multiply(n, a, a); }
static void add(number *n, const number *a, const number *b) { er_number_add(n, a, b); }
static void subtract(number *n, const number *a, const number *b) { er_number_subtract(n, a, b); }

static bool same(const number *a, const number *b)
{
    uint8_t one[32], two[32];
    er_number_bytes(a, one);
    er_number_bytes(b, two);
    return !memcmp(one, two, 32);
}

/* ---- Points of the curve ---- */

typedef struct {
    number x, y, z, t; /* (x/z, y/z), t = xy/z */
} point;

/* What an addition takes of a point: y + x, y - x, 2dt and 2z. */
typedef struct {
    number plus, minus, product, z;
} row;

static void finish(point *p, const number *e, const number *f, const number *g, const number *h)
{
    multiply(&p->x, e, f);
    multiply(&p->y, g, h);
    multiply(&p->z, f, g);
    multiply(&p->t, e, h);
}

static void twice(point *p)
{
    number e, f, g, h, a, b;
    square(&a, &p->x);
    square(&b, &p->y);
    square(&f, &p->z);
    add(&e, &p->x, &p->y);
    square(&e, &e);
    add(&h, &a, &b);
    subtract(&g, &a, &b);
    subtract(&e, &h, &e);
    add(&f, &f, &f);
    add(&f, &f, &g);
    finish(p, &e, &f, &g, &h);
}

/* Takes a row away where `minus`. */
static void sum(point *p, const row *r, bool minus)
{
    number a, b, c, d, e, f, g, h;
    subtract(&a, &p->y, &p->x);
    multiply(&a, &a, minus ? &r->plus : &r->minus);
    add(&b, &p->y, &p->x);
    multiply(&b, &b, minus ? &r->minus : &r->plus);
    multiply(&c, &p->t, &r->product);
    multiply(&d, &p->z, &r->z);
    subtract(&e, &b, &a);
    subtract(minus ? &g : &f, &d, &c);
    add(minus ? &f : &g, &d, &c);
    add(&h, &b, &a);
    finish(p, &e, &f, &g, &h);
}

static void row_of(row *r, const point *p)
{
    number two_d;
    load(&two_d, D);
    add(&two_d, &two_d, &two_d);
    add(&r->plus, &p->y, &p->x);
    subtract(&r->minus, &p->y, &p->x);
    multiply(&r->product, &p->t, &two_d);
    add(&r->z, &p->z, &p->z);
}

static bool decode(const uint8_t bytes[32], point *p)
{
    uint8_t again[32];
    number u, v, v3, uv7, x, check;
    const int sign = bytes[31] >> 7;
    load(&p->y, bytes);
    er_number_bytes(&p->y, again);
    again[31] |= (uint8_t)(sign << 7);
    if (memcmp(again, bytes, 32)) return false;
    square(&u, &p->y);
    load(&v, D);
    multiply(&v, &v, &u);
    add(&v, &v, &ONE);
    subtract(&u, &u, &ONE);
    square(&v3, &v);
    multiply(&v3, &v3, &v);
    square(&uv7, &v3);
    multiply(&uv7, &uv7, &v);
    multiply(&uv7, &uv7, &u);
    er_number_powers(&x, &check, &uv7);
    er_number_square(&x, &x, 2);
    multiply(&x, &x, &uv7);
    multiply(&x, &x, &v3);
    multiply(&x, &x, &u);
    for (int attempt = 0;; attempt++) {
        square(&check, &x);
        multiply(&check, &check, &v);
        if (same(&check, &u)) break;
        if (attempt) return false;
        load(&check, ROOT);
        multiply(&x, &x, &check);
    }
    er_number_bytes(&x, again);
    if ((again[0] & 1) != sign) {
        if (same(&x, &ZERO)) return false;
        subtract(&x, &ZERO, &x);
    }
    p->x = x;
    p->z = ONE;
    multiply(&p->t, &x, &p->y);
    return true;
}

static void encode(const point *p, uint8_t bytes[32])
{
    number inverse, eleventh, n;
    uint8_t x[32];
    er_number_powers(&inverse, &eleventh, &p->z);
    er_number_square(&inverse, &inverse, 5);
    multiply(&inverse, &inverse, &eleventh);
    multiply(&n, &p->x, &inverse);
    er_number_bytes(&n, x);
    multiply(&n, &p->y, &inverse);
    er_number_bytes(&n, bytes);
    bytes[31] |= (uint8_t)((x[0] & 1) << 7);
}

static bool key_of(const uint8_t bytes[32], point *p)
{
    if (!decode(bytes, p)) return false;
    point eight = *p;
    for (int i = 0; i < 3; i++) twice(&eight);
    return !same(&eight.x, &ZERO) || !same(&eight.y, &eight.z);
}

/* ---- Scalars: four words, the lowest first ---- */

static const uint64_t ORDER[4] = {0x5812631a5cf5d3ed, 0x14def9dea2f79cd6, 0x0000000000000000, 0x1000000000000000};

static bool below_order(const uint64_t s[4])
{
    for (int i = 3; i >= 0; i--)
        if (s[i] != ORDER[i]) return s[i] < ORDER[i];
    return false;
}

/* 64 bytes modulo the order, bit by bit: 5 us, and nothing to get wrong. */
static void reduce(const uint8_t bytes[64], uint64_t s[4])
{
    memset(s, 0, 32);
    for (int bit = 511; bit >= 0; bit--) {
        for (int i = 3; i >= 0; i--) s[i] = s[i] << 1 | (i ? s[i - 1] >> 63 : bytes[bit / 8] >> bit % 8 & 1);
        if (below_order(s)) continue;
        uint64_t borrow = 0;
        for (int i = 0; i < 4; i++) {
            const uint64_t less = s[i] - ORDER[i], next = (s[i] < ORDER[i]) | (less < borrow);
            s[i] = less - borrow;
            borrow = next;
        }
    }
}

enum { PLACES = 260, WIDTH = 5 };

/* Odd digits of -15 to 15, and zeros: of five neighbours one at most is none. */
static void digits_of(const uint64_t s[4], int8_t digits[PLACES])
{
    for (int i = 0; i < PLACES; i++) digits[i] = (int8_t)(i < 256 ? s[i / 64] >> i % 64 & 1 : 0);
    for (int i = 0; i < 256; i++) {
        if (!digits[i]) continue;
        for (int k = 1; k < WIDTH && i + k < PLACES; k++) {
            digits[i] = (int8_t)(digits[i] + (digits[i + k] << k));
            digits[i + k] = 0;
        }
        if (digits[i] > 15) {
            digits[i] = (int8_t)(digits[i] - 32);
            for (int k = i + WIDTH; k < PLACES; k++) {
                digits[k] ^= 1;
                if (digits[k]) break;
            }
        }
    }
}

/* 1, 3, 5 ... 15 times a point. */
static void odd_rows(point p, row rows[8])
{
    point doubled = p;
    row step;
    twice(&doubled);
    row_of(&step, &doubled);
    for (int i = 0; i < 8; i++) {
        row_of(&rows[i], &p);
        sum(&p, &step, false);
    }
}

/* s times one point less h times another, by the doublings of one alone. */
static void difference(point *found, const uint64_t s[4], const point *base, const uint64_t h[4], const point *other)
{
    int8_t digits[2][PLACES];
    row rows[2][8];
    digits_of(s, digits[0]);
    digits_of(h, digits[1]);
    odd_rows(*base, rows[0]);
    odd_rows(*other, rows[1]);
    *found = (point){ZERO, ONE, ONE, ZERO};
    for (int i = PLACES - 1; i >= 0; i--) {
        twice(found);
        for (int k = 0; k < 2; k++) {
            const int digit = digits[k][i];
            if (digit) sum(found, &rows[k][(digit < 0 ? -digit : digit) / 2], (digit < 0) != (k == 1));
        }
    }
}

int32_t er_ed25519_is_key(const uint8_t key[32])
{
    point p;
    return key_of(key, &p);
}

int32_t er_ed25519_verify(const uint8_t key[32], er_text message, const uint8_t signature[64])
{
    point p, base, found;
    uint64_t s[4] = {0}, h[4];
    uint8_t digest[64], r[32];
    for (int i = 0; i < 32; i++) s[i / 8] |= (uint64_t)signature[32 + i] << 8 * (i % 8);
    if (!key_of(key, &p) || !below_order(s)) return false;
    er_sha512 told;
    er_sha512_begin(&told);
    er_sha512_add(&told, signature, 32);
    er_sha512_add(&told, key, 32);
    er_sha512_add(&told, message.at, message.length);
    er_sha512_end(&told, digest);
    reduce(digest, h);
    load(&base.x, BASE_X);
    load(&base.y, BASE_Y);
    base.z = ONE;
    multiply(&base.t, &base.x, &base.y);
    difference(&found, s, &base, h, &p);
    encode(&found, r);
    return !memcmp(r, signature, 32);
}
