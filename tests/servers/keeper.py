"""Run one server for as long as the parent holds our standard input open, then remove its directory.

A script of its own, in a session of its own: Ctrl-C in the terminal does not reach it, and the kernel closes
the pipe however the parent ends, so nothing is left running even when pytest is killed.

    keeper.py DIRECTORY USER STOP_SIGNALS COMMAND…

USER is empty to stay who we are. STOP_SIGNALS are names joined by commas, sent in order until one helps.
The server's output goes to DIRECTORY/server.log; if it ends by itself, its exit code to DIRECTORY/exit-code.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path

SECONDS_PER_SIGNAL = 15


def main(directory: Path, user: str, stop_signals: str, command: list[str]) -> None:
    """Start the command, wait for the end of standard input, stop the command and clean up."""
    for meant_for_parent in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        # Handlers, not SIG_IGN: the server would inherit that, and could not be stopped.
        signal.signal(meant_for_parent, lambda *_: None)
    try:
        with (directory / "server.log").open("ab") as log:
            server = subprocess.Popen(
                command,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                user=user or None,
                group=user or None,
                extra_groups=[] if user else None,
            )
        watcher = threading.Thread(target=_note_exit, args=(server, directory / "exit-code"))
        watcher.start()
        sys.stdin.buffer.read()
        for name in stop_signals.split(","):
            server.send_signal(signal.Signals[name])
            try:
                server.wait(SECONDS_PER_SIGNAL)
                break
            except subprocess.TimeoutExpired:
                continue
        watcher.join()
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def _note_exit(server: subprocess.Popen[bytes], file: Path) -> None:
    file.write_text(str(server.wait()))


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3], sys.argv[4:])
