"""Times a whole process from start to exit, with its processor time and the peak of its memory."""

from __future__ import annotations

import json
import os
import signal
import statistics
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
HOME = HERE.parent
RIVET = (sys.executable, "-m", "rivet")


class BenchFailed(Exception):
    """A contestant failed, or left other rows than the table has: nothing that was measured counts."""


@dataclass(frozen=True)
class Figures:
    """What one process took; memory is that of its largest process."""

    wall_seconds: float
    cpu_seconds: float
    peak_bytes: int


def timed(
    name: str,
    command: Sequence[str],
    environment: Mapping[str, str],
    directory: Path,
    *,
    told: Path | None = None,
) -> Figures:
    """Run a command in a directory, where its errors go to `log`, and give what it took.

    Args:
        told: The file for what it prints, which is dropped otherwise.

    Raises:
        BenchFailed: It ended with a code other than zero.
    """
    result, log = directory / "stopwatch.json", directory / "log"
    words = [sys.executable, "-I", "-S", str(HERE / "stopwatch.py"), str(result), *command]
    with (
        log.open("wb") as errors,
        Path(told or os.devnull).open("wb") as output,
        subprocess.Popen(
            words,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
        ) as process,
    ):
        try:
            process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)  # it and what it started
            raise
    if process.returncode:
        end = log.read_text(encoding="utf-8", errors="replace")[-2000:]
        raise BenchFailed(f"{name} ended with code {process.returncode}\n{end}")
    return Figures(**json.loads(result.read_text(encoding="utf-8")))


def own_environment() -> dict[str, str]:
    """Give what a process sees of this one's: this checkout, and nobody's own settings.

    Python may keep what it compiles, as it does of an installed package: else each run would compile anew.
    """
    foreign = ("PG", "MYSQL_", "RIVET_", "PYTHON")
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    return inherited | {"PYTHONPATH": str(HOME)}


def median(runs: Iterable[Figures], attribute: str = "wall_seconds") -> float:
    """Give the median of one figure of several runs."""
    return float(statistics.median(getattr(run, attribute) for run in runs))
