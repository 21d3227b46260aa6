"""The gate on a port of this machine: its parts put together, run until it is stopped."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import uvicorn

from edgeret import __version__
from edgeret.adapters.exporter import exporting
from edgeret.adapters.gate.lessons import Learning
from edgeret.adapters.gate.options import COULD, LISTEN, TOKEN_VARIABLE, Options, upstream_of
from edgeret.adapters.gate.proxy import Gate
from edgeret.adapters.gate.trimming import MOST_ENTRIES, Trimmer
from edgeret.adapters.gate.upstream import Upstream, trusted
from edgeret.adapters.tool_sets import ToolSets
from edgeret.adapters.web import listening
from edgeret.adapters.web.addresses import address, checked_token, origins_of
from edgeret.adapters.web.connections import Connections, most_connections
from edgeret.adapters.web.visitors import Visitors


def run(options: Options, say: Callable[[str], None]) -> dict[str, Any]:
    """Runs until it is stopped by a signal, and gives what was done. `say` is told where it listens, and what goes
    wrong. Raises InputError for options that do not fit, and what `edgeret.load` raises."""
    with prepared(options, say) as (server, done):
        listening.run(server, f"cannot listen on {options.listen}; is it in use? Choose another with --listen")
    return done()


@contextmanager
def prepared(
    options: Options, say: Callable[[str], None]
) -> Iterator[tuple[uvicorn.Server, Callable[[], dict[str, Any]]]]:
    """A server that is ready to run, and what says what it did. Raises as `run` does."""
    host, port = address(options.listen, LISTEN)
    upstream, path = upstream_of(options.upstream)
    token = checked_token(options.token, host, TOKEN_VARIABLE, COULD)
    visitors, limits = Visitors(token, origins_of(options.origins), files=True), options.limits
    asked = Upstream(upstream, limits.silence_s, most_connections(limits) // 4, trusted(options.ca))
    sets = ToolSets(options.base, overlay=options.learned, tools=MOST_ENTRIES, **options.loading)
    learning = Learning(say) if options.learned is not None else None
    connections = Connections(limits, "gate")
    trimmer = Trimmer(sets, options.amount)
    gate = Gate(asked, trimmer, visitors, connections, learning)

    def listens(port: int) -> None:
        shown = f"[{host}]" if ":" in host else host
        say(f"listening; give your client the base URL http://{shown}:{port}{path} instead of {upstream}{path}")

    def done() -> dict[str, Any]:
        told: dict[str, Any] = {name: getattr(gate.counts, name) for name in ("requests", "trimmed", "refused")}
        return told | {"learned": 0 if learning is None else learning.learned}

    def counted() -> bytes:
        counts = gate.counts
        learned = 0 if learning is None else learning.learned
        told = {
            "edgeret_gate_requests": ("Requests that were let in.", counts.requests),
            "edgeret_gate_trimmed": ("Requests that were passed on with fewer tools.", counts.trimmed),
            "edgeret_gate_refused": ("Requests that were refused.", counts.refused),
            "edgeret_learned_plans": ("Plans that were learned since the start.", learned),
        }
        return trimmer.metrics.text(__version__, told)

    try:
        with exporting(options.metrics, counted):
            yield listening.Server(listening.config_of(gate, host, port, connections), listens, say), done
    finally:
        sets.close()
