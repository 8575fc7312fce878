"""The names of everything that lands, and how to tell Rivet's own names again.

Pure. Paths are relative to the root and use `/`.
"""

from __future__ import annotations

import re

EXPORT_FILE = "_rivet_export.json"
LOCK_FILE = "_rivet_lock.json"
SUCCESS_FILE = "_SUCCESS"
MANIFEST_NAMES = ("manifest.json", "_manifest.json")
PART_SUFFIX = ".parquet"

# Hive's own list (FileUtils.charToEscape in Apache Hive), with space and non-ASCII left as they are.
_ESCAPED = frozenset("\"#%'*/:=?\\\x7f{}[]^") | {chr(c) for c in range(0x20)}
_PART = re.compile(r".+_(\d{8}T\d{6}Z-[0-9a-f]{8})_\d{5,}\.parquet", re.DOTALL)


def escape(text: str) -> str:
    """Escape one side of `key=value` by Hive's rule, `%XX` in upper case.

    >>> escape("event date/time=é")
    'event date%2Ftime%3Dé'
    """
    return "".join(f"%{ord(c):02X}" if c in _ESCAPED else c for c in text)


def partition_directory(key: str, value: str) -> str:
    """Name the directory of a partition.

    >>> partition_directory("created_at", "2023-01-01")
    'created_at=2023-01-01'
    """
    return f"{escape(key)}={escape(value)}"


def part_name(export_name: str, label: str, run_id: str, number: int) -> str:
    """Name a part; unique for each run, and never hidden from readers.

    >>> part_name("events", "2023-01-01", "20230102T030405Z-0123abcd", 0)
    'events__2023-01-01_20230102T030405Z-0123abcd_00000.parquet'
    """
    return f"{escape(export_name)}__{escape(label)}_{run_id}_{number:05d}{PART_SUFFIX}"


def child(directory: str, name: str) -> str:
    """Give the path of a file in a directory; the empty directory is the root.

    >>> child("day=2023-01-01", "_SUCCESS"), child("", "_SUCCESS")
    ('day=2023-01-01/_SUCCESS', '_SUCCESS')
    """
    return f"{directory}/{name}" if directory else name


def run_id_of_part(name: str) -> str | None:
    """Give the run id that a part's name bears, or None where it is no part of Rivet's naming."""
    match = _PART.fullmatch(name)
    return match.group(1) if match else None
