"""What a lock says: who holds it. Whatever stands in one that we did not write is taken for hearsay."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

from rivet.lock.process import Process

VERSION = 1
LIMIT_BYTES = 16 * 1024
_LONGEST_TEXT = 200
_INSTANT = re.compile(r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?Z")


@dataclass(frozen=True, slots=True)
class Holder:
    """Who holds a lock, as he has written it into it.

    Attributes:
        started_at: When the holder took the lock, by its own clock.
        heartbeat_at: When it last renewed it, by its own clock: for people, since no other clock agrees.
        token: Nobody else's; by it the holder knows its own.
    """

    run_id: str
    process: Process
    started_at: str
    heartbeat_at: str
    token: str

    def encode(self) -> bytes:
        """Write the lock."""
        told = {
            "version": VERSION,
            "run_id": self.run_id,
            "host": self.process.host,
            "pid": self.process.pid,
            "started_at": self.started_at,
            "heartbeat_at": self.heartbeat_at,
            "token": self.token,
            "machine": self.process.machine,
            "process_started": self.process.started,
        }
        return (json.dumps(told, indent=2, ensure_ascii=False) + "\n").encode(errors="replace")


def decode(data: bytes) -> Holder | None:
    """Read a lock; None where it is none that this version understands. Unknown keys are ignored."""
    if len(data) > LIMIT_BYTES:
        return None
    try:
        told = json.loads(data)
    except (ValueError, RecursionError):
        return None
    if not isinstance(told, dict) or type(told.get("version")) is not int or told["version"] != VERSION:
        return None
    pid, token = told.get("pid"), told.get("token")
    if type(pid) is not int or not 0 < pid < 2**32 or not isinstance(token, str) or not token:
        return None
    return Holder(
        _text(told.get("run_id")),
        Process(_text(told.get("host")), pid, _text(told.get("machine")), _text(told.get("process_started"))),
        _instant(told.get("started_at")),
        _instant(told.get("heartbeat_at")),
        token,
    )


def describe(holder: Holder | None) -> str:
    """Tell people who holds a lock, in signs that steer no terminal.

    >>> describe(Holder("20230102T030405Z-0123abcd", Process("db1", 7), "2023-01-02T03:04:05Z", "", "t"))
    "run '20230102T030405Z-0123abcd' on host 'db1', process 7, since 2023-01-02T03:04:05Z"
    """
    if holder is None:
        return "somebody whose lock cannot be read"
    process = holder.process
    return (
        f"run {holder.run_id!r} on host {process.host!r}, process {process.pid},"
        f" since {holder.started_at or 'a time that it does not tell'}"
    )


def _text(told: object) -> str:
    return told if isinstance(told, str) and len(told) <= _LONGEST_TEXT else ""


def _instant(told: object) -> str:
    return told if isinstance(told, str) and _INSTANT.fullmatch(told) else ""
