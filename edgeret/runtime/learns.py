"""Who learns beside a loaded bundle: the library where that decides, and else Python; and what either keeps of changes
of tools. Knows nothing of how anything is learned."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from edgeret.runtime.core_learned import CoreLearned
from edgeret.types import Tool

if TYPE_CHECKING:
    from edgeret.runtime.loaded import Loaded


def going_on(loaded: Loaded, overlay: Path, key: bytes | None) -> Loaded:
    """The bundle with the tools that an overlay holds, and with what was learned. Raises OverlayError."""
    learned = loaded.learning(overlay, key)
    if not isinstance(learned, CoreLearned):
        from edgeret.runtime.overlays import opening
        from edgeret.runtime.tool_records import replayed

        opened = opening(overlay, loaded.manifest, key)(None)
        if opened.records:
            learned.read(opened)
        found = replayed(loaded.sharing(learned), opened.records, str(overlay))
    else:
        model, before = learned.learner.model(), loaded.core
        same = before is None or model.handle.value == before.handle.value
        found = loaded.sharing(learned) if same else loaded.with_model(model, {}, loaded.alone, learned)
    learned.kept = found.tools
    return found


def keep(
    before: Loaded, after: Loaded, add: Sequence[Tool], remove: Collection[str], substitute: Sequence[Tool]
) -> None:
    """Has the overlay keep the change of tools that made one of the other. Raises InputError if there is none or it
    holds other tools, and OverlayError."""
    from edgeret.runtime.other_tools import written

    learned = before.learned
    if isinstance(learned, CoreLearned):
        assert before.core is not None and after.core is not None, "the library learns where it decides"
        change = written(add), list(remove), written(substitute)
        learned.keep((before.tools, before.core), (after.tools, after.core), *change)
    else:
        from edgeret.runtime.tool_records import recorded

        learned.keep(*recorded(after, add, remove, substitute), before.tools, after.tools)
