"""Which words each tool has, as plain arrays: made of tools where they are new, read from a bundle where there are very
many of them. Knows nothing of requests.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from edgeret.bundle import roles
from edgeret.bundle.codec import get_array, pack
from edgeret.bundle.reader import Bundle
from edgeret.errors import BundleError
from edgeret.fields import get_strings
from edgeret.inputs.tools import MAX_DESCRIPTION_CHARS
from edgeret.records import dataclass
from edgeret_export.reference.inputs.opposites import Sides

FIELDS = ("name", "text", "parameters")
"""What words are counted in: the name; name and description; name and names of parameters."""
_REBUILD = "build the bundle again"


@dataclass(frozen=True, slots=True)
class ToolWords:
    """One tool's words, by field; the identifiers that its description and parameters mention, lower case; and, for
    every required parameter that is somebody's key (`order_id`), the words of that somebody. `sides` say what the
    tool does, as `tool_sides` has them. `told` are all words, with
    those of parameters' descriptions and of the values that they may have. `takes` are the kinds of values that its
    parameters are for, and `changes` says that it does more than tell."""

    name: frozenset[str]
    text: frozenset[str]
    parameters: frozenset[str]
    mentions: tuple[str, ...]
    keys: tuple[frozenset[str], ...]
    sides: Sides | None = None
    told: frozenset[str] = frozenset()
    takes: tuple[int, ...] = ()
    changes: bool = False


@dataclass(frozen=True, slots=True)
class WordTable:
    """The words of some tools. A place is a tool's position, with the number of tools added once for each of FIELDS
    before: `words` are all different ones, rising; `starts` (places + 1,) says where the numbers of a place's words
    begin in `numbers` (entries,), which rise inside a place. `forms` are the words as they are written, one for each;
    none where nobody asked for them."""

    words: Sequence[str]
    starts: NDArray[np.integer]
    numbers: NDArray[np.integer]
    forms: Sequence[str] = ()

    @property
    def tools(self) -> int:
        """How many tools there are."""
        return (len(self.starts) - 1) // len(FIELDS)

    def text(self) -> tuple[NDArray[np.integer], NDArray[np.integer]]:
        """The starts and numbers of the texts alone."""
        starts = self.starts[self.tools : 2 * self.tools + 1]
        return starts - starts[0], self.numbers[starts[0] : starts[-1]]

    def ordered(self, rows: NDArray[np.intp]) -> WordTable:
        """The same for tools in another order: (names,) old positions, each once at most, -1 for a name without any
        word."""
        places = np.concatenate([np.where(rows < 0, -1, rows + field * self.tools) for field in range(len(FIELDS))])
        begins = np.where(places < 0, 0, self.starts[places])
        counts = np.where(places < 0, 0, self.starts[places + 1] - begins)
        starts = np.concatenate(([0], np.cumsum(counts)))
        here = rows[rows >= 0]
        if len(here) == self.tools and (here[1:] > here[:-1]).all():  # names without words were put in between
            return replace(self, starts=starts)
        return replace(self, starts=starts, numbers=self.numbers[spans(begins, counts)])


def arrange(tools: Sequence[ToolWords]) -> WordTable:
    """The words of tools, in their order."""
    fields = [getattr(tool, field) for field in FIELDS for tool in tools]
    # Sorted, since a set gives its words in another order in every process, and sums are rounded in the order in which
    # they are added up: two builds of the same files would not give the same bytes.
    words = sorted(frozenset().union(*fields))
    number = {word: i for i, word in enumerate(words)}
    numbers = [sorted([number[word] for word in field]) for field in fields]
    starts = np.cumsum([0, *map(len, numbers)])
    return WordTable(words, starts, np.array([n for field in numbers for n in field], np.int32))


def spans(begins: NDArray[np.integer], counts: NDArray[np.integer]) -> NDArray[np.intp]:
    """The positions from each of `begins` on, so many of them, one span behind the other."""
    before = np.cumsum(counts) - counts
    found: NDArray[np.intp] = np.arange(counts.sum()) + np.repeat(begins - before, counts)
    return found


def pack_words(table: WordTable) -> bytes:
    """The file with the role `words`, for tools in the index's order."""
    return pack(
        {
            "words": list(table.words),
            "forms": list(table.forms),
            "starts": table.starts.astype("<i4"),
            "numbers": table.numbers.astype("<i4"),
        }
    )


def load_words(bundle: Bundle, tools: int) -> WordTable | None:
    """What a bundle of so many tools keeps of their words; None if it keeps nothing. Raises BundleError for numbers
    that cannot be. Whether they are the words that the tools' texts have is for a checking tool to say."""
    if bundle.manifest.file(roles.WORDS) is None:
        return None
    where = f"{bundle.path} ({roles.WORDS})"
    value = bundle.map(roles.WORDS)
    words = get_strings(value, "words", where)
    forms = get_strings(value, "forms", where)
    starts = get_array(value, "starts", "<i4", (len(FIELDS) * tools + 1,), where)
    numbers = get_array(value, "numbers", "<i4", (None,), where)
    if any(one >= other for one, other in pairwise(words)):
        raise BundleError(f"{where}: its words are not in order, or one of them stands there twice; {_REBUILD}")
    if len(forms) != len(words):
        raise BundleError(f"{where}: {len(forms)} forms of {len(words)} words; {_REBUILD}")
    if max(map(len, forms), default=0) > MAX_DESCRIPTION_CHARS:
        raise BundleError(f"{where}: a form of more than {MAX_DESCRIPTION_CHARS} characters; {_REBUILD}")
    counts = np.diff(starts)
    if starts[0] != 0 or starts[-1] != len(numbers) or (counts < 0).any():
        raise BundleError(f"{where}: its starts do not go from 0 to its {len(numbers)} numbers; {_REBUILD}")
    if len(numbers) and not 0 <= int(numbers.min()) <= int(numbers.max()) < len(words):
        raise BundleError(f"{where}: a number of none of its {len(words)} words; {_REBUILD}")
    first = np.zeros(len(numbers) + 1, bool)
    first[starts] = True
    if not (first[1:-1] | (numbers[1:] > numbers[:-1])).all():
        raise BundleError(f"{where}: a tool's words are not in order, or one of them stands there twice; {_REBUILD}")
    return WordTable(words, starts, numbers, forms)


def same(table: WordTable, other: WordTable) -> bool:
    """Whether two tables say the same of the same tools."""
    return (
        list(table.words) == list(other.words)
        and list(table.forms) == list(other.forms)
        and np.array_equal(table.starts, other.starts)
        and np.array_equal(table.numbers, other.numbers)
    )
