"""Run one command from start to exit and write to a file what it took.

    stopwatch.py RESULT COMMAND…

A process of its own, started without site-packages: Linux counts the memory of the process that starts
another one as the other's peak, so the one that starts a measured command has to be small. The peak is that
of the largest process; processor time is the command's and that of all that it waited for.
"""

import json
import os
import sys
import time
from pathlib import Path


def main(result: Path, command: list[str]) -> int:
    """Run the command, write the figures, and give the command's exit code."""
    begin = time.perf_counter()
    pid = os.posix_spawnp(command[0], command, os.environ)
    _, status, usage = os.wait4(pid, 0)
    wall_seconds = time.perf_counter() - begin
    figures = {
        "wall_seconds": wall_seconds,
        "cpu_seconds": usage.ru_utime + usage.ru_stime,
        "peak_bytes": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
    }
    result.write_text(json.dumps(figures), encoding="utf-8")
    return os.waitstatus_to_exitcode(status)


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
