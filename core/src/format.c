/* printf asks the locale for its point, and brings a page 17 KB of numbers of 128 bits. What the library writes needs less. */

#include "format.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* ---- Digits of a number ---- */

enum { BASE = 1000000000, LIMBS = 88, MOST_DIGITS = 9 * LIMBS }; /* 2^53 · 5^1074 has 767 digits */

/* A number's digits without end, `point` of them before the point (below 0: behind so many zeros). */
typedef struct {
    char at[MOST_DIGITS + 2];
    int count, point;
} digits;

/* m · 2^e is an integer, or m · 5^−e with the point −e places further left: no digit is rounded. */
static void exact(double number, digits *d)
{
    uint32_t limbs[LIMBS], count = 0;
    int e;
    uint64_t m = (uint64_t)ldexp(frexp(number, &e), 53);
    for (e -= 53; m && !(m & 1); m >>= 1) e++;
    for (; m; m /= BASE) limbs[count++] = (uint32_t)(m % BASE);
    for (int left = e < 0 ? -e : e; left; left--) {
        uint64_t carry = 0;
        for (uint32_t i = 0; i < count; i++) {
            carry += (uint64_t)limbs[i] * (e < 0 ? 5 : 2);
            limbs[i] = (uint32_t)(carry % BASE);
            carry /= BASE;
        }
        if (carry) limbs[count++] = (uint32_t)carry;
    }
    d->count = 0;
    for (uint32_t i = count; i--;)
        for (uint32_t part = limbs[i], by = BASE / 10; by; by /= 10)
            if (d->count || part / by % 10) d->at[d->count++] = (char)('0' + part / by % 10);
    d->point = count ? d->count + (e < 0 ? e : 0) : 1;
}

/* Rounded to so many digits, a half to the even one; below 0: to nothing. */
static void round_to(digits *d, int keep)
{
    if (keep >= d->count) return;
    bool up = false;
    if (keep >= 0) {
        bool more = false;
        for (int i = keep + 1; i < d->count; i++) more |= d->at[i] != '0';
        const bool odd = keep && d->at[keep - 1] & 1;
        up = d->at[keep] > '5' || (d->at[keep] == '5' && (more || odd));
    }
    d->count = keep > 0 ? keep : 0;
    if (!up) return;
    int i = d->count;
    while (i && d->at[i - 1] == '9') d->at[--i] = '0';
    if (i) {
        d->at[i - 1]++;
        return;
    }
    memmove(d->at + 1, d->at, (size_t)d->count);
    d->at[0] = '1';
    d->point++;
    d->count += !d->count;
}

/* ---- What is written ---- */

typedef struct {
    char *at;
    size_t room, length;
} sink;

static void put(sink *to, char c)
{
    if (to->length < to->room) to->at[to->length++] = c;
}

static void put_all(sink *to, const char *text, size_t length, size_t width, char with)
{
    for (; width > length; width--) put(to, with);
    while (length--) put(to, *text++);
}

static char digit_at(const digits *d, int i) { return i >= 0 && i < d->count ? d->at[i] : '0'; }

static void put_whole(sink *to, uint64_t value, unsigned base, size_t width, char with, bool below)
{
    char room[24];
    size_t n = sizeof room;
    do room[--n] = "0123456789abcdef"[value % base];
    while (value /= base);
    if (below && with == '0') put(to, '-'), width -= width > 0;
    else if (below) room[--n] = '-';
    put_all(to, room + n, sizeof room - n, width, with);
}

static void put_number(sink *to, double number, char how, int precision)
{
    digits d;
    if (signbit(number)) put(to, '-');
    if (!isfinite(number)) {
        put_all(to, number != number ? "nan" : "inf", 3, 0, ' ');
        return;
    }
    exact(fabs(number), &d);
    if (how == 'g') precision -= precision > 0;
    if (how != 'f') round_to(&d, precision + 1);
    const int power = d.count ? d.point - 1 : 0;
    bool alone = false; /* zeros at the end are left out */
    if (how == 'g') {
        alone = true;
        how = power < -4 || power > precision ? 'e' : 'f';
        if (how == 'f') precision -= power;
    } else if (how == 'f') {
        round_to(&d, d.point + precision);
    }
    const int whole = how == 'e' ? 1 : d.point;
    for (; alone && precision && digit_at(&d, whole + precision - 1) == '0';) precision--;
    if (whole < 1) put(to, '0');
    for (int i = 0; i < whole; i++) put(to, digit_at(&d, i));
    if (precision) put(to, '.');
    for (int i = 0; i < precision; i++) put(to, digit_at(&d, whole + i));
    if (how != 'e') return;
    put(to, 'e');
    put(to, power < 0 ? '-' : '+');
    put_whole(to, (uint64_t)(power < 0 ? -power : power), 10, 2, '0', false);
}

size_t er_format_by(char *room, size_t size, const char *format, va_list values)
{
    sink to = {room, size ? size - 1 : 0, 0};
    for (; *format; format++) {
        if (*format != '%') {
            put(&to, *format);
            continue;
        }
        const char with = format[1] == '0' ? '0' : ' ';
        size_t width = 0;
        int precision = -1, longs = 0;
        for (format++; *format >= '0' && *format <= '9'; format++) width = 10 * width + (size_t)(*format - '0');
        if (*format == '.') {
            precision = 0;
            if (*++format == '*') precision = va_arg(values, int), format++;
            for (; *format >= '0' && *format <= '9'; format++) precision = 10 * precision + (*format - '0');
        }
        for (; *format == 'l' || *format == 'h' || *format == 'z'; format++) longs += *format == 'l' ? 1 : *format == 'z' ? 4 : 0;
        switch (*format) {
        case 'c': put(&to, (char)va_arg(values, int)); break;
        case 'd':
        case 'i': {
            const int64_t value = longs == 1 ? va_arg(values, long) : longs == 2 ? va_arg(values, long long) : va_arg(values, int);
            put_whole(&to, value < 0 ? 0 - (uint64_t)value : (uint64_t)value, 10, width, with, value < 0);
            break;
        }
        case 'u':
        case 'x': {
            const uint64_t value = longs == 1 ? va_arg(values, unsigned long) : longs == 2 ? va_arg(values, unsigned long long)
                                   : longs    ? va_arg(values, size_t) : va_arg(values, unsigned);
            put_whole(&to, value, *format == 'x' ? 16 : 10, width, with, false);
            break;
        }
        case 's': {
            const char *text = va_arg(values, const char *), *end = precision < 0 ? NULL : memchr(text, 0, (size_t)precision);
            put_all(&to, text, end ? (size_t)(end - text) : precision < 0 ? strlen(text) : (size_t)precision, width, ' ');
            break;
        }
        case 'e':
        case 'f':
        case 'g': put_number(&to, va_arg(values, double), *format, precision < 0 ? 6 : precision); break;
        default: put(&to, *format); /* %% */
        }
    }
    if (size) room[to.length] = 0;
    return to.length;
}

size_t er_format(char *room, size_t size, const char *format, ...)
{
    va_list values;
    va_start(values, format);
    const size_t length = er_format_by(room, size, format, values);
    va_end(values);
    return length;
}
