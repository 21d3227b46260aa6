"""Tokenizer files that are not quite right, some of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

REPLACED = [
    *(
        (b'"model"', b'"m\\u006fdel"'),
        (b'"vocab"', b'"voc\\u0061b"'),
        (b'"the"', b'"th\\ud800"'),
        (b'"the"', b'"th\xff"'),
    ),
    *((b'"the"', b'"a"'), (b'"the"', b'"\\t\\ud83d\\ude00"'), (b'"a"', b'"\x01"'), (b'"[UNK]": 0', b'"[UNK]": -0')),
    *(
        (b'"the": 2', b'"the": 02'),
        (b'"the": 2', b'"the": 2.0'),
        (b'"the": 2', b'"the": 2e0'),
        (b"{", b"\xef\xbb\xbf{"),
    ),
    *(
        (b'"vocab": {', b'"vocab": {,'),
        (b'"vocab": {', b'"vocab": {"z" 1,'),
        (b'"model": {', b'"model": {}, "model": {'),
    ),
    (b'"version": "1.0"', b'"version": "1.0", "version": "1.0"'),
]


def changes(plain: bytes, scored: bytes) -> Iterator[bytes]:
    """Files that are not quite right, some of them."""
    for data in (plain, scored):
        yield data
        value = json.loads(data)

        def places(at: Any, path: tuple[Any, ...]) -> Iterator[tuple[Any, ...]]:
            yield path
            for key in at if isinstance(at, dict) else range(min(len(at), 3)) if isinstance(at, list) else ():
                yield from places(at[key], (*path, key))

        for path in list(places(value, ()))[1:]:
            for new in (None, True, 7, -1, 1.5, "x", "", [], {}, [1], "x" * 300, 1 << 21):
                other = json.loads(data)
                at = other
                for key in path[:-1]:
                    at = at[key]
                at[path[-1]] = new
                yield json.dumps(other).encode()
                if isinstance(at, dict):
                    del at[path[-1]]
                    yield json.dumps(other).encode()
    for old, new in REPLACED:
        yield plain.replace(old, new, 1)
    yield from (plain[:-1], plain + b" ", plain + b"x", b"", b"[]", b"{}", b'"vocab"', b'{"model": {"vocab": {')
