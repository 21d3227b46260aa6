"""Stands for a process that warm.py forks: hands it what this one was given, passes signals on, and ends as it does."""

import os
import signal
import socket
import sys

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)

door = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
door.connect(sys.argv[1])
arguments = sys.argv[2:]
for number in SIGNALS:
    signal.signal(number, lambda told, _: door.send(bytes([told])))
folder = os.getcwd()  # noqa: PTH109 (pathlib would take longer to import than all the rest)
told = [folder, str(len(arguments)), *arguments, *(f"{name}={value}" for name, value in os.environ.items())]
socket.send_fds(door, ["\0".join(told).encode("utf-8", "surrogateescape")], [0, 1, 2])
nothing = os.open(os.devnull, os.O_RDWR)
for fd in (0, 1, 2):  # a pipe ends when the other process closes it
    os.dup2(nothing, fd)
code = int(door.recv(16) or b"1")
if code < 0:
    signal.signal(-code, signal.SIG_DFL)
    os.kill(os.getpid(), -code)
os._exit(code)
