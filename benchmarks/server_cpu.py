"""Tells how much processor time the server of a bench has had, with all its processes, by Linux."""

from __future__ import annotations

import os
from pathlib import Path

from tests.servers.database import Server

_TICKS = os.sysconf("SC_CLK_TCK")


def server_process(server: Server) -> int:
    """Give the number of the server's first process."""
    if server.source_type == "postgres":
        with server.connect() as connection:
            backend = connection.execute("SELECT pg_backend_pid()").fetchone()[0]
            return int(_fields(backend)[1])  # its parent
    ((file,),) = server.fetch("SELECT @@pid_file")
    return int(Path(file).read_text(encoding="ascii"))


def cpu_seconds(process: int) -> float:
    """Give the time of a process, of its children that live, and of those that have ended."""
    own = [int(ticks) for ticks in _fields(process)[11:15]]  # its own and what it waited for, both twice
    living = 0
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                fields = _fields(int(entry.name))
            except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
                continue
            if int(fields[1]) == process:
                living += int(fields[11]) + int(fields[12])
    return (sum(own) + living) / _TICKS


def _fields(process: int) -> list[str]:
    """Give the words after the name, which may hold anything: state, parent and so on."""
    text = Path(f"/proc/{process}/stat").read_text(encoding="utf-8", errors="replace")
    return text.rpartition(")")[2].split()
