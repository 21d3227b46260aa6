"""Whether a tool changes something or only tells it, by the words that it is named and described with. Knows nothing
of requests."""

from __future__ import annotations

from edgeret.inputs.tool_text import name_in_words
from edgeret.inputs.words import stem
from edgeret.types import Tool
from edgeret_export.reference.inputs.language_rules import verbs_of_tools

_FIRST_WORDS = 6
"""Of a description, in which its verb stands."""
_READ = 200
"""Characters that hold these."""


def changes(tool: Tool) -> bool:
    """Whether a tool does more than tell: its first verb says so, looked for in the name's first word ("set_alarm"),
    then in the description's first words ("Turns on a device"), then in the rest of the name. Without a verb it is
    taken for one that tells."""
    first, *rest = name_in_words(tool.name).lower().split() or [""]
    verbs = verbs_of_tools()
    for word in (first, *tool.description[:_READ].lower().split()[:_FIRST_WORDS], *rest):
        if (found := verbs.get(stem(word.strip(".,:;()")))) is not None:
            return found
    return False
