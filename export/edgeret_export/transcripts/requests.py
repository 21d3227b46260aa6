"""Conversations to requests: one for each of the user's turns, with the calls that worked. Knows no format."""

from __future__ import annotations

import hashlib
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Literal

from edgeret.errors import InputError
from edgeret.inputs.demonstrations import MAX_ARGUMENTS_BYTES, MAX_CALLS
from edgeret.inputs.hygiene import check_name
from edgeret.inputs.jsonl import plain
from edgeret.inputs.query import MAX_QUERY_CHARS, check_query
from edgeret.outcomes import Outcome
from edgeret.types import Call
from edgeret.user_words import user_words
from edgeret_export.transcripts.conversation import (
    Answered,
    Called,
    Conversation,
    MadeCall,
    Place,
    Returned,
    Said,
    Unread,
)
from edgeret_export.transcripts.follow_up import is_question, refers_back

Turns = Literal["each", "first", "join"]
TURNS: tuple[Turns, ...] = ("each", "first", "join")
_MOST_RANK = (1 << 31) - 1


@dataclass(slots=True)
class _Made:
    """A call, when it was begun, and when its result was there (both as positions of events)."""

    call: MadeCall
    began: int
    ended: int
    outcome: Outcome = "worked"
    """Of a call without a result, too: many transcripts leave results out."""
    result: str | None = None


@dataclass(slots=True)
class Turn:
    """What the user said at once, and what came of it up to the next time; `back`: it needs the turn before."""

    query: str
    calls: list[_Made] = field(default_factory=list)
    left_out: list[tuple[str, str]] = field(default_factory=list)
    answer: str | None = None
    unread: bool = False
    back: bool = False
    joined: int = 0
    """How many of the calls are the former turn's, whose failures are counted with that turn."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request with its calls, or the reason why it is none (`calls` None).

    `key` is the same for the same turn in a later record that knows more of it, which has a higher `rank`. `group` is
    the same for all requests of a conversation, `turn` counts them from 0. `left_out` are (what, reason) of pieces that
    a demonstration cannot hold.
    """

    place: Place
    key: bytes
    group: bytes
    rank: int
    turn: int
    query: str
    calls: tuple[Call, ...] | None
    links: tuple[tuple[int, int], ...] | None = None
    reason: str = ""
    left_out: tuple[tuple[str, str], ...] = ()


def requests_of(conversation: Conversation, turns: Turns, keep_no_tool: bool) -> Iterator[Request]:
    """The requests of a conversation, in order."""
    said = turns_of(conversation)
    rank = min(len(conversation.events), _MOST_RANK)
    group = _digest("group", conversation.group or (said[0].query if said else ""))
    former: Turn | None = None
    context = ""
    for number, turn in enumerate(said):
        reason = "a later turn (--turns first)" if turns == "first" and (number or conversation.later) else ""
        if turn.back and (turns == "each" or (turns == "join" and former is None)):
            reason = "refers back to the turn before (--turns join puts turns of one record together)"
        whole = _joined(former, turn) if turn.back and turns == "join" and former else turn
        key = _key(context, whole)
        request = Request(conversation.place, key, group, rank, number, whole.query.strip(), None, reason=reason)
        yield request if reason else _solved(request, whole, keep_no_tool)
        context = _digest(context, turn.query).hex()
        former = whole


def turns_of(conversation: Conversation) -> list[Turn]:
    """The user's turns; messages with nothing between them are one turn. What came before the first is left out."""
    turns: list[Turn] = []
    waiting: defaultdict[str, deque[_Made]] = defaultdict(deque)
    fresh = False
    for position, event in enumerate(conversation.events):
        match event:
            case Said(whole, without):
                text = user_words(whole)
                if whole.strip() and not text.strip() and not without:
                    continue  # what a program said in the user's place
                if not (fresh and turns):
                    turns.append(_begun(text, turns, conversation.later))
                    waiting.clear()
                else:
                    turns[-1].query = "\n".join(filter(str.strip, (turns[-1].query, text)))
                turns[-1].left_out += (("part", f"{what} beside a request's words") for what in without)
                fresh = True
                continue
            case Called(calls) if turns:
                for call in calls:
                    turns[-1].calls.append(_Made(call, position, position))
                    waiting[call.id].append(turns[-1].calls[-1])
            case Returned(identifier, outcome, text) if queue := _waiting_for(identifier, waiting):
                made = queue.popleft()
                made.ended, made.outcome, made.result = position, outcome, text
            case Answered(text) if turns:
                turns[-1].answer = text
            case Unread(what) if turns:
                turns[-1].left_out.append(("call", what))
                turns[-1].unread = True
        fresh = False
    return turns


def _waiting_for(identifier: str, waiting: Mapping[str, deque[_Made]]) -> deque[_Made] | None:
    """The calls that a result may be of; where it names none, those that were made first of all that wait."""
    if identifier:
        return waiting.get(identifier)
    return waiting.get("") or next((queue for queue in waiting.values() if queue), None)


