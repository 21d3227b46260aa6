"""All servers' tools as one live tool set: searched, ranked for a request as it goes on, and taught. Knows nothing of
connections and of what clients are shown."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from types import MappingProxyType
from typing import Any

import edgeret
from edgeret.adapters.mcp.definitions import Definition
from edgeret.adapters.turns import in_turns

AT_ONCE = 128
"""Tools that are encoded before others get their turn: a server of thousands does not hold up one of five."""
_HUMP = re.compile(r"[a-z][A-Z]")
_AROUND = " .,;:!?()[]{}<>`'\"“”‘’«»*"
NEEDED = 0.25
"""Of the best tool's score: what calls of less likely ones need is not shown."""


class Catalogue:
    """The tools that are there now. Changed by one thread at a time; searched by any."""

    def __init__(
        self,
        base: str | Path,
        overlay: str | Path | None,
        examples: Mapping[str, tuple[str, ...]] = MappingProxyType({}),
        **options: Any,
    ) -> None:
        """No tools yet. `base` is a bundle whose encoder reads, `overlay` the file of what was learned, if any, and
        `examples` are requests by tools' names; `options` are more of `edgeret.load`. Raises as that does."""
        self._examples = examples
        self._base = edgeret.load(base, overlay=False if overlay is None else overlay, **options)
        self._runtime: edgeret.Runtime | None = None
        self._untaught: edgeret.Runtime | None = None
        self._tools: dict[str, edgeret.Tool] = {}
        self.definitions: Mapping[str, Definition] = {}
        """The tools by the client's names, as `update` was given them last."""
        self._named: Mapping[str, Sequence[str]] = {}

    def update(self, wanted: Mapping[str, Definition]) -> bool:
        """Goes on towards these tools, some at a time; whether more is left to do. What is gone goes at once."""
        searched = {name: self._known(name, tool) for name, tool in wanted.items()}
        gone = [name for name in self._tools if name not in searched]
        waiting = [name for name, tool in searched.items() if self._tools.get(name) != tool]
        order = {name: i for i, name in enumerate(_small_first(wanted))}
        now = sorted(waiting, key=order.__getitem__)[:AT_ONCE]
        self._change({name: searched[name] for name in now}, gone)
        self.definitions = {name: tool for name, tool in wanted.items() if name in self._tools}
        named: dict[str, list[str]] = {}
        for name, tool in self.definitions.items():
            for spelt in {name.casefold(), tool.name.casefold()}:
                named.setdefault(spelt, []).append(name)
        self._named = named
        return len(waiting) > len(now)

    def find(self, texts: str | Sequence[str], k: int) -> dict[str, float]:
        """The `k` tools that fit up to four texts, best first, each with its score, 0 to 1; none where none fits any of
        them. Raises InputError for texts that are none.

        What a tool should do, as a model says it, always fits something; the user's words alone may not.
        """
        ranked = self.rank(texts, k)
        return ranked if self.fits(texts) else {}

    def rank(self, texts: str | Sequence[str], k: int) -> dict[str, float]:
        """The same whether anything fits or not: tools whose names the texts say, then by search, which knows what was
        learned. Raises InputError."""
        runtime, texts = self._runtime, _all(texts)
        if runtime is None:
            return {}
        said = [name for text in texts for name in self._said(text)]
        share = {hit.tool: hit.share or 0.0 for hit in runtime.search(texts, k)}
        share |= dict.fromkeys(said, 1.0)
        return dict(sorted(share.items(), key=lambda entry: -entry[1])[:k])

    def needed(self, scores: Mapping[str, float], k: int) -> dict[str, tuple[float, str]]:
        """At most `k` tools that calls of the likely ones of those found need first and that are not among them,
        likeliest first: each with its score, and the tool that it is needed for."""
        runtime = self._runtime
        if runtime is None:
            return {}
        least = NEEDED * max(scores.values(), default=0.0)
        found: dict[str, tuple[float, str]] = {}
        # A search goes on while tools come and go.
        for tool in (tool for tool, score in scores.items() if score >= least and tool in runtime.tools):
            for need in runtime.needs(tool):
                score = scores[tool] * need.sureness
                if need.tool not in scores and score >= least and score > found.get(need.tool, (0.0, ""))[0]:
                    found[need.tool] = score, need.needed_for
        return dict(sorted(found.items(), key=lambda entry: -entry[1][0])[:k])

    def fits(self, texts: str | Sequence[str]) -> bool:
        """Whether any tool may do what any of the texts says. Raises InputError.

        The tools' own words answer that. What was learned does not, since nobody teaches what fits nothing: it counts
        where something was learned in nearly the same words.
        """
        return any(map(self._fits, _all(texts)))

    def _fits(self, query: str) -> bool:
        if (runtime := self._runtime) is None or self._untaught is None:
            return False
        candidates = self._untaught.task(query).candidates(2)
        nothing = next((c.probability for c in candidates if c.tool == edgeret.END), 0.0)
        best = next((c.probability for c in candidates if c.tool != edgeret.END), 0.0)
        if nothing < best or self._said(query):  # as a decision would have it
            return True
        words = _words(query)
        return any(_alike(words, _words(plan.query)) for plan in runtime.learned.plans if plan.query)

    def _said(self, query: str) -> list[str]:
        """The tools whose names a query says, as the client or their server calls them. One plain word is a name only
        where nothing else is said."""
        words = [word.strip(_AROUND) for word in query.split()]
        spelt = [query.strip(_AROUND), *(word for word in words if not word.isalpha() or _HUMP.search(word))]
        return list(dict.fromkeys(name for word in spelt for name in self._named.get(word.casefold(), ())))

    def likely(self, texts: str | Sequence[str], calls: Sequence[str], k: int) -> list[str]:
        """The `k` tools that a request, whose first text is the user's, most probably needs next, after the calls so
        far. Raises InputError."""
        runtime, texts = self._runtime, _all(texts)
        if runtime is None:
            return []
        task = runtime.task(texts[0], [name for name in calls if name in self._tools])
        found = [*self._said(texts[0]), *(hit.tool for hit in task.ranked(k))]
        more = self.rank(texts[1:], k) if len(texts) > 1 else ()
        return list(islice(in_turns([found, more]), k))

    def learn(self, query: str, tool: str) -> None:
        """Learns that a query was met by a call of this tool, and lets go of the file, which other proxies may share.
        Raises OverlayError and InputError."""
        runtime = self._runtime
        if runtime is None or tool not in self._tools:
            return
        try:
            runtime.learn([edgeret.Demonstration("", query, (edgeret.Call(tool),))])
        finally:
            runtime.close()

    def _known(self, name: str, tool: Definition) -> edgeret.Tool:
        """What is searched of a tool; not read anew where nothing changed."""
        before = self.definitions.get(name)
        return self._tools[name] if name in self._tools and before == tool else tool.searched(self._examples)

    def _change(self, new: Mapping[str, edgeret.Tool], gone: Sequence[str]) -> None:
        add = [tool for name, tool in new.items() if name not in self._tools]
        replace = [tool for name, tool in new.items() if name in self._tools]
        if not add and not replace and not gone:
            return
        untaught = self._untaught
        if len(gone) == len(self._tools):  # all go, or there are none
            untaught = edgeret.from_tools(add, base=self._base) if add else None
        else:
            assert untaught is not None, "there are tools"
            untaught = untaught.with_tools(add=add, remove=gone, replace=replace)
        runtime = untaught and edgeret.Runtime(untaught.loaded, self._base.learned)
        if runtime is not None:
            runtime.search("what can you do", 1)  # words and vectors are arranged with the first one
        self._tools = {name: tool for name, tool in self._tools.items() if name not in gone} | dict(new)
        self._runtime, self._untaught = runtime, untaught


def _all(texts: str | Sequence[str]) -> Sequence[str]:
    return (texts,) if isinstance(texts, str) else texts


def _words(query: str) -> set[str]:
    return {word.strip(_AROUND) for word in query.casefold().split()}


def _alike(one: set[str], other: set[str]) -> bool:
    """Whether two queries share half of their words."""
    return 2 * len(one & other) >= len(one | other)


def _small_first(tools: Mapping[str, Definition]) -> list[str]:
    """Names of tools, those of servers with few before those of servers with many, in their order."""
    count: dict[str, int] = {}
    for tool in tools.values():
        count[tool.server] = count.get(tool.server, 0) + 1
    return sorted(tools, key=lambda name: count[tools[name].server])
