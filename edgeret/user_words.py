"""What a user said, out of a message that programs wrote around it: reminders, environments, file dumps, templates.
Knows no message formats.

Editors, agents and retrieval put their own words into the user's messages, often many times as long. Most are blocks
between paired tags, so the rule is one of structure: where a block stands, whether its lines are its own, how its name
is made. Two short tables say which names are programs', and which ones have the user's words inside.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from edgeret.records import dataclass

MOST_CHARS = 200_000
"""That are read, in 0.3 s at the worst: of more, the two ends, where people say what is to be done with the rest."""
_LONG = 80
"""Characters of a block, or several lines: nobody writes so much between tags by hand and on one line."""
_PASTED = 300
"""Characters of a block whose name says nothing. Behind so many the words beside it say what is wanted."""
_FENCED_LINES = 4
_LOG_LINES = 3
_MOST_WRAPPED = 3
"""Wrappers inside each other that are taken off."""

_HEAD = 2_000
"""Characters of a text that say that it is a template."""
_SENTENCES = 200
"""Characters that a template has at least before what it found."""

_TAG = re.compile(r"<(/?)([A-Za-z][\w:.-]{0,80})((?:\s[^<>]*)?)>")
_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def _table(words: str) -> frozenset[str]:
    return frozenset(words.split())


_HTML = _table(
    "a abbr article aside audio b base blockquote body br button canvas caption cite code col colgroup data dd del "
    "details dfn dialog div dl dt em embed fieldset figcaption figure footer form h1 h2 h3 h4 h5 h6 head header hr "
    "html i iframe img input ins kbd label legend li link main map mark math menu meta nav object ol optgroup option "
    "output p param picture pre progress q s samp script section select small span strong style sub summary sup svg "
    "table tbody td template textarea tfoot th thead time title tr track u ul var video"
)
_PROGRAMS = _table(
    "aborted additional attached attachment attachments background capabilities caveat context current cwd date "
    "deferred diagnostics directory document documents editable editor env environment example examples file "
    "files folder git guidelines history hook hooks ide info instruction instructions knowledge local memories "
    "memory metadata mode notification open plugins project readonly recently reference reminder reminders "
    "repository results rule rules search selection session skill skills snippet source sources state status "
    "stderr stdout system terminal timestamp today todo todos tool tools transcript transcripts visible workspace"
)
"""Words in the names of blocks that programs write. One of them is enough."""
_COMMAND = _table("commandname commandmessage bashinput persistence agentpersistence now tick")
_ASKED = frozenset(
    f"{who}{what}"
    for who in ("user", "users", "human", "original")
    for what in ("query", "request", "message", "input", "prompt", "question", "task", "text", "utterance")
)
"""Names whose inside is all that the user said."""
_WRAPPED = _table(
    "task request query question message prompt feedback answer commandargs utterance human user ask goal"
)
"""Names whose inside is the user's, and what stands beside them may be so too."""

_LINES = re.compile(
    r"^[ \t]*(?:Caveat: The messages below were generated[^\n]*"
    r"|\[Request interrupted by user[^\n]*\]"
    r"|# (?:AGENTS|CLAUDE|GEMINI)\.md instructions for [^\n]*"
    r"|[\w:]+(?: \w+)? hook (?:success|feedback|error|additional context)\b[^\n]*"
    r"|[\[(]?(?:Today's date|Today|(?:The )?[Cc]urrent (?:date|time|datetime|date and time|date/time))(?: is|:| =)"
    r"(?P<date>[^\n]{1,80}))$",
    re.MULTILINE,
)
"""Lines that programs put before or behind what the user said."""
_PLACES = re.compile(r"\[(?:Image|Pasted text|Attachment|Screenshot|Audio|Video)\b(?: ?#\d+|: )[^\[\]\n]{0,200}\]")
_WHOLE = re.compile(
    r"(?:#+ )?(?:AGENTS|CLAUDE|GEMINI)\.md instructions\b|Contents of \S*(?:AGENTS|CLAUDE|GEMINI)(?:\.\w+)?\.md\b"
    r"|This session is being continued from a previous conversation|Base directory for this skill:|Stop hook feedback:"
    r"|I have \*added these files to the chat\*|This is the Gemini CLI\. We are setting up|Caveat: The messages below"
)
"""How texts begin that no user wrote, to their end."""
_LISTED = re.compile(
    r"^[ \t]*(?:#+ )?(?:The user (?:has )?)?(?:attached|uploaded|referenced|open|visible|selected|mentioned)\b[ \w]*"
    r"(?:files?|documents?|attachments?|images?|tabs?|folders?)\b[^\n:]*:[ \t]*$",
    re.MULTILINE | re.IGNORECASE,
)
_OPENED = re.compile(r"--- ?(?:content|context|begin|start|file|document)\b[^\n]{0,200}---$", re.IGNORECASE)
_ITEM = re.compile(r"[ \t]*(?:[-*•]|\d+[.)])[ \t]")

