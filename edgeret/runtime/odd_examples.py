"""What is odd about the requests that tools show: told, not mended, since nobody knows which tool a sentence is really
for. Knows nothing of vectors."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from edgeret.quoting import few, quoted
from edgeret.runtime.unread import unread
from edgeret.types import Tool


def odd_examples(tools: Iterable[Tool], languages: tuple[str, ...]) -> list[str]:
    """A line for each kind: sentences that several tools show, each of which then counts less, and those in another
    language than these, an encoder's, as codes."""
    shown: dict[str, list[str]] = {}
    for tool in tools:
        for said in dict.fromkeys(text.lower() for text in tool.examples):
            shown.setdefault(said, []).append(tool.name)
    return [*_shared(shown), *_foreign(shown, languages)]


def _shared(shown: dict[str, list[str]]) -> Iterator[str]:
    found = {said: names for said, names in shown.items() if len(names) > 1}
    if found:
        said = max(found, key=lambda text: len(found[text]))
        n = len({name for names in found.values() for name in names})
        yield (
            f"{n} tools show examples that others show too, so that these count less: {quoted(said)} is shown by "
            f"{len(found[said])} ({few(found[said])}); leave out what fits several tools"
        )


def _foreign(shown: dict[str, list[str]], languages: tuple[str, ...]) -> Iterator[str]:
    found = {said: what for said in shown if (what := unread(said, languages)) is not None}
    if found:
        said, what = next(iter(found.items()))
        names = list(dict.fromkeys(name for text in found for name in shown[text]))
        yield (
            f"{len(names)} tools show examples in {what} or others that the encoder was not trained on "
            f"({few(names)}: {quoted(said)}); they find nothing; take a multilingual encoder, or write them in "
            f"{', '.join(languages[:3])}"
        )