def _begun(text: str, before: Sequence[Turn], later: bool) -> Turn:
    if not before:
        return Turn(text, back=later and refers_back(text, asked=False, called=True))
    former = before[-1]
    return Turn(text, back=refers_back(text, is_question(former.answer or ""), bool(former.calls)))


def _joined(former: Turn, turn: Turn) -> Turn:
    query = f"{former.query.strip()}\n{turn.query.strip()}"
    return replace(turn, query=query, calls=[*former.calls, *turn.calls], joined=len(former.calls))


def _key(context: str, turn: Turn) -> bytes:
    """A call's id tells one turn from another with the same words; without ids, the calls themselves do."""
    first = turn.calls[0].call.id if turn.calls else ""
    if first:
        return _digest(context, turn.query, first)
    return _digest(context, turn.query, *(repr((made.call.tool, made.call.arguments)) for made in turn.calls))


def _digest(*texts: str) -> bytes:
    joined = "\0".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.blake2b(joined, digest_size=16).digest()


def _solved(request: Request, turn: Turn, keep_no_tool: bool) -> Request:
    """The request with the calls that worked, or the reason why it is no demonstration."""
    left_out = [*turn.left_out, *_failures(turn)]
    worked = [made for made in turn.calls if made.outcome == "worked"]
    reason = _unusable(request.query) or ("" if worked else _without_calls(turn, keep_no_tool))
    if not reason and len(worked) > MAX_CALLS:
        reason = f"more than {MAX_CALLS} calls"
    if not reason and not all(_is_name(made.call.tool) for made in worked):
        reason = "a call without a usable name"
    if reason:
        return replace(request, reason=reason, left_out=tuple(left_out))
    calls = [_call(made, left_out) for made in worked]
    return replace(
        request, calls=_with_references(request.query, worked, calls), links=links_of(worked), left_out=tuple(left_out)
    )


def _failures(turn: Turn) -> Iterator[tuple[str, str]]:
    for number, made in enumerate(turn.calls):
        if made.outcome == "unknown" and number >= turn.joined:
            yield "call", "its result does not tell whether it worked"
        if made.outcome == "failed" and number >= turn.joined:
            later = (other for other in turn.calls[number + 1 :] if other.outcome == "worked")
            again = any(other.call.tool == made.call.tool for other in later)
            yield "call", "failed; a later call of the same tool stands for it" if again else "failed"


def _unusable(query: str) -> str:
    if len(query) > MAX_QUERY_CHARS:
        return f"a query of more than {MAX_QUERY_CHARS} characters"
    try:
        check_query(query)
    except InputError:
        return "no words of the user" if not query.strip() else "a query with half a surrogate pair"
    return ""


def _without_calls(turn: Turn, keep_no_tool: bool) -> str:
    """Why a turn in which no call worked is no demonstration; nothing if it is one that needs no tool."""
    if turn.calls:
        failed = all(made.outcome == "failed" for made in turn.calls)
        return "every call failed" if failed else "no call of which is known that it worked"
    if turn.unread:
        return "no call that a demonstration can hold"
    if turn.answer is None:
        return "neither a call nor an answer"
    if is_question(turn.answer):
        return "the assistant asked back"
    return "" if keep_no_tool else "no call (--no-tool keep takes such requests for ones that need no tool)"


def _is_name(name: str) -> bool:
    try:
        check_name(name, "")
    except InputError:
        return False
    return bool(name)


def _call(made: _Made, left_out: list[tuple[str, str]]) -> Call:
    if made.call.arguments is None:
        left_out.append(("arguments", "no JSON object; the call was kept without them"))
        return Call(made.call.tool)
    try:
        return Call(made.call.tool, plain(made.call.arguments, MAX_ARGUMENTS_BYTES))
    except ValueError:
        left_out.append(("arguments", "too deep or too large; the call was kept without them"))
        return Call(made.call.tool)


def _with_references(query: str, made: Sequence[_Made], calls: Sequence[Call]) -> tuple[Call, ...]:
    """An argument that is the whole result of an earlier call, and is not in the query, refers to that call."""
    results: dict[str, int] = {}
    done: list[Call] = []
    for position, call in enumerate(calls):
        known = {text: n for text, n in results.items() if made[n].ended < made[position].began}
        arguments = {
            name: f"$out_{known[value] + 1}" if isinstance(value, str) and value in known else value
            for name, value in call.arguments.items()
        }
        done.append(Call(call.tool, arguments))
        if (text := (made[position].result or "").strip()) and text not in query:
            results[text] = position
    return tuple(done)


def links_of(calls: Sequence[_Made]) -> tuple[tuple[int, int], ...] | None:
    """The calls as a DAG, None where they are a chain: j is linked to i if the result of i was there when j was begun
    (or i was made in an earlier message and has none), and nothing between them says so already. Calls that ran side by
    side cannot have needed each other."""
    count = len(calls)
    before = [{i for i in range(j) if calls[i].ended < calls[j].began} for j in range(count)]
    if all(len(earlier) == j for j, earlier in enumerate(before)):
        return None
    direct = (earlier - set().union(*(before[k] for k in earlier)) for earlier in before)
    return tuple((i, j) for j, earlier in enumerate(direct) for i in sorted(earlier))
