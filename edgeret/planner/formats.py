"""The formats of JSON Schema that are checked, each in time that grows no faster than the text.

date, time, date-time and duration accept any words: the user's own ("Thursday", "March 3rd") are passed on, and turning
them into a timestamp is the assistant's business. email, uri, uri-reference, uuid, hostname, ipv4 and ipv6 are checked;
other formats are not.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from typing import Any

_EMAIL = re.compile(r"[^\s@<>()\",:;\\\[\]]+@[^\W_](?:[\w-]*[^\W_])?(?:\.[^\W_](?:[\w-]*[^\W_])?)*")
_HOSTNAME = re.compile(r"[^\W_](?:[\w-]*[^\W_])?(?:\.[^\W_](?:[\w-]*[^\W_])?)*\.?")
_URI_CHARS = r"[^\s<>\"{}|\\^`]"
_URI = re.compile(
    rf"(?:https?|ftp)://[^\s/?#<>\"{{}}|\\^`]{_URI_CHARS}*|(?!https?:|ftp:)[a-z][a-z0-9+.-]*:{_URI_CHARS}+",
    re.IGNORECASE,
)
_URI_REFERENCE = re.compile(f"{_URI_CHARS}+")
_UUID = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

CHECKS: dict[str, Callable[[str], object]] = {
    **dict.fromkeys(("date", "time", "date-time", "duration"), str.strip),
    **dict.fromkeys(("email", "idn-email"), _EMAIL.fullmatch),
    **dict.fromkeys(("hostname", "idn-hostname"), _HOSTNAME.fullmatch),
    **dict.fromkeys(("uri", "iri"), _URI.fullmatch),
    **dict.fromkeys(("uri-reference", "iri-reference"), _URI_REFERENCE.fullmatch),
    "uuid": _UUID.fullmatch,
    "ipv4": ipaddress.IPv4Address,
    "ipv6": ipaddress.IPv6Address,
}
"""By format, what gives something true for a text that has it; what raises ValueError says that it has not."""


def format_checker() -> Any:
    """jsonschema's checker of these formats and no others."""
    from jsonschema import FormatChecker

    checker: Any = FormatChecker(formats=())
    for name, check in CHECKS.items():
        checker.checks(name, raises=ValueError)(
            lambda value, check=check: not isinstance(value, str) or bool(check(value))
        )
    return checker
