"""Ed25519 signatures (RFC 8032), verified. Signs nothing, and knows nothing of bundles.

Whoever verifies holds no secret, so nothing here takes the same time whatever the bytes are.
"""

from __future__ import annotations

import hashlib

KEY_BYTES, SIGNATURE_BYTES = 32, 64

P = 2**255 - 19
ORDER = 2**252 + 27742317777372353535851937790883648493
"""Of the base point."""
D = -121665 * pow(121666, -1, P) % P
_ROOT = pow(2, (P - 1) // 4, P)
"""A square root of -1."""
_WIDTH = 5
"""Bits of a digit: a quarter of the additions that single bits need, and a table of eight points made in 0.05 ms."""

_Point = tuple[int, int, int, int]
"""X, Y, Z, T of a point (X/Z, Y/Z) with T = XY/Z."""
_Row = tuple[int, int, int, int]
"""Y + X, Y - X, 2dT and 2Z of a point: what an addition takes of it."""
_X = 15112221349535400772501151409588531511454012693041857206046113283949847762202
_Y = 46316835694926478169428394003475163141307993866256225615783033603165251855960
_BASE: _Point = (_X, _Y, 1, _X * _Y % P)


def is_key(public: bytes) -> bool:
    """Whether 32 bytes are a public key: a point, in its only encoding, that is not of small order. What one of small
    order signs cannot be told from what anybody signs."""
    return _key(public) is not None


def verify(public: bytes, message: bytes, signature: bytes) -> bool:
    """Whether `signature` (64 bytes) over `message` was made with the secret of `public`; False for keys that are none.

    The equation is that without the cofactor, and R is compared as bytes, so that all readers agree on all bytes.
    """
    point = _key(public)
    if point is None or len(signature) != SIGNATURE_BYTES:
        return False
    scalar = int.from_bytes(signature[32:], "little")
    if scalar >= ORDER:
        return False
    told = hashlib.sha512(signature[:32] + public + message).digest()
    x, y, z, t = point
    found = _sum(scalar, _BASE, int.from_bytes(told, "little") % ORDER, (P - x, y, z, P - t))
    return _encoded(found) == signature[:32]


def _key(public: bytes) -> _Point | None:
    """The point of a public key; None for bytes that are none."""
    decoded = _decoded(public)
    if decoded is None:
        return None
    point = decoded
    for _ in range(3):
        point = _double(point)
    return None if point[0] == 0 and point[1] == point[2] else decoded


def _decoded(data: bytes) -> _Point | None:
    """The point of 32 bytes (RFC 8032, 5.1.3); None for bytes that are none."""
    if len(data) != KEY_BYTES:
        return None
    value = int.from_bytes(data, "little")
    y, sign = value & (2**255 - 1), value >> 255
    if y >= P:
        return None
    u, v = (y * y - 1) % P, (D * y * y + 1) % P
    x = u * pow(v, 3, P) * pow(u * pow(v, 7, P), (P - 5) // 8, P) % P
    if (v * x * x - u) % P:
        x = x * _ROOT % P
        if (v * x * x - u) % P:
            return None
    if x == 0 and sign:
        return None
    if x & 1 != sign:
        x = P - x
    return x, y, 1, x * y % P


def _encoded(point: _Point) -> bytes:
    inverse = pow(point[2], -1, P)
    x, y = point[0] * inverse % P, point[1] * inverse % P
    return (y | (x & 1) << 255).to_bytes(KEY_BYTES, "little")


def _double(point: _Point) -> _Point:
    x, y, z, _ = point
    a, b = x * x, y * y
    h, g = a + b, a - b
    s = x + y
    e, f = (h - s * s) % P, (2 * z * z + g) % P
    return e * f % P, g * h % P, f * g % P, e * h % P


def _add(point: _Point, row: _Row) -> _Point:
    """The sum of any two points."""
    x, y, z, t = point
    plus, minus, two_d_t, two_z = row
    a, b, c, d = (y - x) * minus, (y + x) * plus, t * two_d_t, z * two_z
    e, f, g, h = b - a, (d - c) % P, (d + c) % P, b + a
    return e * f % P, g * h % P, f * g % P, e * h % P


def _row(point: _Point) -> _Row:
    x, y, z, t = point
    return (y + x) % P, (y - x) % P, 2 * D * t % P, 2 * z


def _odd(point: _Point) -> list[_Row]:
    """1, 3, 5 … 15 times a point."""
    twice, rows = _row(_double(point)), []
    for _ in range(1 << (_WIDTH - 2)):
        rows.append(_row(point))
        point = _add(point, twice)
    return rows


def _digits(scalar: int) -> list[int]:
    """Odd digits of -15 to 15, and zeros, the lowest first: of five neighbours one at most is none."""
    digits = []
    while scalar:
        digit = 0
        if scalar & 1:
            digit = scalar & (1 << _WIDTH) - 1
            if digit >> (_WIDTH - 1):
                digit -= 1 << _WIDTH
            scalar -= digit
        digits.append(digit)
        scalar >>= 1
    return digits


def _sum(s: int, base: _Point, h: int, point: _Point) -> _Point:
    """s times one point and h times another, by the doublings of one alone."""
    tables = [(_digits(s), _odd(base)), (_digits(h), _odd(point))]
    found = (0, 1, 1, 0)
    for place in reversed(range(max(len(digits) for digits, _ in tables))):
        found = _double(found)
        for digits, rows in tables:
            digit = digits[place] if place < len(digits) else 0
            if digit > 0:
                found = _add(found, rows[digit >> 1])
            elif digit < 0:
                plus, minus, two_d_t, two_z = rows[-digit >> 1]
                found = _add(found, (minus, plus, P - two_d_t, two_z))
    return found
