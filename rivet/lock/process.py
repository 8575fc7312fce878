"""Which process holds a lock, and whether it surely lives no more.

A number says that only on the machine that gave it, since it was started and among the same processes: two
containers on one machine may have one host name and different processes of one number.
"""

from __future__ import annotations

import os
import socket
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_PROC = Path("/proc")
_DEAD = frozenset("ZX")


@dataclass(frozen=True, slots=True)
class Process:
    """A process.

    Attributes:
        host: For people.
        machine: This start of this machine, and the namespace in which `pid` counts; empty where the system
            tells neither.
        started: When the process began, in the system's ticks since the machine did; empty where it is not
            told.
    """

    host: str
    pid: int
    machine: str = ""
    started: str = ""


def this_process() -> Process:
    """Describe the process that calls."""
    pid = os.getpid()
    state = _state(pid)
    return Process(socket.gethostname(), pid, _machine(), "" if state is None else state[1])


def is_surely_dead(process: Process, here: Process) -> bool:
    """Tell whether a process was one of this machine's, as it runs now, and lives no more.

    Where that cannot be known it is not sure, and the lock's age has to tell.
    """
    if not process.machine or process.machine != here.machine or not process.started:
        return False
    state = _state(process.pid)
    return state is None or state[0] in _DEAD or state[1] != process.started


def _machine() -> str:
    with suppress(OSError):
        boot = (_PROC / "sys/kernel/random/boot_id").read_text().strip()
        return f"{boot} {(_PROC / 'self/ns/pid').readlink()}"
    return ""


def _state(pid: int) -> tuple[str, str] | None:
    """Give a process's state and start, or None where there is none; see proc(5)."""
    try:
        text = (_PROC / str(pid) / "stat").read_bytes().decode(errors="replace")
    except OSError:
        return None
    fields = text.rpartition(")")[2].split()  # before it stands a name, which may hold anything
    return (fields[0], fields[19]) if len(fields) > 19 else None
