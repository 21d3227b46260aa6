"""Query likelihood (Sachan et al., "Improving Passage Retrieval with Zero-Shot Question Generation", 2022): the planner
says how likely the request is as the words of somebody who needs each of the first tools. Reads and writes nothing.

Deviations: it weighs beside what `auto` found in place of deciding alone; it shows how people ask before it asks; it
reads one tool after the other, the first ones first, so that a budget ends it at any of them. And before, the planner
says the other way round how likely each tool's name is behind the request: how much likelier than behind a request that
says nothing, since some names are likely anywhere (pointwise mutual information), and less of that for names that their
own descriptions make likelier, since others name nothing. That takes one reading of the request for all tools, and is
left out where two or three are read.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import exp, log

from edgeret.inputs.tool_text import name_in_words
from edgeret.planner.chat import Prompt, Turn
from edgeret.strategies.base import Search, Strategy
from edgeret.strategies.fusion import latest
from edgeret.strategies.routing import contested
from edgeret.types import Hit

FIRST = 8
"""Tools that the planner reads."""
WEIGHT = 1.0
"""What a nat of the planner's counts beside one of the evidence, by the root of the request's characters: what a long
request has beyond the tool's business adds up too. Chosen with SmolLM2 and Gemma 3 on ToolBench and Seal-Tools."""
NAMING = 1.0
"""The same for what the request makes of a tool's name. Chosen with Gemma 3 on the same sets, and 400 requests of
ToolE's, whose names are mostly brands and say little."""
NAMED_FROM = 4
"""Tools that are read from which on they are named before. Naming takes as long for two as for eight, and as reading
one; two or three are told apart as well without (docs/decisions)."""
SAID_CHARS = 1000
"""Of a request that are read before tools are named."""
MAX_CHARS = 300
"""Of a tool's description that are read."""
LEAST = 1e-9
_TASK = (
    "You are shown a tool. Write what a person says who needs this tool. People often ask for other things in the same "
    "breath."
)
_EXAMPLES = (
    (
        "Train Departures. Gives the next departures at a railway station, with platforms and delays.",
        "when's the next train from Leeds to York, and from which platform?",
    ),
    (
        "Unit Converter. Converts an amount between units of length, weight, volume or temperature.",
        "I have an American recipe that says 350 degrees Fahrenheit, what is that in Celsius?",
    ),
    (
        "Create Invoice. Makes an invoice for a customer from a list of positions and sends it.",
        "Please bill Harlow & Sons for last week's repairs, 12 hours at 60 euros.",
    ),
    (
        "Song Finder. Recognises a piece of music from a recording or a line of its lyrics.",
        "There is a song that goes 'we danced until the morning came', who sings it?",
    ),
    (
        "Weather Forecast. Gives temperature, rain and wind at a place for up to ten days.",
        "We're off to Lisbon on Friday for a long weekend. Will it rain there, and can you find us three cheap hotels "
        "near the centre?",
    ),
    (
        "Currency Rates. Gives today's exchange rate between two currencies.",
        "I need to plan the budget for our Tokyo office: convert 40,000 dollars to yen, list last month's expenses and "
        "mail a summary to Dana.",
    ),
    (
        "Calendar Create Event. Adds an event with a title, time and participants to a calendar.",
        "dentist tuesday 9am",
    ),
    (
        "Stock Quote. Gives price, volume and change of a share.",
        "How did Nestle do today compared with last week? Then tell me which of my savings accounts pays the most "
        "interest.",
    ),
    ("Delete File. Removes a file from a folder for good.", "get rid of the old draft in my documents"),
    (
        "Recipe Search. Finds recipes by ingredients, diet and time.",
        "My daughter is vegan and we've got chickpeas, spinach and half an hour.",
    ),
)
"""Tools and what is said to them. A small model must see how short and how wide of one tool people ask."""
_CONSTANT = (
    Turn("system", _TASK),
    *(turn for tool, said in _EXAMPLES for turn in (Turn("user", tool), Turn("assistant", said))),
)
_NAMING_TASK = "You are shown what a person says. Name a tool that they need. People often need other tools, too."
_NAMED = (
    Turn("system", _NAMING_TASK),
    *(
        turn
        for tool, said in _EXAMPLES
        for turn in (Turn("user", said), Turn("assistant", tool.split(".", maxsplit=1)[0]))
    ),
)
_NOTHING = "I need something done."
"""A request that any tool might be named for."""


