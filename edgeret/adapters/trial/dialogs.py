"""What lies over the screen for a while: the keys, and a form for a tool. Knows nothing of decisions."""

from __future__ import annotations

from typing import ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

HELP = """\
Type a request. What may come next is decided as you type.

Enter      accept the marked row: its call is made, and the
           plan goes on; on "done" or "nothing fits" it ends
Up, Down   mark another row: a correction (PageUp, PageDown)
Ctrl-L     learn the finished plan on this device
Ctrl-T     add a tool by name and description
Ctrl-Z     take back what the last key did
Ctrl-N     a new request
Ctrl-S     write finished plans as demonstrations
Ctrl-Up, Ctrl-Down   move the lines that say why
F1, ?      these lines (? where nothing is typed)
Ctrl-C, q  end (q where nothing is typed)

Nothing is called for real. Esc closes this."""


class Help(ModalScreen[None]):
    """The keys."""

    BINDINGS: ClassVar[list[BindingType]] = [("escape,enter,f1,q,question_mark", "dismiss", "Close")]

    def compose(self) -> ComposeResult:
        """One box."""
        with VerticalScroll(classes="dialog"):
            yield Static(HELP, markup=False)


class NewTool(ModalScreen[tuple[str, str] | None]):
    """Asks for a tool's name and description; None if the user thought better of it."""

    AUTO_FOCUS = "Input"
    BINDINGS: ClassVar[list[BindingType]] = [("escape", "dismiss", "Close")]

    def compose(self) -> ComposeResult:
        """Two lines."""
        with VerticalScroll(classes="dialog"):
            yield Static("Add a tool. Enter goes on, Esc leaves it.", id="asked", markup=False)
            yield Input(placeholder="name, such as lock_door", id="name", max_length=200)
            yield Input(placeholder="what it does", id="description", max_length=4_000)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        """Goes on to what is empty, or gives both."""
        event.stop()
        name, description = self.query_one("#name", Input), self.query_one("#description", Input)
        empty = next((one for one in (name, description) if not one.value.strip()), None)
        if empty is not None:
            empty.focus()
            asked = "What is it called?" if empty is name else "What does it do? Enter adds it."
            self.query_one("#asked", Static).update(f"Add a tool. {asked} Esc leaves it.")
        else:
            self.dismiss((name.value.strip(), description.value.strip()))