_TEMPLATE = re.compile(
    r"(?:following|provided|below|above|given|retrieved|enriched|relevant)\W+(?:\w+\W+){0,5}?"
    r"(?:context|documents?|passages?|sources?|information|excerpts?|content|articles?|results|snippets?|knowledge|files?)"
    r"|(?:^|\n)[#*\s]*(?:context|kontext|contexto|contexte|contesto|documents?|sources?|background|上下文|背景|コンテキスト|контекст)"
    r"\b[^\n:：]{0,60}[:：]",
    re.IGNORECASE,
)
"""What the beginning of a template says before what it found for the user."""
_MARK = re.compile(
    r"^[#*> \t]*(?:(?:my|the|user|user's|users|human|final|current|original)[ \t]+)*"
    r"(?:question|query|request|message|input|prompt|frage|pregunta|consulta|domanda|pergunta|vraag|pytanie|soru|вопрос|запрос|"
    r"问题|提问|質問|질문|سؤال|السؤال|प्रश्न)(?:[ \t]+for[ \t]+\w+|[ \t]+is)?[* \t]*[:：][*]*",
    re.MULTILINE | re.IGNORECASE,
)
_END = re.compile(
    r"^[#* \t]*(?:(?:helpful|direct|final|your|concise)[ \t]+)?"
    r"(?:answer|response|context|documents?|sources?|antwort|respuesta|réponse|risposta|resposta|antwoord|assistant|"
    r"回答|答案|ответ)\b[^\n:：]{0,40}[:：]",
    re.MULTILINE | re.IGNORECASE,
)
_LOG = re.compile(
    r"[ \t]*(?:[\[(<]?\d{4}-\d\d-\d\d[T ]\d\d:\d\d|[\[(]?\d\d:\d\d:\d\d|[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d"
    r"|[\[(]?(?:INFO|WARN|WARNING|ERROR|DEBUG|TRACE|FATAL|CRITICAL|NOTICE)[\])]?[:\s]|File \".{1,200}\", line \d"
    r"|at [\w.$<>]{1,200}\(|npm ERR!)"
)


@dataclass(frozen=True, slots=True)
class _Block:
    """A pair of tags that stands in no other one; the four places are of the text."""

    name: str
    words: tuple[str, ...]
    begin: int
    inside: int
    closed: int
    end: int
    bare: bool


def user_words(text: str) -> str:
    """What the user said in a message: the text without reminders, environments, file dumps and templates that programs
    put around it.

    A text without such is given back as it came, and so is one of which nothing would be left; "" where all of it is
    programs' own, such as a reminder alone. Of a very long text the beginning and the end are read. Takes time in
    proportion to its length, whatever stands in it.
    """
    read = text if len(text) <= MOST_CHARS else f"{text[: MOST_CHARS // 2]}\n{text[-MOST_CHARS // 2 :]}"
    words, programs = read, False
    for _ in range(_MOST_WRAPPED):
        before = words
        words, removed = _without_blocks(words)
        programs = programs or removed
        words = _behind_template(words)
        if words == before:
            break
    if not programs and _WHOLE.match(words.lstrip()):
        return ""
    words, told = _without_lines(words)
    if words.strip():
        return text if words == read else words.strip()
    return "" if programs or told else text


