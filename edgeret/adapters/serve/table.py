"""What can be asked, and what is answered: one table that requests are checked by and pages are written from. Knows
nothing of how it is done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import inf

from edgeret.adapters.serve.kinds import Anything, Field, Flag, ListOf, MapOf, Moment, Number, Object, Text, TextOr
from edgeret.records import dataclass

MOST_CHARS = 20_000
"""Of a query."""
MOST_CALLS = 256
MOST_CANDIDATES = 1_000
POLICIES = ("auto", "heads", "planner")
_NAME = Text(1_000)
_QUERY = Text(MOST_CHARS)
_SHARE = Number(0, 1)
_REAL = Number(-inf, inf)
_COUNT = Number(0, inf, whole=True)

_CALL = Object(
    (
        Field("tool", _NAME, "the tool that was called", needed=True),
        Field("arguments", MapOf(Anything()), "what it was called with"),
        Field("result", Anything(), "what it gave"),
    )
)
_FAILURE = Object(
    (
        Field("tool", _NAME, "the tool that was tried", needed=True),
        Field("reason", Text(MOST_CHARS), "why it did not work"),
    )
)
_CALLS = ListOf(TextOr(_NAME, _CALL), most=MOST_CALLS)
_NOW = Field(
    "now",
    Moment(),
    'what "tomorrow" is counted from, as 2026-11-29T10:00:00+01:00; by default the clock of the machine that answers',
)
_POLICY = Field("policy", Text(choices=POLICIES), "who decides; auto by default")
_DECIDED: Sequence[Field] = (
    Field(
        "tool", Text(null=True), 'the tool to call; "<end>" where the request is done, null where nothing fits', True
    ),
    Field("probability", _SHARE, "of the best candidate, whether or not it was taken", True),
    Field("source", Text(), "what decided: heads, prior or planner", True),
    Field("abstained", Flag(), "whether nothing fits", True),
    Field("reason", Text(), "why, in words", True),
    Field(
        "candidates",
        ListOf(Object((Field("tool", Text(), "a tool", True), Field("probability", _SHARE, "its own", True)))),
        "the most probable first",
        True,
    ),
    Field("timings_ms", MapOf(_REAL), "milliseconds of each stage", True),
    Field("alternatives", ListOf(Anything()), "two or three tools to ask the user about", True),
)
_OVERLAY: Sequence[Field] = (
    Field("overlay", Text(null=True), "the file that keeps this; null where it ends with the process", True),
    Field("overlay_bytes", _COUNT, "its size", True),
)


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to ask for: its name on a line (`do`), its `method` and `path` over HTTP, in words what it does, the
    object that it takes, the one that it answers with, and an `example` of the first."""

    do: str
    method: str
    path: str
    told: str
    takes: Object
    gives: Object
    example: Mapping[str, object] | None = None


