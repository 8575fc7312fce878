"""A server process: a directory, a free port, and a keeper that ends both with us."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn, TypeVar

import pytest

from tests.servers import keeper

Started = TypeVar("Started")


class StartFailed(Exception):
    """A server ended before it was ready; the message holds the end of its log."""


def unavailable(reason: str) -> NoReturn:
    """Skip the test for want of a server, or fail it where CI must have all of them."""
    if os.environ.get("CI"):
        pytest.fail(f"{reason} (CI is set, so this is a failure and not a skip)", pytrace=False)
    pytest.skip(reason)


def free_port() -> int:
    """Give a TCP port of 127.0.0.1 that nothing listens on at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def system_user(*names: str) -> str:
    """Give the account to run a server as when we are root, which servers refuse; empty for ourselves."""
    import pwd  # Not on Windows, where this is never reached.

    if os.geteuid() != 0:
        return ""
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in (*names, "nobody") if name in known)


class Process:
    """A running server and its private directory; `close` ends the one and removes the other."""

    def __init__(self, kind: str, user: str) -> None:
        """Make the directory, owned by user; nothing is started yet."""
        self.user = user
        self.directory = Path(tempfile.mkdtemp(prefix=f"rivet-{kind}-"))
        self._keeper: subprocess.Popen[bytes] | None = None
        self.own(self.directory)

    def own(self, path: Path) -> None:
        """Give a path to the server's account."""
        if self.user:
            shutil.chown(path, self.user)

    def start(
        self,
        *commands: Sequence[object],
        stop_signals: str,
        ready: Callable[[], object],
        patience_seconds: float = 60,
        leftovers: Sequence[Path] = (),
    ) -> None:
        """Run preparing commands and then the server; return once `ready` raises nothing.

        Each runs as the server's account. `stop_signals` are names joined by commas, tried in order;
        `leftovers` are files that the server leaves outside its directory.
        """
        log, exit_code = self.directory / "server.log", self.directory / "exit-code"
        words = json.dumps([[str(word) for word in command] for command in commands])
        self._keeper = subprocess.Popen(
            [sys.executable, keeper.__file__, self.directory, self.user, stop_signals, words, *leftovers],
            stdin=subprocess.PIPE,
            start_new_session=True,
        )
        deadline = time.monotonic() + patience_seconds
        while True:
            try:
                ready()
            except Exception as error:  # whatever the driver raises, it is not ready
                dead = exit_code.exists() or self._keeper.poll() is not None
                if dead or time.monotonic() > deadline:
                    text = log.read_text(errors="replace")[-2000:] if log.exists() else ""
                    raise StartFailed(f"{commands[-1][0]} is not ready: {error}\n{text}") from error
                time.sleep(0.05)
            else:
                return

    def close(self) -> None:
        """Stop the server, wait for its end, and remove the directory; safe to call twice."""
        if self._keeper is None:
            shutil.rmtree(self.directory, ignore_errors=True)
            return
        if self._keeper.stdin is not None:
            self._keeper.stdin.close()
        self._keeper.wait()


def start_on_free_port(start: Callable[[int], Started]) -> Started:
    """Start a server on a free port, and on another one where somebody was quicker to take it."""
    for _ in range(3):
        try:
            return start(free_port())
        except StartFailed as error:
            if "in use" not in str(error):
                raise
    raise StartFailed("no free port found in three tries")
