"""Names and paths that a config gives to what lands, and whether they stay where they belong.

Pure but for following symbolic links. Readers skip names that begin with `_` or `.` in silence.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

PARTITION = "{partition}"
PATH_EXAMPLE = "write it like `path: './out/events/{partition}/'`"
PREFIX_EXAMPLE = "write it like `prefix: 'lake/events/{partition}/'`"

# A part is `<name>__<label>_<run id>_<number>.parquet`; 75 bytes hold the longest label, the run id, a number
# of ten digits and the suffix. `key=value` needs 27 beside the key.
_MAX_NAME_BYTES = 255
_BESIDE_EXPORT_NAME = 75
_BESIDE_KEY = 27
# A key has 1,024 bytes at most, of which `key=value` and the name of a part may take 255 each.
_MAX_PREFIX_BYTES = 500
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
    """Say why a text cannot be a local destination's path, with the mend, or give None.

    >>> path_fault("out/{table}/{partition}", partitioned=True)[0]
    'only {partition} is replaced here'
    """
    segments = path.split("/")
    rules = (
        (
            "://" in path,
            "a URL is no directory",
            "write `type: s3` or `type: gcs`, with `bucket` and `prefix`",
        ),
        (path.startswith("~"), "~ is not expanded", "write ${env:HOME}"),
        (
            any(len(segment.encode()) > _MAX_NAME_BYTES for segment in segments),
            f"a segment is longer than {_MAX_NAME_BYTES} bytes",
            "write a shorter one",
        ),
    )
    return _first(rules) or _placeholder_fault(path, PATH_EXAMPLE, partitioned=partitioned)


def prefix_fault(prefix: str, *, partitioned: bool) -> tuple[str, str] | None:
    """Say why a text cannot be a prefix in a bucket, with the mend, or give None.

    >>> prefix_fault("{partition}/", partitioned=True)[0]
    'the root would be the bare bucket'
    """
    segments = prefix.split("/")
    rules = (
        ("://" in prefix, "a URL is no prefix", "write the bucket as `bucket`, and what follows it here"),
        (
            any(segment in (".", "..") for segment in segments),
            "a segment . or .. leads nowhere in a bucket",
            "write it without",
        ),
        (
            len(prefix.encode()) > _MAX_PREFIX_BYTES,
            f"it is longer than {_MAX_PREFIX_BYTES} bytes",
            "write a shorter one",
        ),
    )
    fault = _first(rules) or _placeholder_fault(prefix, PREFIX_EXAMPLE, partitioned=partitioned)
    if fault is None and not split_prefix(prefix)[0]:
        return "the root would be the bare bucket", PREFIX_EXAMPLE
    return fault


def _placeholder_fault(path: str, example: str, *, partitioned: bool) -> tuple[str, str] | None:
    segments = path.split("/")
    count = path.count(PARTITION)
    below = segments[segments.index(PARTITION) + 1 :] if PARTITION in segments else []
    rules = (
        (_CONTROL.search(path), "it holds control characters", "write it without them"),
        (
            re.search(r"[{}]", path.replace(PARTITION, "")),
            "only {partition} is replaced here",
            "write {partition}, or ${env:NAME} for a variable",
        ),
        (
            count and not partitioned,
            "it holds {partition}, and there is no partition_by",
            "add partition_by, or take {partition} out",
        ),
        (
            count > 1 or (count and PARTITION not in segments),
            "{partition} must stand once, as a whole segment",
            example,
        ),
        (
            any(segment.startswith(("_", ".")) for segment in below),
            "readers skip directories that begin with _ or .",
            "write another name below {partition}",
        ),
    )
    return _first(rules)


def _first(rules: Iterable[tuple[object, str, str]]) -> tuple[str, str] | None:
    """Give fault and mend of the first rule that is broken."""
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


def split_prefix(prefix: str) -> tuple[str, str]:
    """Cut a prefix in a bucket into that of the root, empty or ending in one `/`, and the template below it.

    Slashes at the beginning, at the end and behind each other are none that anybody meant.

    >>> split_prefix("/lake//events/{partition}"), split_prefix("all")
    (('lake/events/', '{partition}'), ('all/', ''))
    """
    segments = [segment for segment in prefix.split("/") if segment]
    cut = segments.index(PARTITION) if PARTITION in segments else len(segments)
    return "".join(f"{segment}/" for segment in segments[:cut]), "/".join(segments[cut:])


def tidied(path: Path) -> Path:
    """Take `..` out of a path, except where it stands behind a link and leads elsewhere than its text says.

    >>> tidied(Path("/nowhere/conf/../out"))
    PosixPath('/nowhere/out')
    """
    plain = Path(os.path.normpath(path))
    return plain if os.path.realpath(plain) == os.path.realpath(path) else path


def overlaps(roots: Sequence[Sequence[str]]) -> list[tuple[int, int]]:
    """List the pairs of roots, each as its segments, of which the second is the first, or lies inside it.

    Each root stands second at most once.

    >>> overlaps([("/", "a", "b"), ("/", "c"), ("/", "a")])
    [(2, 0)]
    """
    pairs = []
    outer: int | None = None
    for i in sorted(range(len(roots)), key=lambda i: (roots[i], i)):
        if outer is not None and roots[i][: len(roots[outer])] == roots[outer]:
            pairs.append((outer, i))
        else:
            outer = i
    return pairs
