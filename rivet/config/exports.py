"""The exports of a config: defaults merged under each, and what one key demands of another.

Reads `query_file`; looks at nothing else outside.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rivet.config import paths
from rivet.config.check import checked
from rivet.config.chunks import CHUNK_KEYS, chunk_settings
from rivet.config.columns import WITH_UNIT, parse_type
from rivet.config.destination import destination_settings, overlap_problems
from rivet.config.environment import values_in
from rivet.config.files import read_text
from rivet.config.incremental import incremental_settings
from rivet.config.model import Column, Export
from rivet.config.place import Keys, Place
from rivet.config.read_settings import ColumnSettings
from rivet.config.settings import DestinationSettings, ExportSettings
from rivet.config.zones import zone_fault
from rivet.errors import Problem

_QUERIES = ("table", "query", "query_file")
# What an export says for itself puts these of `defaults` aside.
_SUPERSEDED = {
    "compression": ("compression_level",),
    **dict.fromkeys(_QUERIES, _QUERIES),
    **dict.fromkeys(CHUNK_KEYS[::3], CHUNK_KEYS),
    "chunk_size": ("chunk_count",),
    "chunk_count": ("chunk_size",),
}
_LEVELS = {"zstd": (1, 22), "gzip": (1, 9), "lz4": (1, 12)}
_PARTITION_KEYS = ("partition_granularity", "partition_timezone", "partition_key", "partition_column")
_SIZES = ("max_file_size", "max_sort_size")
_SAME_NAMES = {
    "name",
    "table",
    "mode",
    "partition_by",
    "partition_granularity",
    "partition_timezone",
    "partition_key",
    "partition_column",
    "compression",
    "compression_level",
    "max_partitions",
    "max_scan_rows",
    "max_scan_seconds",
    "refresh_windows",
    "scan",
    "sort",
    "skip_empty",
    "unrepresentable",
    "vanished",
    "publish",
    "resume",
    "lock",
}


def merged(path: str, own: Mapping[str, object], defaults: Mapping[str, object]) -> Place:
    """Put defaults under the keys that an export does not state; null undoes a default.

    `columns` and `destination` are merged key by key, the latter unless the export states another type. An
    export that states table, query or query_file takes none of them from defaults, and one that states a
    codec takes no level.
    """
    superseded = {other for key in own if own[key] is not None for other in _SUPERSEDED.get(key, ())}
    given = {key: value for key, value in defaults.items() if key not in own and key not in superseded}
    inherited: set[Keys] = {(key,) for key in given}
    written = {**own, **given}
    for name in ("columns", "destination"):
        ours, theirs = own.get(name), defaults.get(name)
        if isinstance(ours, Mapping) and isinstance(theirs, Mapping):
            if name == "destination" and ours.get("type") not in (None, theirs.get("type")):
                continue
            more = {key: value for key, value in theirs.items() if key not in ours}
            inherited |= {(name, key) for key in more}
            written[name] = {**ours, **more}
    return Place(path, written, frozenset(inherited))


@dataclass(frozen=True)
class Draft:
    """One export as far as it could be resolved; without settings where problems stand against it."""

    place: Place
    keys: Export
    destination: DestinationSettings | None
    settings: ExportSettings | None
    problems: Sequence[Problem]


def draft(place: Place, directory: Path, environ: Mapping[str, str]) -> Draft:
    """Resolve one export.

    Args:
        directory: The config's folder, from which relative paths are meant.
    """
    export, problems = checked(Export, place, environ)
    problems += _name_problems(export, place)
    problems += _query_problems(export, place)
    problems += _partition_problems(export, place)
    columns, more = _columns(export, place)
    problems += more
    incremental, more = incremental_settings(export, place)
    problems += more
    problems += _compression_problems(export, place)
    chunks, more = chunk_settings(export, place)
    problems += more
    query, more = _query(export, place, directory)
    problems += more
    destination, more = destination_settings(export, place, directory, environ)
    problems += more
    settings = None
    if destination is not None and not problems:
        stated = export.model_dump(include=_SAME_NAMES, exclude_none=True)
        sizes = {f"{key}_bytes": getattr(export, key) for key in _SIZES}
        settings = ExportSettings(
            where=place.path,
            query=query,
            variables=values_in(place.found("query"), environ),
            exclude=tuple(export.exclude or ()),
            columns=columns,
            incremental=incremental,
            destination=destination,
            chunks=chunks,
            **stated,
            **{key: size for key, size in sizes.items() if size is not None},
        )
    return Draft(place, export, destination, settings, problems)


def meeting_problems(drafts: Sequence[Draft]) -> list[Problem]:
    """List what stands against exports beside each other: neither names nor roots may meet."""
    problems = []
    first: dict[str, str] = {}
    for draft in drafts:
        name = draft.keys.name
        if name is not None and name in first:
            message = f"{{found}} is also the name of {first[name]}"
            problems.append(draft.place.clash(("name",), message, "write another name"))
        elif name is not None:
            first[name] = draft.place.path
    roots = [(draft.place, draft.destination) for draft in drafts if draft.destination is not None]
    return problems + overlap_problems(roots)


def _name_problems(export: Export, place: Place) -> list[Problem]:
    if not place.states("name"):
        return [place.problem(("name",), "is missing", "give the export a name")]
    fault = paths.export_name_fault(export.name) if export.name is not None else None
    return (
        [place.problem(("name",), f"{{found}} cannot name an export: {fault}", "write another name")]
        if fault
        else []
    )


def _query_problems(export: Export, place: Place) -> list[Problem]:
    problems = []
    stated = [key for key in _QUERIES if place.states(key)]
    hint = "write exactly one of table, query, query_file"
    if not stated:
        problems.append(Problem(place.path, "says neither table nor query nor query_file", hint))
    problems += [place.problem((key,), f"stands beside {stated[0]}", hint) for key in stated[1:]]
    if export.exclude and stated and "table" not in stated:
        message = f"stands beside {stated[0]}, whose columns you choose yourself"
        problems.append(place.clash(("exclude",), message, "leave the columns out in the query"))
    if export.partition_by in (export.exclude or ()):
        message = "leaves out the column of partition_by"
        problems.append(place.clash(("exclude",), message, "keep it, or partition by another"))
    return problems


def _query(export: Export, place: Place, directory: Path) -> tuple[str | None, list[Problem]]:
    if export.query_file is None:
        return export.query, []
    query, reason = read_text(directory / export.query_file)
    if reason is not None:
        return None, [place.problem(("query_file",), f"cannot read {{found}}: {reason}")]
    if not query.strip() or "\0" in query:
        return None, [place.problem(("query_file",), "{found} holds no query", "write one SELECT into it")]
    return query, []


def _columns(export: Export, place: Place) -> tuple[dict[str, ColumnSettings], list[Problem]]:
    """Read the types of columns, and refuse those of columns that are left out or cannot partition."""
    columns: dict[str, ColumnSettings] = {}
    problems = []
    for name, given in (export.columns or {}).items():
        keys = ("columns", name)
        column = given if isinstance(given, Column) else Column(type=given, unit=None)
        settings = None if column.type is None else parse_type(column.type)
        if settings is None:
            if not place.states(*keys, "type"):
                problems.append(place.problem((*keys, "type"), "is missing", "write `type: …` beside unit"))
            continue
        if column.unit is not None and settings.type not in WITH_UNIT:
            message = f"stands beside type {settings.type}, which counts nothing"
            hint = f"remove it, or write one of {', '.join(WITH_UNIT)} as type"
            problems.append(place.problem((*keys, "unit"), message, hint))
        if name in (export.exclude or ()):
            problems.append(place.clash(keys, "is left out by exclude", "take it out of one of them"))
        if name == export.partition_by and settings.type not in WITH_UNIT:
            message = f"makes the column of partition_by a {settings.type}"
            hint = f"write one of {', '.join(WITH_UNIT)}, or partition by another column"
            problems.append(place.clash(keys, message, hint))
        columns[name] = replace(settings, unit=column.unit)
    return columns, problems


def _partition_problems(export: Export, place: Place) -> list[Problem]:
    if not place.states("partition_by"):
        return [
            place.problem((key,), "stands without partition_by", "add partition_by, or remove it")
            for key in _PARTITION_KEYS
            if place.states(key) and (key,) not in place.inherited
        ]
    zone = export.partition_timezone
    fault = zone_fault(zone) if zone is not None else None
    problems = [place.problem(("partition_timezone",), *fault)] if fault is not None else []
    # Without a key the column's own name stands in the path; its case is resolved against the catalogue.
    key = "partition_key" if place.states("partition_key") else "partition_by"
    name = export.partition_key if key == "partition_key" else export.partition_by
    reason = paths.key_fault(name) if name is not None else None
    if reason is not None:
        other = key == "partition_key"
        hint = "write another name" if other else "write `partition_key: …`, the name in the path"
        problems.append(place.problem((key,), f"{{found}} cannot stand in the path: {reason}", hint))
    return problems


def _compression_problems(export: Export, place: Place) -> list[Problem]:
    codec, level = export.compression or "zstd", export.compression_level
    if level is None or (place.states("compression") and export.compression is None):
        return []
    low, high = _LEVELS.get(codec, (0, 0))
    if low <= level <= high and codec in _LEVELS:
        return []
    if codec not in _LEVELS:
        return [place.problem(("compression_level",), f"compression {codec} has no levels", "remove it")]
    message = f"found {{found}}, and {codec} takes {low} to {high}"
    return [place.problem(("compression_level",), message, f"write a level from {low} to {high}")]
