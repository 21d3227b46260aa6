"""What can be asked, and what is answered: one table that requests are checked by and pages are written from. Knows
nothing of how it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from edgeret.adapters.serve.kinds import ANYTHING, FLAG, MOMENT, Kind, fields, list_of, map_of, number, text, text_or
from edgeret.records import dataclass

MOST_CHARS = 20_000
"""Of a query."""
MOST_CALLS = 256
MOST_CANDIDATES = 1_000
POLICIES = ("auto", "heads", "planner")
_NAME = text(1_000)
_QUERY = text(MOST_CHARS)
_SHARE = number(0, 1)
_REAL = number()
_COUNT = number(0, whole=True)

_CALL = fields(
    ("tool", _NAME, "the tool that was called", True),
    ("arguments", map_of(ANYTHING), "what it was called with"),
    ("result", ANYTHING, "what it gave"),
)
_FAILURE = fields(
    ("tool", _NAME, "the tool that was tried", True),
    ("reason", text(MOST_CHARS), "why it did not work"),
)
_CALLS = list_of(text_or(_NAME, _CALL), most=MOST_CALLS)
_NOW = (
    "now",
    MOMENT,
    'what "tomorrow" is counted from, as 2026-11-29T10:00:00+01:00; by default the clock of the machine that answers',
)
_POLICY = ("policy", text(choices=POLICIES), "who decides; auto by default")
_DECIDED: Sequence[tuple[str, Kind, str, bool]] = (
    ("tool", text(null=True), 'the tool to call; "<end>" where the request is done, null where nothing fits', True),
    ("probability", _SHARE, "of the best candidate, whether or not it was taken", True),
    ("source", text(), "what decided: heads, prior or planner", True),
    ("abstained", FLAG, "whether nothing fits", True),
    ("reason", text(), "why, in words", True),
    (
        "candidates",
        list_of(
            fields(
                ("tool", text(), "a tool", True),
                ("probability", _SHARE, "its own", True),
            )
        ),
        "the most probable first",
        True,
    ),
    ("timings_ms", map_of(_REAL), "milliseconds of each stage", True),
    ("alternatives", list_of(ANYTHING), "two or three tools to ask the user about", True),
)
_OVERLAY: Sequence[tuple[str, Kind, str, bool]] = (
    ("overlay", text(null=True), "the file that keeps this; null where it ends with the process", True),
    ("overlay_bytes", _COUNT, "its size", True),
)


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to ask for: its name on a line (`do`), its `method` and `path` over HTTP, in words what it does, the
    object that it takes, the one that it answers with, and an `example` of the first."""

    do: str
    method: str
    path: str
    told: str
    takes: Kind
    gives: Kind
    example: Mapping[str, object] | None = None


