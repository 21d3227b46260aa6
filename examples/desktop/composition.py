"""Words a request: chooses phrases for its intents, joins them, and gives the whole a style of speech.

A value that fills a slot is framed by a mark while the text is built, so that upper and lower case of the words around
it may change without touching the value; the marks are still there in what is returned (untidy.py takes them out).
"""

from __future__ import annotations

import random
import re

from grammar import SLOT, Intent, expand

MARK = "\x00"
FRAMES = (
    "{}",
    "{}",
    "{}",
    "{}",
    "please {}",
    "{}, please",
    "{}, thanks",
    "could you {}?",
    "can you {}?",
    "would you {}?",
    "would you please {}?",
    "could you please {}?",
    "can you {} for me?",
    "I need you to {}",
    "I'd like you to {}",
    "I want you to {}",
    "I was wondering if you could {}",
    "it would be great if you could {}",
    "I'd appreciate it if you could {}",
    "do me a favour and {}",
    "go ahead and {}",
    "hey, {}",
    "quick one: {}",
    "next job: {}",
    "any chance you could {}?",
    "is it possible to {}?",
    "be so kind as to {}",
)
OWN_FRAMES = ("I have to {}", "I need to {}", "let's {}", "time to {}", "I want to {}", "help me {}", "I should {}")
GERUND_FRAMES = ("would you mind {}?", "how about {}?", "I'd be grateful for you {}", "do you mind {}?")
LEADS = (
    "I'm in a rush, so ",
    "I'm swamped with work, ",
    "before I forget: ",
    "sorry to bother you, but ",
    "my hands are full right now, ",
    "OK, ",
    "right, ",
    "so, ",
    "one more thing: ",
    "as I'm in the middle of something, ",
    "listen, ",
    "hi there, ",
)
STEP_JOINTS = (" and ", " and then ", ", then ", ", and ", "; then ", ", after that ", ", next ", ", and afterwards ")
SENTENCE_STEP_JOINTS = (". Then ", ". After that, ", ". Next, ", ". When that is done, ", ". Once you have it, ")
ASIDE_JOINTS = (" and ", ", and ", " and also ", ", also ", "; ", ", plus ", " and please ", ", then ", " as well as ")
SENTENCE_ASIDES = (
    ". Also, ",
    ". And ",
    ". Oh, and ",
    ". Besides, ",
    ". Apart from that, ",
    ". Another thing: ",
    ". While you are at it, ",
    ". On top of that, ",
    ". Separately, ",
    ". Then ",
    ". ",
)
TERSE_JOINTS = ("; ", " / ", ", ", " + ", " & then ")
NO_ON = re.compile(rf"\bon {MARK}(?=today|tomorrow|tonight|next |this |the (?:day|weekend|rest))")
A_BEFORE_VOWEL = re.compile(rf"\b([Aa]) ({MARK}?)(?=[aeio])")
DOUBLED = re.compile(r"(?:[^aeiou]|^)[aeiou][bdgklmnpt]$")
SINGLE = {"answer", "deliver", "deposit", "edit", "email", "enter", "hear", "interrupt", "list", "open", "reckon"}
SINGLE |= {"register", "render", "shorten", "widen", "recall", "e-mail", "mail", "read", "look", "book", "lift"}
IRREGULAR = {"quit": "quitting", "queue": "queuing", "defer": "deferring", "transfer": "transferring"}
IRREGULAR |= {"cancel": "cancelling", "distil": "distilling", "dial": "dialling"}


def gerund(phrase: str) -> str:
    """Turns an imperative phrase into its -ing form."""
    verb, _, rest = phrase.partition(" ")
    if verb in IRREGULAR:
        return f"{IRREGULAR[verb]} {rest}".strip()
    if verb.endswith("e") and not verb.endswith(("ee", "oe", "ye")):
        verb = verb[:-1]
    elif DOUBLED.search(verb) and verb not in SINGLE:
        verb += verb[-1]
    return f"{verb}ing {rest}".strip()


def fill(template: str, values: dict[str, str]) -> str:
    """Puts marked slot values into a template; "on" is left out where a value such as "tomorrow" does not take it."""
    text = SLOT.sub(lambda match: MARK + values[match[1]] + MARK, template)
    return A_BEFORE_VOWEL.sub(r"\1n \2", NO_ON.sub(MARK, text))


def upper_first(text: str) -> str:
    """Starts a sentence with a capital letter, unless it starts with a slot value."""
    return text[:1].upper() + text[1:]


def lower_first(text: str) -> str:
    """Starts with a small letter inside a sentence; the pronoun I stays as it is."""
    return text if re.match(r"I\b|[A-Z]{2}", text) else text[:1].lower() + text[1:]


def is_sentence(text: str) -> bool:
    """Tells a whole sentence from an imperative phrase."""
    return text.endswith((".", "?", "!"))


def plain_command(text: str) -> bool:
    """True for an imperative phrase that starts with a verb and holds a single clause."""
    return re.match(r"[a-z-]+ ", text) is not None and not is_sentence(text)


def join(pieces: list[str], joints: tuple[str, ...], rng: random.Random) -> str:
    """Joins pieces in a row; with more than two, commas come between all but the last ones, now and then."""
    if len(pieces) > 2 and rng.random() < 0.4:
        return ", ".join(pieces[:-1]) + rng.choice((" and ", ", and ", " and finally ", ", then ")) + pieces[-1]
    text = pieces[0]
    for piece in pieces[1:]:
        text += rng.choice(joints) + piece
    return text