def _views(search: Search) -> Iterator[list[Hit]]:
    hits = search.mixed(FIRST)
    yield hits
    first = [hits[i] for i in contested(hits[:FIRST], search.contested)]
    if len(first) < 2 or search.answerer is None:
        return
    a_nat = 1 / max(1, len(search.request)) ** 0.5
    if len(first) >= NAMED_FROM and (lifts := _lifts(search, first)):
        first = reranked(first, [NAMING * a_nat * lift for lift in lifts])
        yield _before(first, hits, search, "how much likelier the request makes each tool's name")
    prompts = [Prompt(_CONSTANT, Turn("user", _shown(search, hit.tool))) for hit in first]
    said = search.likelihoods(prompts, search.request)
    if said:
        ranked = reranked(first[: len(said)], [WEIGHT * a_nat * value for value in said])
        yield _before([*ranked, *first[len(said) :]], hits, search, "and how likely the request is, for each tool")


def _lifts(search: Search, first: Sequence[Hit]) -> list[float]:
    """How much likelier the request makes each tool's name, in nats, than half-way between a request that says nothing
    and the tool's own description; nothing where there was no time to ask."""
    names = [name_in_words(hit.tool) for hit in first]
    tools = (search.tools.get(hit.tool) for hit in first)
    own = [_named_for("" if tool is None else tool.description[:MAX_CHARS]) for tool in tools]
    asked = [(_named_for(_NOTHING), names), *((prompt, [name]) for prompt, name in zip(own, names, strict=True))]
    if not (bases := search.replies(asked, keep=True)):
        return []
    if not (behind := search.replies([(_named_for(search.request[:SAID_CHARS]), names)])):
        return []
    anywhere, at_home = bases[0], [likelihood for (likelihood,) in bases[1:]]
    return [said - (a + b) / 2 for said, a, b in zip(behind[0], anywhere, at_home, strict=True)]


def _named_for(said: str) -> Prompt:
    return Prompt(_NAMED, Turn("user", said or _NOTHING))


def _before(ranked: list[Hit], hits: Sequence[Hit], search: Search, how: str) -> list[Hit]:
    """What the planner ranked, before the other hits."""
    search.note("rerank", how, ranked)
    read = {hit.tool for hit in ranked}
    return [*ranked, *(hit for hit in hits if hit.tool not in read)]


def reranked(hits: Sequence[Hit], evidence: Sequence[float]) -> list[Hit]:
    """Hits by their shares times what speaks for each, in nats; what they share stays the same in sum."""
    shares = [max(hit.share or 0.0, LEAST) for hit in hits]
    scores = [log(share) + nats for share, nats in zip(shares, evidence, strict=True)]
    top, whole = max(scores), sum(shares)
    weights = [exp(score - top) for score in scores]
    total = sum(weights)
    order = sorted(range(len(hits)), key=lambda i: -weights[i])
    return [Hit(hits[i].tool, hits[i].similarity, whole * weights[i] / total) for i in order]


def _shown(search: Search, name: str) -> str:
    tool = search.tools.get(name)
    description = "" if tool is None else tool.description[:MAX_CHARS]
    return f"{name_in_words(name)}. {description}".strip()


RERANK = Strategy("rerank", _views, latest, asks=True, by_tool=True)
"""The tools that `auto` finds, the first of them by what a planner takes their users to say, too."""