DECIDE = Action(
    "decide",
    "POST",
    "/v1/decide",
    "Decides which tool comes next.",
    fields(
        ("query", _QUERY, "the user's words; may be left out to go on with a session's turn"),
        ("calls", _CALLS, "the calls made for it so far, all of them, in order"),
        ("allowed", list_of(_NAME, least=1), "the only tools that may be chosen; all by default"),
        ("failed", list_of(text_or(_NAME, _FAILURE), most=MOST_CALLS), "tools that were tried just now in vain"),
        _POLICY,
        ("risk", number(0.005, 0.5), "share of answers that may be wrong"),
        ("k", number(1, MOST_CANDIDATES, whole=True), "candidates to list; 10 by default"),
        ("arguments", FLAG, "whether to read the call's arguments from the request"),
        _NOW,
        ("explain", FLAG, "whether to tell which part said what"),
        ("session", text(128), "a conversation's name of your own: earlier turns of it explain this one"),
    ),
    fields(*_DECIDED, more=True),
    {"query": "Find my lease contract and mail it to Gideon", "calls": ["find_file"]},
)
SEARCH = Action(
    "search",
    "POST",
    "/v1/search",
    "Finds tools for some words.",
    fields(
        ("query", _QUERY, "the words"),
        ("queries", list_of(_QUERY, 1, 64), "or up to four texts: the user's words, and what each tool should do"),
        ("k", number(1, MOST_CANDIDATES, whole=True), "how many tools; 10 by default"),
        ("strategy", text(64), "how tools are searched; auto by default"),
        ("needed", FLAG, "whether to tell what calls of these tools need first, too"),
    ),
    fields(
        ("query", text(), "the first of the texts", True),
        ("queries", list_of(text()), "all of them", True),
        ("strategy", text(), "as it was asked", True),
        ("index", text(), "exact or hnsw", True),
        (
            "hits",
            list_of(
                fields(
                    ("tool", text(), "a tool", True),
                    more=True,
                )
            ),
            "the best first",
            True,
        ),
        ("complete", FLAG, "whether nothing went wrong", True),
        ("problem", text(null=True), "what did", True),
    ),
    {"query": "send a mail", "k": 3},
)
PLAN = Action(
    "plan",
    "POST",
    "/v1/plan",
    "Decides step by step until nothing is left to do.",
    fields(
        ("query", _QUERY, "the user's words", True),
        _POLICY,
        ("max_steps", number(1, 64, whole=True), "calls at most; 16 by default"),
        ("arguments", FLAG, "whether to read the calls' arguments; true by default"),
        _NOW,
    ),
    fields(
        ("query", text(), "as it was asked", True),
        ("outcome", text(), "complete, abstained, bound, repeated or cancelled", True),
        ("tools", list_of(text()), "the calls, in order", True),
        ("links", list_of(list_of(_COUNT)), "which call takes which call's output", True),
        ("steps", list_of(fields(*_DECIDED, more=True)), "each decision", True),
    ),
    {"query": "Find my lease contract and mail it to Gideon"},
)
LEARN = Action(
    "learn",
    "POST",
    "/v1/learn",
    "Learns that these calls solve a request. Off unless started with --learn.",
    fields(
        ("query", _QUERY, "the user's words", True),
        ("calls", _CALLS, "the calls that solved it, in order; none says that no tool fits", True),
        ("keep_words", FLAG, "whether to keep the words, and not only their vectors; true by default"),
    ),
    fields(
        ("learned", _COUNT, "plans, now", True),
        ("stored", _COUNT, "plans, in all", True),
        ("used", FLAG, "whether decisions use what was learned", True),
        ("status", text(), "that in words", True),
        ("size_bytes", _COUNT, "in memory", True),
        *_OVERLAY,
    ),
    {"query": "mail the minutes to Ana", "calls": ["find_file", "send_mail"]},
)
_ONE_TOOL = fields(
    ("name", text(), "its name", True),
    ("description", text(), "what it does", True),
    ("source", text(), "bundle, added or replaced", True),
)
TOOLS = Action(
    "tools",
    "GET",
    "/v1/tools",
    "Lists the tools.",
    fields(),
    fields(
        ("tools", list_of(_ONE_TOOL), "all that are there", True),
        ("removed", list_of(text()), "tools of the bundle that are not", True),
        ("overlay", text(null=True), "the file that keeps changes; null where they end with the process", True),
    ),
)
CHANGED = fields(
    ("added", list_of(text()), "new tools", True),
    ("removed", list_of(text()), "tools that went", True),
    ("replaced", list_of(text()), "tools with a new definition", True),
    ("tools", _COUNT, "in all, now", True),
    *_OVERLAY,
)
CHANGE = Action(
    "change",
    "POST",
    "/v1/tools",
    "Adds and removes tools, all at once or none. Off with --read-only.",
    fields(
        ("add", list_of(map_of(ANYTHING), most=10_000), "definitions as OpenAI, Anthropic or MCP write them"),
        ("replace", FLAG, "whether tools that are there already are replaced"),
        ("remove", list_of(_NAME, most=10_000), "names"),
    ),
    CHANGED,
    {"add": [{"name": "water_plants", "description": "Waters the plants"}]},
)
REMOVE = Action("change", "DELETE", "/v1/tools/{name}", "Removes one tool. Off with --read-only.", fields(), CHANGED)
HEALTH = Action(
    "health",
    "GET",
    "/health",
    "Says that it is there, and what it decides with.",
    fields(),
    fields(
        ("ok", FLAG, "true", True),
        ("version", text(), "of edgeret", True),
        ("content_hash", text(), "of the bundle", True),
        ("tools", _COUNT, "how many", True),
        ("learned", _COUNT, "plans", True),
        ("learning", FLAG, "whether it may learn", True),
        ("changing", FLAG, "whether tools may change", True),
        ("bundle", text(), "with a store: the active version's name"),
        ("trouble", text(null=True), "with a store: why the latest switch did not happen here, or null"),
    ),
)
ACTIONS = (DECIDE, SEARCH, PLAN, LEARN, TOOLS, CHANGE, REMOVE, HEALTH)