def word_parts(parts: list[str], rng: random.Random) -> str:
    """Joins the steps of one task, as a command, as sentences, or with the order turned round."""
    chance = rng.random()
    if len(parts) == 2 and chance < 0.14:
        return f"after {gerund(parts[0])}, {parts[1]}"
    if len(parts) == 2 and chance < 0.26:
        return f"before {gerund(parts[1])}, {parts[0]}"
    if chance < 0.36:
        return "first " + join(parts, (", then ", " and then ", ", after that "), rng)
    if chance < 0.44 and len(parts) == 2:
        return f"once you {parts[0]}, {parts[1]}"
    if chance < 0.6:
        return join(parts, SENTENCE_STEP_JOINTS, rng)
    return join(parts, STEP_JOINTS, rng)


def word_intent(intent: Intent, values: dict[str, str], rng: random.Random) -> tuple[str, str]:
    """The wording of one intent and its sort: command, steps, sentence or fragment."""
    if intent.parts and (not intent.phrases or rng.random() < 0.5):
        parts = [fill(expand(rng.choice(options), rng), values) for options in intent.parts]
        return word_parts(parts, rng), "steps"
    template = expand(rng.choice(intent.phrases), rng)
    if template.startswith("~"):
        return fill(template[1:], values), "fragment"
    text = fill(template, values)
    return text, "sentence" if is_sentence(text) else "command"


def frame(text: str, rng: random.Random) -> str:
    """Puts a command into a question, a statement or a plea."""
    if ". " in text:
        return text
    if rng.random() < 0.07 and plain_command(text) and " and " not in text and ", " not in text:
        return rng.choice(GERUND_FRAMES).format(gerund(text))
    own = rng.random() < 0.12 and not re.search(r"\b(me|us)\b", text)
    framed = rng.choice(OWN_FRAMES if own else FRAMES).replace("{}", text)
    return rng.choice(LEADS) + framed if rng.random() < 0.12 else framed


def frame_steps(text: str, rng: random.Random) -> str:
    """Gives steps a polite or hurried opening, or none."""
    if text.startswith(("after ", "before ", "once ", "first ")) or ". " in text:
        return rng.choice(("", "", "", "please, ", "hi, ", "OK, ", "I'm busy: ")) + text
    return frame(text, rng)


def finish(text: str, rng: random.Random) -> str:
    """Case and full stop: tidy as a rule, careless now and then."""
    text = text.replace("..", ".")
    if rng.random() < 0.3 and not is_sentence(text):
        return text
    text = upper_first(text)
    if not is_sentence(text) and rng.random() < 0.7:
        text += "."
    elif text.endswith("?") and rng.random() < 0.15:
        text = text[:-1]
    return text


class TerseWording:
    """Words requests in telegram style. A wording comes again only when its intent has no unused one left."""

    def __init__(self) -> None:
        self.unused: dict[str, list[str]] = {}

    def __call__(self, intents: list[Intent], values: list[dict[str, str]], rng: random.Random) -> str:
        """A wording of each intent as it stands, in their order."""
        phrases = [expand(self.next_phrase(intent, rng), rng) for intent in intents]
        texts = [fill(phrase, slots) for phrase, slots in zip(phrases, values, strict=True)]
        return join(texts, TERSE_JOINTS, rng)

    def next_phrase(self, intent: Intent, rng: random.Random) -> str:
        """A wording of the intent, each of them once before any comes again."""
        unused = self.unused.setdefault(intent.name, [])
        if not unused:
            unused += rng.sample(intent.phrases, len(intent.phrases))
        return unused.pop()


def word_request(intents: list[Intent], values: list[dict[str, str]], rng: random.Random) -> str:
    """The full text of a request for some independent intents, in their order."""
    worded = [word_intent(intent, slots, rng) for intent, slots in zip(intents, values, strict=True)]
    sorts = {sort for _, sort in worded}
    texts = [text for text, _ in worded]
    if len(worded) == 1:
        text, sort = worded[0]
        if sort == "command":
            text = frame(text, rng)
        elif sort == "steps":
            text = frame_steps(text, rng)
        return finish(text, rng)
    if sorts == {"fragment"}:
        return finish(join(texts, TERSE_JOINTS, rng), rng)
    if sorts == {"command"} and rng.random() < 0.65:
        joined = join(texts, ASIDE_JOINTS[:-1], rng)
        return finish(frame(joined, rng), rng)
    text = ""
    for number, (piece, sort) in enumerate(worded):
        if sort == "command" and rng.random() < 0.5:
            piece = frame(piece, rng)
        elif sort == "steps" and rng.random() < 0.3:
            piece = frame_steps(piece, rng)
        if not number:
            text = piece
            continue
        joint = rng.choice(SENTENCE_ASIDES)
        if is_sentence(text):
            joint = joint[1:]
        inner = lower_first(piece) if not joint.endswith(". ") else upper_first(piece)
        text += joint + inner
    return finish(re.sub(r"([.?!]) ([a-z])", lambda match: f"{match[1]} {match[2].upper()}", text), rng)
