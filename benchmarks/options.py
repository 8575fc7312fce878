"""The words that several benches take, and the directory they work in."""

from __future__ import annotations

import argparse
import json
import signal
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


def parser(module: str, description: str | None, *, rows: int, repeat: int = 3) -> argparse.ArgumentParser:
    """Give a parser with the options that all benches have."""
    made = argparse.ArgumentParser(prog=f"python -m {module}", description=description)
    made.add_argument("--rows", type=positive, default=rows, help="rows of the table (%(default)s)")
    made.add_argument("--repeat", type=positive, default=repeat, help="rounds that count (%(default)s)")
    made.add_argument("--keep", type=_empty, metavar="DIR", help="write trees, configs and logs there")
    made.add_argument("--json", type=_new_file, metavar="FILE", help="write all figures there, too")
    return made


@contextmanager
def scratch(keep: Path | None = None) -> Iterator[Path]:
    """Give the directory for trees: a new one that stays, or one that goes in the end.

    Ended politely, a bench still stops its contestant and clears up; servers see to that themselves.
    """
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    try:
        if keep:
            keep.mkdir(parents=True, exist_ok=True)
            yield keep.resolve()
            return
        with tempfile.TemporaryDirectory(prefix="rivet-bench-") as directory:
            yield Path(directory)
    finally:
        signal.signal(signal.SIGTERM, before)


def keep_figures(file: Path | None, facts: Any) -> None:
    """Write all figures to the file, where one was asked for."""
    if file:
        file.write_text(f"{json.dumps(facts, indent=2, ensure_ascii=False)}\n", encoding="utf-8")


def tell(line: str) -> None:
    """Say how far a bench is, to people."""
    print(line, file=sys.stderr, flush=True)


def positive(text: str) -> int:
    """Read a whole number above zero."""
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is no number above zero")
    return int(text)


def program(text: str) -> Path:
    """Read the path of a program that is there."""
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"{text!r} is no program")
    return path


def _empty(text: str) -> Path:
    path = Path(text)
    if path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise argparse.ArgumentTypeError(f"{text!r} is not an empty directory")
    return path


def _new_file(text: str) -> Path:
    path = Path(text)
    if path.is_dir() or not path.parent.is_dir():
        raise argparse.ArgumentTypeError(f"{text!r} is no file in a directory that exists")
    return path