def _without_blocks(text: str) -> tuple[str, bool]:
    """The text without programs' blocks, wrappers taken off; and whether any that only programs write was there."""
    blocks = list(_blocks(text))
    if not blocks:
        return text, False
    asked = [text[block.inside : block.closed] for block in blocks if block.name in _ASKED and _own_lines(text, block)]
    if any(part.strip() for part in asked):
        return "\n".join(part.strip() for part in asked), True
    edges = _edges(text, blocks)
    parts: list[str] = []
    at, programs = 0, False
    if (behind := _last_part(text, blocks)) is not None:
        return behind, True
    for block, edge in zip(blocks, edges, strict=True):
        parts.append(text[at : block.begin])
        at = block.end
        own = _own_lines(text, block)
        if block.name in _WRAPPED | _ASKED and (edge or own):
            parts.append(text[block.inside : block.closed])
        elif _removed(text, block, edge, own):
            programs = programs or _known(block)
            parts.append("\n" if own else " ")
        else:
            parts.append(text[block.begin : block.end])
    return "".join([*parts, text[at:]]), programs


def _blocks(text: str) -> Iterator[_Block]:
    """Pairs of tags that stand in no other pair, in order. A closing tag belongs to the latest open one of its name."""
    waiting: dict[str, list[re.Match[str]]] = {}
    pairs: dict[int, tuple[re.Match[str], re.Match[str]]] = {}
    for tag in _TAG.finditer(text):
        if not tag[1]:
            if not tag[3].endswith("/"):
                waiting.setdefault(tag[2], []).append(tag)
        elif open_ones := waiting.get(tag[2]):
            begun = open_ones.pop()
            while open_ones and _begins_line(text, tag) and not _begins_line(text, begun):  # a text that names its tag
                begun = open_ones.pop()
            pairs[begun.start()] = (begun, tag)
    reached = 0
    for start in sorted(pairs):
        if start >= reached:
            begun, ended = pairs[start]
            reached = ended.end()
            words = tuple(word.lower() for word in _WORD.findall(begun[2]))
            yield _Block("".join(words), words, start, begun.end(), ended.start(), reached, not begun[3].strip())


def _begins_line(text: str, tag: re.Match[str]) -> bool:
    return tag.start() == 0 or text[tag.start() - 1] in "\n>"


def _edges(text: str, blocks: Sequence[_Block]) -> list[bool]:
    """Whether each block stands at the beginning or the end of the text, beside others that do."""
    places = [0, *(place for block in blocks for place in (block.begin, block.end)), len(text)]
    joined = [not _without_told(text[begin:end]).strip() for begin, end in zip(places[::2], places[1::2], strict=True)]
    plain = [block.name in _HTML for block in blocks]
    first = next((i for i in range(len(blocks)) if plain[i] or not joined[i]), len(blocks))
    last = next((i for i in range(len(blocks) - 1, -1, -1) if plain[i] or not joined[i + 1]), -1)
    return [i < first or i > last for i in range(len(blocks))]


def _removed(text: str, block: _Block, edge: bool, own: bool) -> bool:
    """Whether a block goes: the less its name says, the more its place and length have to."""
    inside = text[block.inside : block.closed]
    long = len(inside) >= _LONG or "\n" in inside or not block.bare
    compound = len(block.words) > 1
    if _known(block):
        return (edge or own) if compound else (edge and (own or long)) or (own and long)
    if compound:
        return edge and own
    return edge and own and len(inside) >= _PASTED and block.name not in _HTML


def _known(block: _Block) -> bool:
    return block.name not in _HTML and (block.name in _COMMAND or not _PROGRAMS.isdisjoint(block.words))


def _own_lines(text: str, block: _Block) -> bool:
    """Whether nothing but other blocks stands on the lines where it begins and ends."""
    before = text[max(0, block.begin - 200) : block.begin].rstrip(" \t")
    behind = text[block.end : block.end + 200].lstrip(" \t")
    return (not before or before[-1] in "\n>") and (not behind or behind[0] in "\r\n<")


