"""What to ask a user for, where nobody said it. Knows nothing of how it is looked for."""

from __future__ import annotations

from datetime import datetime

from edgeret_export.reference.inputs.dates import day_of
from edgeret_export.reference.inputs.parameters import Parameter
from edgeret_export.reference.inputs.units import Reading

_QUESTIONS = {
    **{
        "when": "For when?",
        "place": "Where?",
        "person": "Who?",
        "email": "Which e-mail address?",
        "duration": "How long?",
    },
    **{"phone": "Which phone number?", "url": "Which link?", "path": "Which file?"},
}


def question(one: Parameter, found: Reading | None = None, now: datetime | None = None) -> str:
    """A question for a parameter; `found` is the request, where it was read. A day that was said and no clock tells
    is asked for, or its hour alone."""
    form = one.schema.get("format")
    days = found.matches.get("date", ()) if found is not None and one.kind == "when" else ()
    if found is not None and days and form in ("date", "date-time"):
        first, last = days[0].first, days[0].last
        is_known = now is not None and day_of(found.glossed(first, last), now) is not None
        return "At what time?" if is_known and form == "date-time" else f"Which date is “{found.words(first, last)}”?"
    if one.kind == "choice" and isinstance(choices := one.schema.get("enum"), list):
        shown = [str(choice) for choice in choices[:5]]
        return f"{_named(one)}: {', '.join(shown[:-1])} or {shown[-1]}?" if len(shown) > 1 else f"{_named(one)}?"
    if one.kind in _QUESTIONS:
        return _QUESTIONS[one.kind]
    return f"{_named(one)}?"


def _named(one: Parameter) -> str:
    """A parameter in words: the first clause of its description, or its name."""
    told = one.described.partition(".")[0].partition(";")[0].strip()
    shown = told if 0 < len(told) <= 60 else one.name.replace("_", " ")
    return shown[:1].upper() + shown[1:]
