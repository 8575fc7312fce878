"""What the keys of `mode: chunked` demand of each other, and what they mean.

Pure.
"""

from __future__ import annotations

from decimal import Decimal

from rivet.config.model import Export
from rivet.config.place import Place
from rivet.config.read_settings import ChunkSettings
from rivet.errors import Problem

CHUNK_KEYS = ("chunk_column", "chunk_size", "chunk_count", "chunk_by_key")
_WAYS = "write chunk_column with chunk_size or chunk_count, or chunk_by_key: [columns of an index]"


def chunk_settings(export: Export, place: Place) -> tuple[ChunkSettings | None, list[Problem]]:
    """Say how partitions are cut into chunks; None in another mode."""
    if export.mode != "chunked":
        stray = [key for key in CHUNK_KEYS if place.states(key) and (key,) not in place.inherited]
        return None, [
            place.problem((key,), "stands without mode: chunked", "write mode: chunked, or remove it")
            for key in stray
        ]
    problems = _way_problems(place) + _other_problems(export, place)
    if export.chunk_by_key and not problems:
        problems += _key_problems(export, place)
    settings = ChunkSettings(
        export.chunk_column, tuple(export.chunk_by_key or ()), export.chunk_size, export.chunk_count
    )
    return settings, problems


def _way_problems(place: Place) -> list[Problem]:
    column, size, count, key = (place.states(key) for key in CHUNK_KEYS)
    if not column and not key:
        return [place.problem(("mode",), "chunked stands without a way to cut partitions", _WAYS)]
    if column and key:
        return [place.clash(("chunk_by_key",), "stands beside chunk_column", "remove one of them")]
    if key and count:
        hint = "remove it, or write chunk_size: rows of a page"
        return [place.clash(("chunk_count",), "stands beside chunk_by_key, which counts rows", hint)]
    if size and count:
        return [place.clash(("chunk_count",), "stands beside chunk_size", "remove one of them")]
    if column and not size and not count:
        hint = "add chunk_size, the width of a chunk, or chunk_count, the chunks of a partition"
        return [place.problem(("chunk_column",), "stands without chunk_size and chunk_count", hint)]
    return []


def _key_problems(export: Export, place: Place) -> list[Problem]:
    problems = []
    key, size = export.chunk_by_key or [], export.chunk_size
    if not place.states("table"):
        hint = "name the table with `table`, or write chunk_column with chunk_size or chunk_count"
        problems.append(place.clash(("chunk_by_key",), "needs a table, whose index serves it", hint))
    folded = [name.casefold() for name in key]
    if len(set(folded)) < len(folded):
        problems.append(place.problem(("chunk_by_key",), "names a column twice", "name each once"))
    left_out = [name for name in key if name in (export.exclude or ())]
    if left_out:
        message = f"names {left_out[0]!r}, which exclude leaves out"
        problems.append(place.clash(("chunk_by_key",), message, "take it out of exclude"))
    if size is not None and (not isinstance(size, Decimal) or size != int(size)):
        hint = "write the rows of a page, such as 100000"
        problems.append(place.problem(("chunk_size",), "found {found}, and chunk_by_key counts rows", hint))
    return problems


def _other_problems(export: Export, place: Place) -> list[Problem]:
    """Refuse what decides by how many queries an export is read in another mode."""
    stated = {"scan": export.scan, "sort": export.sort}
    return [
        place.clash((key,), "stands beside mode: chunked, where each chunk is a query", "remove it")
        for key, value in stated.items()
        if value not in (None, "auto") and (key,) not in place.inherited
    ]
