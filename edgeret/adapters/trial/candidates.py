"""The candidates with their bars, one of them marked. Draws what it is shown."""

from __future__ import annotations

from rich.text import Text
from textual.events import Click
from textual.message import Message
from textual.reactive import reactive
from textual.widget import Widget

from edgeret.adapters.trial import drawing
from edgeret.adapters.trial.views import View


class Candidates(Widget, can_focus=True):
    """Rows of a view; `chosen` is the marked one."""

    chosen = reactive(0)

    class Chosen(Message):
        """Another row was marked."""

    view = View("")

    def show(self, view: View, row: int) -> None:
        """Shows other rows, and marks one."""
        self.view = view
        with self.prevent(self.Chosen):
            self.chosen = row
        self.refresh()

    def move(self, rows: int) -> None:
        """Marks another row, at most the first or last."""
        row = max(0, min(len(self.view.rows) - 1, self.chosen + rows))
        if row != self.chosen:
            self.chosen = row
            self.post_message(self.Chosen())

    def on_click(self, event: Click) -> None:
        """Marks the row under the mouse."""
        self.move(drawing.top(self.view, self.chosen, self.size.height) + event.y - self.chosen)

    def render(self) -> Text:
        """The rows around the marked one."""
        return drawing.candidates(self.view, self.chosen, self.size.width, self.size.height)
