"""The screen of `edgeret try`: what is typed goes to a session's thread, what comes back is drawn."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from textual.app import App, ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Container, Vertical, VerticalScroll
from textual.events import Key, Paste, Resize
from textual.message import Message
from textual.screen import Screen
from textual.timer import Timer
from textual.widgets import Footer, Input, Static

from edgeret import without_hidden
from edgeret.adapters.trial import drawing
from edgeret.adapters.trial.candidates import Candidates
from edgeret.adapters.trial.deciding import Deciding
from edgeret.adapters.trial.dialogs import Help, NewTool
from edgeret.adapters.trial.session import Session
from edgeret.adapters.trial.tried_file import append
from edgeret.adapters.trial.views import Details, View
from edgeret.quoting import visible

PAUSE_S = 0.05
"""Of the hands, before a text is decided: a quick typist's keys come some 0.08 s apart, a paste's at once."""
LOOK_S = 0.25
"""Of the hands, before it is told why, which costs more than deciding."""
WIDE = 90
"""Columns from which why stands beside the candidates and not below."""
MOST_CHARS = 20_000
"""Of a request, as the runtime takes it."""
GONE_S = 2.0
"""Seconds that an end takes at most whose terminal may be gone."""


class Request(Input):
    """The line that is typed into; what is pasted becomes one line."""

    BINDINGS: ClassVar[list[BindingType]] = [Binding("enter", "app.accept", "Accept")]
    """Enter takes the way of all other keys and not an event's of its own, so that none overtakes it."""

    class Cut(Message):
        """More was pasted than a request may have."""

    class Refused(Message):
        """A key was pressed that would have changed words that stand."""

        def __init__(self, key: str) -> None:
            """The key's name."""
            super().__init__()
            self.key = key

    stands = False
    """Whether the words may not change. A disabled line would lose keys that were pressed a moment earlier."""

    async def _on_key(self, event: Key) -> None:
        if self.stands and event.is_printable:
            event.prevent_default()
            event.stop()
            self.post_message(self.Refused(event.key))

    def _on_paste(self, event: Paste) -> None:
        text = " ".join(without_hidden(event.text).split())
        room = max(0, MOST_CHARS - len(self.value))
        self.insert_text_at_cursor(text[:room])
        if len(text) > room:
            self.post_message(self.Cut())
        event.stop()
        event.prevent_default()


class Shown(Message):
    """What there is now, for the text of a number."""

    def __init__(self, number: int, view: View) -> None:
        """Comes out of the session's thread."""
        super().__init__()
        self.number, self.view = number, view


class Told(Message):
    """A row's details, asked for by a number."""

    def __init__(self, number: int, row: int, details: Details | None) -> None:
        """Comes out of the session's thread."""
        super().__init__()
        self.number, self.row, self.details = number, row, details


