"""Run one server for as long as the parent holds our standard input open, then remove its directory.

A script of its own, in a session of its own: Ctrl-C in the terminal does not reach it, and the kernel closes
the pipe however the parent ends, so nothing is left running or lying about even when pytest is killed.

    keeper.py DIRECTORY USER STOP_SIGNALS COMMANDS [LEFTOVER]…

USER is empty to stay who we are. STOP_SIGNALS are names joined by commas, sent in order until one helps.
COMMANDS is a JSON list: commands that prepare, and last the server, each a list of words. Their output goes
to DIRECTORY/server.log, and the exit code of the one that ended the whole to DIRECTORY/exit-code. Leftovers
are files outside DIRECTORY that the server makes and leaves behind; they are removed, too.
"""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import BinaryIO

SECONDS_PER_SIGNAL = 15


def main(
    directory: Path, user: str, stop_signals: list[str], commands: list[list[str]], leftovers: list[Path]
) -> None:
    """Run the commands, wait for the end of standard input, stop the server and clean up."""
    for meant_for_parent in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        # Handlers, not SIG_IGN: the server would inherit that, and could not be stopped.
        signal.signal(meant_for_parent, lambda *_: None)
    try:
        with (directory / "server.log").open("ab") as log:
            for command in commands[:-1]:
                if code := _start(command, user, log).wait():
                    _note_exit(directory, code)
                    sys.stdin.buffer.read()
                    return
            server = _start(commands[-1], user, log)
        watcher = threading.Thread(target=lambda: _note_exit(directory, server.wait()))
        watcher.start()
        sys.stdin.buffer.read()
        for name in stop_signals:
            server.send_signal(signal.Signals[name])
            try:
                server.wait(SECONDS_PER_SIGNAL)
                break
            except subprocess.TimeoutExpired:
                continue
        watcher.join()
    finally:
        shutil.rmtree(directory, ignore_errors=True)
        for leftover in leftovers:
            leftover.unlink(missing_ok=True)


def _start(command: list[str], user: str, log: BinaryIO) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        command,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=log,
        user=user or None,
        group=user or None,
        extra_groups=[] if user else None,
    )


def _note_exit(directory: Path, code: int) -> None:
    (directory / "exit-code").write_text(str(code))


if __name__ == "__main__":
    main(
        Path(sys.argv[1]),
        sys.argv[2],
        sys.argv[3].split(","),
        json.loads(sys.argv[4]),
        [Path(word) for word in sys.argv[5:]],
    )
