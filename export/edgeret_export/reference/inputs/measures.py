"""Words for units, and what each measures. Knows nothing of numbers."""

from __future__ import annotations

from collections.abc import Mapping

_UNITS = (
    ("s", 1, "second seconds sec secs s"),
    ("s", 60, "minute minutes min mins"),
    ("s", 3600, "hour hours hr hrs h"),
    ("s", 86400, "day days night nights"),
    ("s", 604800, "week weeks"),
    ("mo", 1, "month months"),
    ("mo", 12, "year years"),
    ("m", 1, "metre metres meter meters m"),
    ("m", 1000, "km kilometre kilometres kilometer kilometers k"),
    ("m", 0.01, "cm centimetre centimetres centimeter centimeters"),
    ("mi", 1, "mile miles"),
    ("g", 1, "gram grams g"),
    ("g", 0.001, "mg milligram milligrams"),
    ("g", 1000, "kg kilo kilos kilogram kilograms"),
    ("lb", 1, "lb lbs pound pounds"),
    ("lb", 0.0625, "oz ounce ounces"),
    ("ml", 1, "ml millilitre millilitres milliliter milliliters"),
    ("ml", 1000, "l litre litres liter liters"),
    ("%", 1, "percent %"),
    ("C", 1, "celsius °c c"),
    ("F", 1, "fahrenheit °f f"),
    ("eur", 1, "euro euros eur €"),
    ("usd", 1, "dollar dollars usd $ bucks"),
    ("gbp", 1, "gbp quid £"),
)
UNITS: Mapping[str, tuple[str, float]] = {
    word: (dimension, factor) for dimension, factor, listed in _UNITS for word in listed.split()
}
"""What a word for a unit measures, and how many of the smallest one it is; months and seconds do not mix."""
MADE: Mapping[tuple[str, str], float] = {("lb", "g"): 453.59237, ("mi", "m"): 1609.344}
"""How many of one smallest unit another one is, where that never changes."""
MONEY = frozenset(("eur", "usd", "gbp"))
"""Of these measures, those of money."""
