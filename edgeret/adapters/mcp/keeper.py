"""A process between the proxy and a server's: starts the server, and ends all that came of it when it is told to, or
when the proxy is gone. A script of its own, `python -I -S keeper.py LIFE TOLD`, that knows nothing of MCP.

A process, since nothing less holds: what forks twice and takes a session of its own leaves every group, and becomes a
child of the first process of the system; on Linux this one takes it in (PR_SET_CHILD_SUBREAPER) and so finds it. The
proxy holds the other end of the pipe LIFE: however it ends, by force too, that pipe ends with it. Elsewhere than on
Linux only the server's own process group is found.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import time
from contextlib import suppress

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GRACE_S = 1.0
"""Between asking and forcing."""
_FORCE_S = 3.0
_LINUX = sys.platform == "linux" and os.path.exists("/proc/self/stat")  # noqa: PTH110
_PR_SET_PDEATHSIG, _PR_SET_CHILD_SUBREAPER = 1, 36


def main(life: int, told: int) -> int:
    """Reads from `life` what to start, tells on `told` an error's number where that fails, and returns the server's
    exit status when nothing of it is left, or `life` has ended and all was ended."""
    for descriptor in (life, told):
        os.set_inheritable(descriptor, False)
    control = _controls()
    control(_PR_SET_CHILD_SUBREAPER, 1)
    wake, woken = os.pipe()
    os.set_blocking(woken, False)
    signal.set_wakeup_fd(woken, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: None)
    folder, arguments, environment = _asked(life)
    server = os.fork()
    if not server:
        _become(folder, arguments, environment, told, control)
    os.close(told)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1):  # the pipes are the server's alone, or nobody would see their end
        os.dup2(nothing, stream)
    status = 0
    while True:
        ready, _, _ = select.select([life, wake], [], [])
        numbers = os.read(wake, 512) if wake in ready else b""
        left, ended = _reaped(server)
        status = status if ended is None else ended
        if not left:
            return status
        if life in ready or any(number != signal.SIGCHLD for number in numbers):
            _end(server)
            return status


def _asked(life: int) -> tuple[str, list[str], dict[str, str]]:
    """Folder, arguments and environment: fields with a zero byte behind each, and their size in front."""
    data, size = b"", -1
    while size < 0 or len(data) < size:
        part = os.read(life, 1 << 16)
        if not part:
            raise SystemExit(0)  # the proxy went before it had said what to start
        data += part
        if size < 0 and b"\n" in data:
            head, data = data.split(b"\n", 1)
            size = int(head)
    fields = [os.fsdecode(field) for field in data.split(b"\0")]
    count = int(fields[1])
    pairs = (field.partition("=") for field in fields[2 + count : -1])
    return fields[0], fields[2 : 2 + count], {name: value for name, _, value in pairs}


def _become(folder: str, arguments: list[str], environment: dict[str, str], told: int, control: Any) -> None:
    """Becomes the server; where that fails, tells why and ends."""
    try:
        os.setsid()
        control(_PR_SET_PDEATHSIG, signal.SIGKILL)
        for number in (signal.SIGPIPE, getattr(signal, "SIGXFSZ", signal.SIGPIPE)):
            signal.signal(number, signal.SIG_DFL)  # Python ignores these, and what is ignored stays so
        if folder:
            os.chdir(folder)
        os.execvpe(arguments[0], arguments, environment)
    except OSError as error:
        os.write(told, f"{error.errno} {'folder' if error.filename == folder and folder else ''}".encode())
    os._exit(127)


def _reaped(server: int) -> tuple[bool, int | None]:
    """Takes in all that ended: whether children are left, and the server's exit status where it was among these."""
    status = None
    while True:
        try:
            process, code = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False, status
        if not process:
            return True, status
        if process == server:
            status = os.waitstatus_to_exitcode(code) % 256


def _end(server: int) -> None:
    for number, within_s in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, _FORCE_S)):
        deadline, told = time.monotonic() + within_s, set[int]()
        while time.monotonic() < deadline:
            found = set(_descendants()) if _LINUX else {-server}  # its group
            for process in found - told:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(process, number)
            told |= found
            if not _reaped(server)[0]:
                return
            time.sleep(0.01)


def _descendants() -> list[int]:
    """All processes below this one."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):  # noqa: PTH208 - pathlib takes as long to load as all the rest
        if name.isdecimal():
            with suppress(OSError), open(f"/proc/{name}/stat", "rb") as file:  # noqa: PTH123
                children.setdefault(int(file.read().rpartition(b")")[2].split()[1]), []).append(int(name))
    found, waiting = list[int](), [os.getpid()]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return found


def _controls() -> Any:
    """Linux's `prctl`; elsewhere what does nothing."""
    if not _LINUX:
        return lambda *_: None
    import ctypes

    call = ctypes.CDLL(None).prctl
    return lambda option, value: call(option, ctypes.c_ulong(value), 0, 0, 0)


if __name__ == "__main__":
    raise SystemExit(main(int(sys.argv[1]), int(sys.argv[2])))