class TryApp(App[int]):
    """Ends with 0, or with the number of the signal that ended it and 128."""

    CSS_PATH = "app.tcss"
    ENABLE_COMMAND_PALETTE = False
    TITLE = "edgeret try"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "accept", "Accept"),
        Binding("up", "move(-1)", "Other", key_display="↑↓"),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("ctrl+up", "why(-3)", show=False),
        Binding("ctrl+down", "why(3)", show=False),
        Binding("ctrl+n", "new", "New", priority=True),
        Binding("ctrl+l", "learn", "Learn"),
        Binding("ctrl+s", "write", "Write"),
        Binding("ctrl+z", "undo", "Undo"),
        Binding("ctrl+t", "add_tool", "Tool"),
        Binding("f1", "help", "Help", key_display="F1"),
        Binding("ctrl+c,ctrl+q", "end", "End", priority=True, key_display="^c"),
    ]

    def __init__(self, session: Session, output: Path, *, colour: bool = True, notes: Sequence[str] = ()) -> None:
        """`output` takes what is written; `notes` are told beside the counts."""
        super().__init__(ansi_color=None if colour else True)
        self.session, self._output, self._notes = session, output, notes
        self._deciding = Deciding(session, self._show, self._tell)
        self._view, self._number, self._asked, self._acting = View(""), 0, 0, False
        self._pause: Timer | None = None
        self._look: Timer | None = None
        self._pending = ""
        self._warned, self._why, self._notice = False, False, ""

    def compose(self) -> ComposeResult:
        """A line to type into, the plan, candidates with why beside or below, what came of the last key, the keys."""
        yield Request(placeholder="type a request", id="request", select_on_focus=False)
        yield Static("", id="plan", markup=False)
        with Container(id="middle"):
            yield Candidates(id="candidates")
            with VerticalScroll(id="why", can_focus=False):
                yield Static("", id="details", markup=False)
        with Vertical(id="bottom"):
            yield Static("", id="message", markup=False)
            yield Static("warming up", id="state", markup=False)
        yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        """Begins to decide; signals end it as keys do, so that the terminal is left as it was."""
        self._base.query_one(Request).focus()
        loop = asyncio.get_running_loop()
        with contextlib.suppress(NotImplementedError, RuntimeError, ValueError):
            loop.add_signal_handler(signal.SIGTERM, self.exit, 128 + signal.SIGTERM)

        def hung_up(number: int, _: object) -> None:
            # Where the terminal is gone, what was still to be drawn would be waited for without an end.
            late = threading.Timer(GONE_S, os._exit, (128 + number,))
            late.daemon = True
            late.start()
            loop.call_soon_threadsafe(self.exit, 128 + number)

        if hasattr(signal, "SIGHUP"):
            with contextlib.suppress(ValueError):
                signal.signal(signal.SIGHUP, hung_up)
        self._deciding.start()

    def on_unmount(self) -> None:
        """Waits for what is being decided or learned."""
        self._deciding.close()

    def on_resize(self, event: Resize) -> None:
        """Puts why beside the candidates where there is room."""
        self._base.query_one("#middle").set_class(event.size.width >= WIDE, "wide")

    def on_input_changed(self, event: Input.Changed) -> None:
        """Waits for a pause of the hands, then has the text decided."""
        text = self._base.query_one(Request).value
        if event.input.id != "request" or text == self._pending:
            return
        if self._view.stands:
            event.input.value = self._view.query
            return
        self._pending = text
        _stop(self._look)
        _stop(self._pause)
        self._pause = self.set_timer(PAUSE_S, self._decide)

    def on_request_cut(self) -> None:
        """Says what became of a long paste."""
        self._notice = f"cut to {MOST_CHARS} characters, the most that a request may have"
        self._say(self._notice, failed=True)

    def on_request_refused(self, event: Request.Refused) -> None:
        """Says why a text that stands cannot be typed into; some letters are keys then."""
        if event.key == "q":
            self.action_end()
        elif event.key == "question_mark":
            self.action_help()
        else:
            self._say("the request stands while its plan goes on; Ctrl-N begins another, Ctrl-Z takes back")

    def on_shown(self, event: Shown) -> None:
        """Draws what there is, unless more was typed since."""
        self._acting = False
        if event.number != self._deciding.text or self._typing:
            return
        view = self._view = event.view
        self._number = event.number
        request = self._base.query_one(Request)
        if view.query != request.value:
            self._pending = view.query
            request.value = view.query
            request.cursor_position = len(view.query)
        request.stands = view.stands
        request.set_class(view.stands, "stands")
        end = next((row for row, one in enumerate(view.rows) if view.label(one.tool) != one.tool), 0)
        self._base.query_one(Candidates).show(view, end if view.proposed is None else view.proposed)
        self._base.query_one("#plan", Static).update(drawing.plan(view))
        self._base.query_one("#state", Static).update(drawing.state(view, self._notes))
        self._base.query_one("#details", Static).update("")
        self._why = False
        self._say(view.message or self._notice, failed=view.failed or not view.message)
        self._notice = ""
        self._ask()

    def on_told(self, event: Told) -> None:
        """Draws why, if it is still what is looked at."""
        if event.number == self._asked and event.details is not None:
            self._base.query_one("#details", Static).update(drawing.details(event.details))
            self._why = True

    def on_candidates_chosen(self) -> None:
        """Another row is marked."""
        self._ask()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Whether a key counts: a new request does not begin below help and form."""
        return action != "new" or self.screen is self._base

    def action_accept(self) -> None:
        """Takes the marked row. What was not shown is not taken: whoever is quicker than the decision sees it first."""
        if self._typing:
            self._decide()
        elif self._view.finished:
            self.action_new()
        elif not self._acting and self._number == self._deciding.text:
            row = self._base.query_one(Candidates).chosen
            self._do(lambda session: session.choose(row))

    def action_move(self, rows: int) -> None:
        """Marks another row."""
        self._base.query_one(Candidates).move(rows)

    def action_page(self, pages: int) -> None:
        """Marks a row that is a page away."""
        shown = self._base.query_one(Candidates)
        shown.move(pages * max(1, shown.size.height - 1))

    def action_why(self, lines: int) -> None:
        """Moves the lines that say why."""
        self._base.query_one("#why", VerticalScroll).scroll_relative(y=lines, animate=False)

    def action_new(self) -> None:
        """Begins another request."""
        self._do(lambda session: session.new())
        # At once, so that what is typed next belongs to the new one.
        self._view = replace(self._view, query="", rows=(), proposed=None, steps=(), finished=False)
        request = self._base.query_one(Request)
        request.stands, self._pending, request.value = False, "", ""

    def action_learn(self) -> None:
        """Learns the plan."""
        self._do(lambda session: session.learn())

    def action_undo(self) -> None:
        """Takes back."""
        self._do(lambda session: session.undo())

    def action_write(self) -> None:
        """Writes what was finished."""

        def write(session: Session) -> str:
            fresh = session.unwritten()
            if not fresh:
                return "nothing new to write: finish a plan first, with Enter on its last row"
            written = append(self._output, fresh)
            session.wrote(fresh)
            there = len(fresh) - written
            return f"wrote {written} to {self._output}" + (f"; {there} stood there already" if there else "")

        self._do(write)

    def action_add_tool(self) -> None:
        """Asks for a tool."""

        def add(given: tuple[str, str] | None) -> None:
            if given is not None:
                self._do(lambda session: session.add_tool(*given))

        self.push_screen(NewTool(), add)

    def action_help(self) -> None:
        """Shows the keys."""
        self.push_screen(Help())

    def action_end(self) -> None:
        """Ends; where something is not written yet, at the second time."""
        left = self._view.unwritten
        if not left or self._warned:
            self.exit(0)
        self._warned = True
        self._say(f"{left} tried, not written: Ctrl-S writes, the same key again ends")

    def warned(self, text: str) -> None:
        """Shows what the runtime warns of; called in the session's thread."""
        self._notes = (*self._notes, text)[-2:]

    @property
    def explained(self) -> bool:
        """Whether what is shown is the newest, and it is told why."""
        return not (self._typing or self._acting) and self._number == self._deciding.text and self._why

    @property
    def calls(self) -> int:
        """How many calls of the plan are shown."""
        return len(self._view.steps)

    @property
    def _base(self) -> Screen[object]:
        """The screen below help and form, where what is decided goes on being drawn."""
        return self.screen_stack[0]

    @property
    def _typing(self) -> bool:
        """Whether there is a text that nobody decides yet, or whose change is not even told of yet."""
        return self._pause is not None or self._base.query_one(Request).value != self._pending

    def _decide(self) -> None:
        _stop(self._pause)
        self._pause = None
        self._pending = self._base.query_one(Request).value
        self._deciding.type(self._pending)

    def _do(self, action: Callable[[Session], str]) -> None:
        if self._typing:
            self._decide()
        self._acting, self._warned = True, False
        _stop(self._look)
        self._deciding.do(action)

    def _ask(self) -> None:
        """Has the marked row explained once the hands rest."""
        _stop(self._look)
        row = self._base.query_one(Candidates).chosen

        def ask() -> None:
            if not self._typing and not self._acting:
                self._asked = self._deciding.ask(row)

        self._look = self.set_timer(LOOK_S, ask)

    def _say(self, text: str, *, failed: bool = False) -> None:
        line = self._base.query_one("#message", Static)
        line.update(visible(text))
        line.set_class(failed, "failed")

    def _show(self, number: int, view: View) -> None:
        self.post_message(Shown(number, view))

    def _tell(self, number: int, row: int, details: Details | None) -> None:
        self.post_message(Told(number, row, details))


def _stop(timer: Timer | None) -> None:
    if timer is not None:
        timer.stop()


@contextlib.contextmanager
def warnings_told(app: TryApp) -> Iterator[None]:
    """Shows warnings on the screen: printed ones would be drawn over."""
    import warnings

    before = warnings.showwarning
    warnings.showwarning = lambda message, *_, **__: app.warned(str(message))
    try:
        yield
    finally:
        warnings.showwarning = before
