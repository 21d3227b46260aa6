"""Takes out of texts what patterns find. Patterns are RE2's, whose time is linear in the text. Knows nothing of
transcripts."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from edgeret.errors import InputError, MissingExtraError
from edgeret.inputs.jsonl import read_text
from edgeret.quoting import quoted

MAX_PATTERNS, MAX_PATTERN_CHARS = 1000, 10_000
_PATTERN_BYTES = 1 << 24


class Redactor:
    """Replaces what the patterns find by `[name]`, the name of a pattern's first named group, or by `[redacted]`."""

    def __init__(self, patterns: Sequence[tuple[str, Any]] = ()) -> None:
        self._patterns = patterns
        self.counts: dict[str, int] = {name: 0 for name, _ in patterns}

    def text(self, text: str) -> str:
        """The text without what was found."""
        for name, pattern in self._patterns:
            text, count = pattern.subn(f"[{name}]", text)
            self.counts[name] += count
        return text

    def value(self, value: Any) -> Any:
        """The same of every text, key and number of a decoded JSON value. A number in which something is found becomes
        text."""
        if not self._patterns:
            return value
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {self.text(key): self.value(entry) for key, entry in value.items()}
        if isinstance(value, list | tuple):
            return [self.value(entry) for entry in value]
        if isinstance(value, int | float) and not isinstance(value, bool):
            written = json.dumps(value)
            found = self.text(written)
            return value if found == written else found
        return value


def read_patterns(path: Path) -> Redactor:
    """A file of patterns, one a line; blank lines and those that begin with # are left out. Raises InputError naming
    the line that is no pattern, MissingExtraError without RE2."""
    try:
        import re2
    except ImportError:
        raise MissingExtraError("edgeret-export", "--redact") from None
    options = re2.Options()
    options.max_mem, options.log_errors = _PATTERN_BYTES, False
    found: list[tuple[str, Any]] = []
    for number, line in enumerate(read_text(path, "regular expressions, one a line").split("\n"), 1):
        text, where = line.rstrip("\r"), f"{path}:{number}"
        if not text.strip() or text.startswith("#"):
            continue
        if len(text) > MAX_PATTERN_CHARS or len(found) == MAX_PATTERNS:
            raise InputError(f"{where}: at most {MAX_PATTERNS} patterns of {MAX_PATTERN_CHARS} characters are allowed")
        try:
            pattern = re2.compile(text, options)
        except re2.error:
            raise InputError(
                f"{where}: {quoted(text)} is no pattern of RE2 (no look-around, no back-references); mend the line"
            ) from None
        if pattern.search("") is not None:
            raise InputError(f"{where}: {quoted(text)} matches everywhere, also where nothing is; mend the line")
        found.append((min(pattern.groupindex, key=pattern.groupindex.get, default="redacted"), pattern))
    if not found:
        raise InputError(f"{path}: no patterns in it; give one a line")
    return Redactor(found)