DECIDE = Action(
    "decide",
    "POST",
    "/v1/decide",
    "Decides which tool comes next.",
    Object(
        (
            Field("query", _QUERY, "the user's words; may be left out to go on with a session's turn"),
            Field("calls", _CALLS, "the calls made for it so far, all of them, in order"),
            Field("allowed", ListOf(_NAME, least=1), "the only tools that may be chosen; all by default"),
            Field("failed", ListOf(TextOr(_NAME, _FAILURE), most=MOST_CALLS), "tools that were tried just now in vain"),
            _POLICY,
            Field("risk", Number(0.005, 0.5), "share of answers that may be wrong"),
            Field("k", Number(1, MOST_CANDIDATES, whole=True), "candidates to list; 10 by default"),
            Field("arguments", Flag(), "whether to read the call's arguments from the request"),
            _NOW,
            Field("explain", Flag(), "whether to tell which part said what"),
            Field("session", Text(128), "a conversation's name of your own: earlier turns of it explain this one"),
        )
    ),
    Object(_DECIDED, more=True),
    {"query": "Find my lease contract and mail it to Gideon", "calls": ["find_file"]},
)
SEARCH = Action(
    "search",
    "POST",
    "/v1/search",
    "Finds tools for some words.",
    Object(
        (
            Field("query", _QUERY, "the words"),
            Field(
                "queries", ListOf(_QUERY, 1, 64), "or up to four texts: the user's words, and what each tool should do"
            ),
            Field("k", Number(1, MOST_CANDIDATES, whole=True), "how many tools; 10 by default"),
            Field("strategy", Text(64), "how tools are searched; auto by default"),
            Field("needed", Flag(), "whether to tell what calls of these tools need first, too"),
        )
    ),
    Object(
        (
            Field("query", Text(), "the first of the texts", True),
            Field("queries", ListOf(Text()), "all of them", True),
            Field("strategy", Text(), "as it was asked", True),
            Field("index", Text(), "exact or hnsw", True),
            Field("hits", ListOf(Object((Field("tool", Text(), "a tool", True),), more=True)), "the best first", True),
            Field("complete", Flag(), "whether nothing went wrong", True),
            Field("problem", Text(null=True), "what did", True),
        )
    ),
    {"query": "send a mail", "k": 3},
)
PLAN = Action(
    "plan",
    "POST",
    "/v1/plan",
    "Decides step by step until nothing is left to do.",
    Object(
        (
            Field("query", _QUERY, "the user's words", needed=True),
            _POLICY,
            Field("max_steps", Number(1, 64, whole=True), "calls at most; 16 by default"),
            Field("arguments", Flag(), "whether to read the calls' arguments; true by default"),
            _NOW,
        )
    ),
    Object(
        (
            Field("query", Text(), "as it was asked", True),
            Field("outcome", Text(), "complete, abstained, bound, repeated or cancelled", True),
            Field("tools", ListOf(Text()), "the calls, in order", True),
            Field("links", ListOf(ListOf(_COUNT)), "which call takes which call's output", True),
            Field("steps", ListOf(Object(_DECIDED, more=True)), "each decision", True),
        )
    ),
    {"query": "Find my lease contract and mail it to Gideon"},
)
LEARN = Action(
    "learn",
    "POST",
    "/v1/learn",
    "Learns that these calls solve a request. Off unless started with --learn.",
    Object(
        (
            Field("query", _QUERY, "the user's words", needed=True),
            Field("calls", _CALLS, "the calls that solved it, in order; none says that no tool fits", needed=True),
            Field("keep_words", Flag(), "whether to keep the words, and not only their vectors; true by default"),
        )
    ),
    Object(
        (
            Field("learned", _COUNT, "plans, now", True),
            Field("stored", _COUNT, "plans, in all", True),
            Field("used", Flag(), "whether decisions use what was learned", True),
            Field("status", Text(), "that in words", True),
            Field("size_bytes", _COUNT, "in memory", True),
            *_OVERLAY,
        )
    ),
    {"query": "mail the minutes to Ana", "calls": ["find_file", "send_mail"]},
)
_ONE_TOOL = Object(
    (
        Field("name", Text(), "its name", True),
        Field("description", Text(), "what it does", True),
        Field("source", Text(), "bundle, added or replaced", True),
    )
)
TOOLS = Action(
    "tools",
    "GET",
    "/v1/tools",
    "Lists the tools.",
    Object(()),
    Object(
        (
            Field("tools", ListOf(_ONE_TOOL), "all that are there", True),
            Field("removed", ListOf(Text()), "tools of the bundle that are not", True),
            Field(
                "overlay", Text(null=True), "the file that keeps changes; null where they end with the process", True
            ),
        )
    ),
)
CHANGED = Object(
    (
        Field("added", ListOf(Text()), "new tools", True),
        Field("removed", ListOf(Text()), "tools that went", True),
        Field("replaced", ListOf(Text()), "tools with a new definition", True),
        Field("tools", _COUNT, "in all, now", True),
        *_OVERLAY,
    )
)
CHANGE = Action(
    "change",
    "POST",
    "/v1/tools",
    "Adds and removes tools, all at once or none. Off with --read-only.",
    Object(
        (
            Field("add", ListOf(MapOf(Anything()), most=10_000), "definitions as OpenAI, Anthropic or MCP write them"),
            Field("replace", Flag(), "whether tools that are there already are replaced"),
            Field("remove", ListOf(_NAME, most=10_000), "names"),
        )
    ),
    CHANGED,
    {"add": [{"name": "water_plants", "description": "Waters the plants"}]},
)
REMOVE = Action("change", "DELETE", "/v1/tools/{name}", "Removes one tool. Off with --read-only.", Object(()), CHANGED)
HEALTH = Action(
    "health",
    "GET",
    "/health",
    "Says that it is there, and what it decides with.",
    Object(()),
    Object(
        (
            Field("ok", Flag(), "true", True),
            Field("version", Text(), "of edgeret", True),
            Field("content_hash", Text(), "of the bundle", True),
            Field("tools", _COUNT, "how many", True),
            Field("learned", _COUNT, "plans", True),
            Field("learning", Flag(), "whether it may learn", True),
            Field("changing", Flag(), "whether tools may change", True),
            Field("bundle", Text(), "with a store: the active version's name"),
            Field("trouble", Text(null=True), "with a store: why the latest switch did not happen here, or null"),
        )
    ),
)
ACTIONS = (DECIDE, SEARCH, PLAN, LEARN, TOOLS, CHANGE, REMOVE, HEALTH)
