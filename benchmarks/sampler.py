"""Run one command of Rivet and write to a file in which stage its threads spent their processor time.

    sampler.py RESULT WORD…

A process of its own. A thread looks every few milliseconds at where each other thread stands and how much
processor time it has had since the last look, and books that to the stage it stands in. Threads of Arrow's
own have no Python to look at: theirs is what is left of the whole process's time.
"""

from __future__ import annotations

import json
import os
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

PERIOD_SECONDS = 0.005
HOME = Path(__file__).resolve().parents[1]
# By file, else by room; what is not here is `other`. A frame nearer to the work decides.
FILES = {
    "source/pipe.py": "wire",
    "source/postgres/bulk.py": "wire",
    "source/postgres/sent.py": "wire",
    "source/mysql/bulk.py": "wire",
    "source/sqlite/stream.py": "wire",
    "source/sqlite/thread.py": "wire",
    "source/mysql/packets.py": "wire",
    "source/mysql/binary.py": "parse",
    "source/mysql/rows.py": "parse",
    "source/mysql/values.py": "parse",
    "source/postgres/binary.py": "parse",
    "source/postgres/tuples.py": "parse",
    "source/postgres/cells.py": "parse",
    "source/postgres/values.py": "parse",
    "source/postgres/numbers.py": "parse",
    "source/sqlite/batches.py": "parse",
    "source/sqlite/iso.py": "parse",
    "source/arrow.py": "parse",
    "source/block_batches.py": "parse",
    "source/cells.py": "parse",
    "source/decoding.py": "parse",
    "source/from_text.py": "parse",
    "export/parts.py": "encode",
    "export/row_groups.py": "encode",
    "export/staged.py": "write",
}
ROOMS = {
    "source": "ask",
    "export": "split",
    "destination": "write",
    "publish": "publish",
    "manifest": "publish",
    "cli": "start",
    "config": "start",
}
STAGES = ("start", "ask", "wire", "parse", "split", "encode", "write", "publish", "other")


class Sampler(threading.Thread):
    """Books the processor time of every other thread until it is stopped."""

    def __init__(self) -> None:
        super().__init__(name="sampler", daemon=True)
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self.own_seconds = 0.0
        self._had: dict[int, int] = {}
        self._end = threading.Event()

    def run(self) -> None:
        """Look, until the end."""
        while not self._end.wait(PERIOD_SECONDS):
            self.look()
        self.own_seconds = time.thread_time()

    def look(self) -> None:
        """Book what each thread has had since the last look."""
        frames = sys._current_frames()  # noqa: SLF001 - the only way to see other threads
        for thread in threading.enumerate():
            frame = frames.get(thread.ident or 0)
            if thread is self or frame is None or thread.native_id is None:
                continue
            had = _nanoseconds_of(thread.native_id)
            since = had - self._had.get(thread.native_id, 0)
            self._had[thread.native_id] = had
            if since > 0:
                self.seconds[stage_of(frame)] += since / 1e9

    def stop(self) -> None:
        """Look once more and end."""
        self._end.set()
        self.join()
        self.look()


def stage_of(frame: FrameType | None) -> str:
    """Name the stage that a thread stands in, by its frames from the innermost outwards."""
    files = list(_files_of(frame))
    if any(file.startswith("<frozen importlib") for file in files):
        return "start"
    own = [file for file in files if file in FILES or file.partition("/")[0] in ROOMS]
    if any(file.startswith("publish/") for file in own):
        return "publish"
    first = own[0] if own else ""
    return FILES.get(first) or ROOMS.get(first.partition("/")[0], "other")


def _files_of(frame: FrameType | None) -> Iterator[str]:
    """Give the files of a stack, from within; those of Rivet as paths in its package."""
    package = f"{HOME / 'rivet'}/"
    while frame is not None:
        yield frame.f_code.co_filename.removeprefix(package)
        frame = frame.f_back


def _nanoseconds_of(native_id: int) -> int:
    try:
        with open(f"/proc/self/task/{native_id}/schedstat", "rb") as file:  # noqa: PTH123 - thousands of times
            return int(file.read().split()[0])
    except (FileNotFoundError, ProcessLookupError):  # it has ended meanwhile
        return 0


def main(result: Path, words: list[str]) -> int:
    """Run the command, write the seconds by stage, and give the command's exit code."""
    begin = time.perf_counter()
    sampler = Sampler()
    sampler.start()
    sys.argv = ["rivet", *words]
    from rivet.cli.main import main as rivet

    code = rivet()
    sampler.stop()
    times = os.times()
    cpu_seconds = times.user + times.system - sampler.own_seconds
    booked = sum(sampler.seconds.values())
    figures = {
        "wall_seconds": time.perf_counter() - begin,
        "cpu_seconds": cpu_seconds,
        "stages": {**dict.fromkeys(STAGES, 0.0), **sampler.seconds, "arrow": max(0.0, cpu_seconds - booked)},
    }
    result.write_text(json.dumps(figures), encoding="utf-8")
    return code


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
