"""Names and paths that a config gives to what lands, and whether they stay where they belong.

Pure but for following symbolic links. Readers skip names that begin with `_` or `.` in silence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from pathlib import Path

PARTITION = "{partition}"

# A part is `<name>__<label>_<run id>_<number>.parquet`; 75 bytes hold the longest label, the run id, a number
# of ten digits and the suffix. `key=value` needs 27 beside the key.
_MAX_NAME_BYTES = 255
_BESIDE_EXPORT_NAME = 75
_BESIDE_KEY = 27
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")
# Characters that Hive's escape turns into three; control characters too.
_ESCAPED = re.compile(r"[\"#%'*/:=?\\\x00-\x1f\x7f{}\[\]^]")


def export_name_fault(name: str) -> str | None:
    """Say why a text cannot name an export, or give None.

    >>> export_name_fault("sales/orders"), export_name_fault("../orders")
    (None, "a segment '..' would lead elsewhere")
    """
    if _CONTROL.search(name):
        return "it holds control characters"
    for segment in name.split("/"):
        if segment in ("", ".", ".."):
            return f"a segment {segment!r} would lead elsewhere"
    return _hidden_fault(name) or _length_fault(name, _BESIDE_EXPORT_NAME)


def key_fault(key: str) -> str | None:
    """Say why a text cannot be the key of `key=value`, or give None."""
    return _hidden_fault(key) or _length_fault(key, _BESIDE_KEY)


def _hidden_fault(name: str) -> str | None:
    return "readers skip names that begin with _ or ." if name.startswith(("_", ".")) else None


def _length_fault(name: str, beside: int) -> str | None:
    if escaped_bytes(name) <= _MAX_NAME_BYTES - beside:
        return None
    return f"it is longer than {_MAX_NAME_BYTES - beside} bytes, escaped"


def escaped_bytes(name: str) -> int:
    """Count the bytes of a name in UTF-8 after Hive's escape.

    >>> escaped_bytes("a/é")
    6
    """
    return len(name.encode()) + 2 * len(_ESCAPED.findall(name))


def path_fault(path: str, *, partitioned: bool) -> tuple[str, str] | None:
    """Say why a text cannot be a destination's path, with the mend, or give None.

    >>> path_fault("out/{table}/{partition}", partitioned=True)[0]
    'only {partition} is replaced in a path'
    """
    segments = path.split("/")
    count = path.count(PARTITION)
    below = segments[segments.index(PARTITION) + 1 :] if PARTITION in segments else []
    rules = (
        ("://" in path, "a URL is no directory", "other stores come with a later version of Rivet"),
        (_CONTROL.search(path), "it holds control characters", "write a path without them"),
        (
            re.search(r"[{}]", path.replace(PARTITION, "")),
            "only {partition} is replaced in a path",
            "write {partition}, or ${env:NAME} for a variable",
        ),
        (
            count and not partitioned,
            "{partition} stands in the path, and there is no partition_by",
            "add partition_by, or take {partition} out",
        ),
        (
            count > 1 or (count and PARTITION not in segments),
            "{partition} must stand once, as a whole segment",
            "write it like `path: './out/events/{partition}/'`",
        ),
        (path.startswith("~"), "~ is not expanded", "write ${env:HOME}"),
        (
            any(segment.startswith(("_", ".")) for segment in below),
            "readers skip directories that begin with _ or .",
            "write another name below {partition}",
        ),
        (
            any(len(segment.encode()) > _MAX_NAME_BYTES for segment in segments),
            f"a segment is longer than {_MAX_NAME_BYTES} bytes",
            "write a shorter one",
        ),
    )
    return next(((fault, mend) for broken, fault, mend in rules if broken), None)


def split_path(path: str, directory: Path) -> tuple[Path, str]:
    """Cut a path into the root and the template of what lies below it, without a final slash.

    >>> split_path("out/{partition}/", Path("/srv")), split_path("/data/all", Path("/srv"))
    ((PosixPath('/srv/out'), '{partition}'), (PosixPath('/data/all'), ''))
    """
    segments = path.split("/")
    if PARTITION not in segments:
        return tidied(directory / path), ""
    cut = segments.index(PARTITION)
    root = "/".join(segments[:cut]) or ("/" if cut else ".")
    return tidied(directory / root), "/".join(segment for segment in segments[cut:] if segment)


def tidied(path: Path) -> Path:
    """Take `..` out of a path, except where it stands behind a link and leads elsewhere than its text says.

    >>> tidied(Path("/nowhere/conf/../out"))
    PosixPath('/nowhere/out')
    """
    plain = Path(os.path.normpath(path))
    return plain if os.path.realpath(plain) == os.path.realpath(path) else path


def overlaps(roots: Sequence[Path]) -> list[tuple[int, int]]:
    """List the pairs of roots of which the second is the first, or lies inside it, links followed.

    Each root stands second at most once.

    >>> overlaps([Path("/a/b"), Path("/c"), Path("/a")])
    [(2, 0)]
    """
    parts = [Path(os.path.realpath(root)).parts for root in roots]
    pairs = []
    outer: int | None = None
    for i in sorted(range(len(roots)), key=lambda i: (parts[i], i)):
        if outer is not None and parts[i][: len(parts[outer])] == parts[outer]:
            pairs.append((outer, i))
        else:
            outer = i
    return pairs
