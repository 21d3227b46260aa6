"""Words of a second reader, written from section 16.1 of docs/FORMAT.md alone. Knows nothing of edgeret."""

from __future__ import annotations

import re

COMMON = (
    "a about all also an and any are as at be but by can could did do does for from had has have he her his how i if "
    "in into is it its just me my no not of on or our out please she so some that the their them then there they this "
    "to up us was we were what when which will with would you your"
)


def stem(word: str) -> str:
    """Section 16.1."""
    for ending in ("ies", "ing", "ed", "es", "s", "e"):
        if word.endswith(ending) and len(word) >= len(ending) + 3 and not (ending == "s" and word.endswith("ss")):
            word = word[: -len(ending)] + ("i" if ending == "ies" else "")
            break
    if len(word) > 3 and word[-1] == "y":
        return word[:-1] + "i"
    if len(word) > 3 and word[-1] == word[-2] and word[-1] not in "ls":
        return word[:-1]
    return word


def written(text: str) -> list[str]:
    """Section 16.1, before stems are taken."""
    runs = re.findall(r"[^\W_]+", re.sub("(?<=[a-z0-9])(?=[A-Z])", " ", text).lower())
    return [run for run in runs if run not in COMMON.split()]


def words_of(text: str) -> list[str]:
    """Section 16.1."""
    return [stem(run) for run in written(text)]


def forms_of(texts: list[str]) -> dict[str, str]:
    """Section 5.2."""
    words = {word for text in texts for word in written(text)}
    return {stem(word): word for word in sorted(words, key=lambda word: (-len(word), [-ord(c) for c in word]))}


def form_of(query: str) -> dict[str, bool]:
    """Section 16.7, before any call."""
    explains = r"\b(why|explain|how\s+(do|does|did|is|are|can|to|come)|what(['’]s|\s+(is|are))|who\s+(is|was|are))\b"
    return {
        "question": bool(re.match(r"\W*(what|why|who|whom|whose|when|where|which|how)\b", query, re.IGNORECASE)),
        "explains": bool(re.search(explains, query.lower())),
        "bare": not re.search('[0-9"“«]|[a-z,;:] [A-Z]', query),
    }


def in_words(name: str) -> str:
    """Section 6: a name in words."""
    return re.sub("(?<=[a-z0-9])(?=[A-Z])", " ", re.sub(r"[_\-.]", " ", name)).strip()
