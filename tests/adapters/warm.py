"""Starts `python -m …` and Python's scripts from a process that has imported the MCP SDK already, which takes a second:
it forks. Each has arguments, folder, environment, pipes and a session of its own, ends as it would, and is ended with
what its starter sees of it (warm_start.py). Linux alone; elsewhere a process starts as always.

As a command it is that process, `python warm.py SOCKET`, and ends with its standard input."""

from __future__ import annotations

import atexit
import os
import runpy
import select
import shutil
import signal
import subprocess
import sys
import tempfile
from contextlib import suppress
from functools import cache
from pathlib import Path
from socket import AF_UNIX, SOCK_SEQPACKET, recv_fds, socket

START = Path(__file__).with_name("warm_start.py")
LONGEST = 1 << 20


def python(*arguments: str) -> list[str]:
    """The command line that does what `python ARGUMENTS…` does."""
    if sys.platform != "linux":
        return [sys.executable, *arguments]
    return [sys.executable, "-ISE", str(START), _place(), *arguments]


@cache
def _place() -> str:
    """The socket of a process that is ready, for as long as this one lives."""
    folder = Path(tempfile.mkdtemp(prefix="warm"))
    place = str(folder / "s")
    process = subprocess.Popen(
        [sys.executable, str(Path(__file__)), place],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert process.stdin is not None and process.stdout is not None
    assert process.stdout.readline() == b"ready\n"

    def end() -> None:
        assert process.stdin is not None and process.stdout is not None
        process.stdin.close()
        process.wait()
        process.stdout.close()
        shutil.rmtree(folder)

    atexit.register(end)
    return place


def _child(fds: list[int], told: list[str]) -> None:
    """Becomes what was asked for; called in the fork."""
    os.setsid()
    for number, fd in enumerate(fds):
        os.dup2(fd, number)
    os.closerange(3, 1 << 16)
    count = int(told[1])
    arguments, environment = told[2 : 2 + count], told[2 + count :]
    os.chdir(told[0])
    os.environ.clear()
    os.environ.update(entry.split("=", 1) for entry in environment)
    if arguments[0] == "-m":
        sys.path[0], sys.argv = told[0], arguments[1:]
        runpy.run_module(arguments[1], run_name="__main__", alter_sys=True)
    else:
        sys.path[0], sys.argv = str(Path(arguments[0]).parent), arguments
        runpy.run_path(arguments[0], run_name="__main__")


def _serve(place: str) -> bool:
    """Forks for whoever connects, until standard input ends. True in a fork that is done."""
    listener = socket(AF_UNIX, SOCK_SEQPACKET)
    listener.bind(place)
    listener.listen()
    os.write(1, b"ready\n")
    waiting = select.poll()
    waiting.register(0, select.POLLIN)
    waiting.register(listener, select.POLLIN)
    starters: dict[int, tuple[socket, int]] = {}
    ending: dict[int, int] = {}
    while True:
        for ready, _ in waiting.poll():
            if ready == 0:
                return False
            if ready == listener.fileno():
                starter, _ = listener.accept()
                message, fds, _, _ = recv_fds(starter, LONGEST, 3)
                if not message:
                    continue
                process = os.fork()
                if not process:
                    for one in (listener, starter, *(one for one, _ in starters.values())):
                        one.detach()  # their numbers are closed, and may be others' soon
                    _child(fds, [part.decode("utf-8", "surrogateescape") for part in message.split(b"\0")])
                    return True
                for fd in fds:
                    os.close(fd)
                ends = os.pidfd_open(process)
                starters[starter.fileno()], ending[ends] = (starter, ends), starter.fileno()
                for fd in (starter.fileno(), ends):
                    waiting.register(fd, select.POLLIN)
            elif ready in starters:
                starter, ends = starters[ready]
                told = starter.recv(1)
                with suppress(ProcessLookupError):
                    signal.pidfd_send_signal(ends, told[0] if told else signal.SIGKILL)
                if not told:  # it was killed
                    waiting.unregister(ready)
            elif ready in ending:
                fd = ending.pop(ready)
                starter, _ = starters.pop(fd)
                status = os.waitid(os.P_PIDFD, ready, os.WEXITED)
                assert status is not None
                code = status.si_status if status.si_code == os.CLD_EXITED else -status.si_status
                with suppress(KeyError):
                    waiting.unregister(fd)
                waiting.unregister(ready)
                with suppress(OSError):
                    starter.send(str(code).encode())
                starter.close()
                os.close(ready)


if __name__ == "__main__":
    import gc

    import uvicorn  # noqa: F401

    import edgeret.adapters.mcp.logins
    import edgeret.adapters.mcp.look
    import edgeret.adapters.mcp.pins
    import edgeret.adapters.mcp.proxy
    import edgeret.adapters.mcp.serve
    import edgeret.cli.commands
    import edgeret.runtime.loading
    import edgeret.runtime.tool_finder  # noqa: F401

    gc.freeze()  # what forks share is not written to
    _serve(sys.argv[1])