def _last_part(text: str, blocks: Sequence[_Block]) -> str | None:
    """What stands behind the blocks of a template without a mark for the question; None where there is no template."""
    head, behind = text[: blocks[0].begin], text[blocks[-1].end :]
    told = len(head) >= _SENTENCES and _known(blocks[-1]) and _TEMPLATE.search(head[:_HEAD]) and not _mark(text)
    return behind.strip() or None if told else None


def _behind_template(text: str) -> str:
    """Of a template that tells a model what to answer from, the question; any other text as it is."""
    if not (mark := _mark(text)):
        return text
    head = text[: mark.start()]
    if not (_TEMPLATE.search(head[:_HEAD]) or head.lstrip().startswith("# ")):
        return text
    asked = text[mark.end() :]
    ended = _END.search(asked)
    asked = asked[: ended.start()] if ended and asked[: ended.start()].strip() else asked
    return asked.strip() or text


def _mark(text: str) -> re.Match[str] | None:
    """The last line that says that the user's words follow."""
    found = None
    for found in _MARK.finditer(text):  # noqa: B007
        pass
    return found


def _without_lines(text: str) -> tuple[str, bool]:
    """The text without programs' lines, placeholders, fenced files, logs and lists of files; and whether any of the
    first two was there, which nobody but programs writes."""
    words = _PLACES.sub("", _without_told(text))
    told = words != text
    kept: list[str] = []
    lines = words.split("\n")
    at = 0
    for end in _dumps(lines):
        kept.extend(lines[at : end[0]])
        at = end[1]
    kept.extend(lines[at:])
    return ("\n".join(kept) if at else words), told


def _without_told(text: str) -> str:
    """The text without lines that programs put there."""
    return _LINES.sub(lambda line: line[0] if line["date"] and not _is_date(line["date"]) else "", text)


def _is_date(text: str) -> bool:
    """Whether a text is a date or a time and nothing else: numbers, names that begin with a capital."""
    words = re.findall(r"\w+", text)
    return any(char.isdigit() for char in text) and all(
        not word[0].islower() or word in ("at", "of", "and", "the", "am", "pm", "th", "st") for word in words
    )


def _dumps(lines: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Where runs of lines begin and end that are files, logs and lists of files."""
    closing = _closing_fences(lines)
    at = 0
    while at < len(lines):
        end = at + 1
        if at in closing:
            end = closing[at] + 1
            name = lines[at].strip("`~ \t")
            if end - at - 2 >= _FENCED_LINES or "/" in name or "." in name or name.startswith("-"):
                yield at, end
        elif lines[at].startswith("Traceback (most recent call last)"):
            while end < len(lines) and lines[end][:1] in (" ", "\t"):
                end += 1
            yield at, min(end + 1, len(lines))
        elif _LOG.match(lines[at]):
            while end < len(lines) and _LOG.match(lines[end]):
                end += 1
            if end - at >= _LOG_LINES:
                yield at, end
        elif len(lines[at]) <= _LONG and _LISTED.match(lines[at]):
            while end < len(lines) and _ITEM.match(lines[end]):
                end += 1
            end = closing.get(end, end - 1) + 1
            if end - at > 1:
                yield at, end
        at = end


def _closing_fences(lines: Sequence[str]) -> dict[int, int]:
    """Where each fence that is closed begins and ends; "--- Content … ---" is one up to "--- End … ---"."""
    found: dict[int, int] = {}
    opened: tuple[int, str] | None = None
    for i, line in enumerate(lines):
        bare = line.strip()
        if opened is None:
            if bare.startswith(("```", "~~~")):
                opened = (i, bare[:3])
            elif _OPENED.match(bare):
                opened = (i, "---")
        elif opened[1] == "---":
            if bare.startswith("--- End"):
                found[opened[0]] = i
                opened = None
        elif bare.startswith(opened[1]) and not bare.strip(opened[1][0]):
            found[opened[0]] = i
            opened = None
    return found
