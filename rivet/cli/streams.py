"""Standard streams that survive what cron, pipes and odd terminals do to them."""

from __future__ import annotations

import json
import os
import re
import sys
from typing import TextIO

from rivet.errors import DestinationUnavailable

# DEL and the controls of eight bits, which terminals obey as they do escapes; separators of lines; what turns
# the direction of text. JSON itself escapes only what is below the blank.
_OBEYED = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def hold_standard_descriptors() -> None:
    """Make sure that descriptors 0, 1 and 2 are open, on the null device where they were not.

    Otherwise the next file or socket that is opened takes their number, and what a library prints to
    "standard error" lands in a Parquet part or in the connection to a server.
    """
    for descriptor in (0, 1, 2):
        try:
            os.fstat(descriptor)
        except OSError:
            os.open(os.devnull, os.O_RDWR)  # takes the lowest free number, which is this one
    # Python leaves these None where the descriptor was closed when it started.
    if sys.stdout is None:
        sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115 - it lives as long as the process
    if sys.stderr is None:
        sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)  # noqa: SIM115


def to_json(value: object) -> bytes:
    r"""Write JSON as UTF-8 whatever the locale says, with a final newline.

    What a terminal would obey, and a lone surrogate, which UTF-8 cannot hold, become their JSON escapes.

    >>> to_json(chr(0x9B) + "2J")
    b'"\\u009b2J"\n'
    """
    text = json.dumps(value, ensure_ascii=False, indent=2)
    text = _OBEYED.sub(lambda found: f"\\u{ord(found[0]):04x}", text)
    return f"{text}\n".encode("utf-8", "backslashreplace")


def write_output(data: bytes) -> None:
    """Write machine output to standard output; a reader that has gone is no error.

    Raises:
        DestinationUnavailable: It cannot be written for any other reason, such as a full disk.
    """
    try:
        sys.stdout.flush()
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
    except OSError as exc:
        abandon(sys.stdout)
        if not isinstance(exc, BrokenPipeError):
            raise DestinationUnavailable(f"cannot write to standard output: {exc.strerror}") from exc


def abandon(stream: TextIO) -> None:
    """Point a stream at the null device, so that what is still buffered cannot fail at exit."""
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, stream.fileno())
    os.close(null)


def say(line: str) -> None:
    """Print a line to standard error; a stream that is gone or full never ends a run."""
    try:
        sys.stderr.write(line + "\n")
        sys.stderr.flush()
    except OSError:
        abandon(sys.stderr)


def say_json(value: object) -> None:
    """Print a value to standard error as one line of JSON, in ASCII, which no locale can spoil."""
    say(json.dumps(value))


def is_terminal() -> bool:
    """Tell whether people watch standard error on a terminal that can move its cursor."""
    return sys.stderr.isatty() and os.environ.get("TERM", "") not in ("", "dumb", "unknown")
