"""A planner that is loaded when it is first asked, and what its prompts begin with kept from start to start."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING

from edgeret.errors import EdgeretError, InputError, MissingExtraError, PlannerError
from edgeret.planner.chat import Prompt

if TYPE_CHECKING:  # whoever has no planner, or has not asked it yet, does not wait for all that reads one
    from edgeret.planner.model import Planner


class LazyPlanner:
    """A planner, or the lack of one. Thread-safe; what went wrong once is told again and not tried again."""

    def __init__(
        self, load: Callable[[], Planner] | None = None, identity: str = "", state_folder: Path | None = None
    ) -> None:
        """`load` makes the planner when it is first wanted; None: there is none. `identity` names model and chat format
        in the files that `warm` keeps in `state_folder`."""
        self._load, self._identity, self._state_folder = load, identity, state_folder
        self._lock = threading.Lock()
        self._planner: Planner | None = None
        self._problem: EdgeretError | None = None
        self._loading: threading.Thread | None = None

    @property
    def exists(self) -> bool:
        """Whether there is a planner; whether it works shows with the first question."""
        return self._load is not None

    @property
    def problem(self) -> EdgeretError | None:
        """Why it could not be loaded, once that was tried."""
        return self._problem

    def get(self) -> Planner:
        """The planner, loaded on first use. Raises InputError if there is none, PlannerError or MissingExtraError if it
        cannot be loaded."""
        if self._load is None:
            raise InputError(
                "this bundle has no planner; choose policy 'auto' or 'heads', or build one in with: "
                "edgeret-export build --planner smollm2-135m-instruct"
            )
        with self._lock:
            if self._problem is not None:
                raise self._problem.with_traceback(None)  # or every refusal would lengthen it
            if self._planner is None:
                try:
                    self._planner = self._load()
                except (PlannerError, MissingExtraError) as error:
                    self._problem = error
                    raise
            return self._planner

    def get_by(self, deadline: float) -> Planner | None:
        """The same by a moment (of `time.perf_counter`), or None: it then goes on being loaded, for whoever asks
        later. Raises as `get` does."""
        if self._planner is None and self._problem is None and self._loading is None:
            self._loading = threading.Thread(target=self._try, name="edgeret-planner", daemon=True)
            self._loading.start()
        if self._loading is not None:
            self._loading.join(max(0.0, min(deadline - perf_counter(), threading.TIMEOUT_MAX)))
            if self._loading.is_alive():
                return None
        return self.get()

    def _try(self) -> None:
        with suppress(EdgeretError):  # kept, and told to whoever asks
            self.get().rehearse()

    def warm(self, prompt: Prompt) -> bool:
        """Brings the prompt's constant part into the planner's cache, from `state_folder` if it was read there before.

        True if it was. Whatever cannot be kept is read again next time. Raises what `get` raises.
        """
        from edgeret.planner.llama import llama_version
        from edgeret.planner.state_file import read_state, write_state

        planner, folder = self.get(), self._state_folder
        parts = [self._identity, llama_version(), *(f"{turn.role}\n{turn.text}" for turn in prompt.constant)]
        key = hashlib.sha256("\0".join(parts).encode(errors="surrogatepass")).hexdigest()
        kept = None if folder is None else read_state(folder, key)
        if kept is not None and planner.restore(prompt, kept):
            return True
        state = planner.save(prompt)
        if folder is not None:
            write_state(folder, key, state)
        return False
