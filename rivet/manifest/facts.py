"""Writes and reads the objects inside a manifest and an export file.

Pure. A function without `_json` is a decoder; a pair of functions names the same keys in the same order.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol, cast

from rivet.manifest.model import (
    ExportPartitionFacts,
    JsonObject,
    Part,
    PartitionEntry,
    PartitionFacts,
    Pending,
    PendingPartition,
    SourceFacts,
    UnfinishedRun,
)
from rivet.manifest.strict_json import (
    Decoder,
    Fields,
    array_of,
    count,
    flag,
    inner_path,
    nullable,
    one_of,
    text,
    unexpected,
)

_PARTITION = (
    *("column", "key", "value", "granularity", "timezone", "start", "end", "is_null"),
    *("value_format", "reader_type", "calendar"),
)
_PART = ("part_id", "path", "row_count", "size_bytes", "sha256", "minimum", "maximum")
_COLUMN: Mapping[str, tuple[type, Decoder[object]]] = {
    "name": (str, text),
    "type": (str, text),
    "nullable": (bool, flag),
    "source_type": (str, text),
}
_EXPORT_PARTITION = ("column", "key", "granularity", "timezone", "template")
_ENTRY = (
    *("value", "path", "state", "run_id", "consistency"),
    *("row_count", "size_bytes", "manifest_sha256"),
)
_PENDING_PARTITION = ("value", "old_sha256", "new_sha256", "path")
_UNFINISHED = ("run_id", "started_at", "settings_sha256")


def source_json(s: SourceFacts) -> JsonObject:
    """Write where rows came from."""
    origin = {"table": s.table, "query_sha256": s.query_sha256}
    known = {key: value for key, value in origin.items() if value is not None}
    return {"engine": s.engine, **known, "consistency": s.consistency, **s.extra}


def source(value: object, path: str) -> SourceFacts:
    """Read where rows came from."""
    fields = Fields(value, path)
    return SourceFacts(
        engine=fields.take("engine", text),
        consistency=fields.take("consistency", text),
        table=fields.take_or("table", nullable(text), None),
        query_sha256=fields.take_or("query_sha256", nullable(text), None),
        extra=fields.rest(),
    )


def partition_json(p: PartitionFacts) -> JsonObject:
    """Write which partition a manifest is of."""
    return _object(p, _PARTITION)


def partition(value: object, path: str) -> PartitionFacts:
    """Read which partition a manifest is of."""
    fields = Fields(value, path)
    return PartitionFacts(
        column=fields.take("column", text),
        key=fields.take("key", text),
        value=fields.take("value", text),
        granularity=fields.take("granularity", text),
        timezone=fields.take("timezone", nullable(text)),
        start=fields.take("start", nullable(text)),
        end=fields.take("end", nullable(text)),
        is_null=fields.take("is_null", flag),
        value_format=fields.take("value_format", text),
        reader_type=fields.take("reader_type", text),
        calendar=fields.take("calendar", text),
        extra=fields.rest(),
    )


def part_json(p: Part) -> JsonObject:
    """Write one part."""
    return _object(p, _PART)


def part(value: object, path: str) -> Part:
    """Read one part."""
    fields = Fields(value, path)
    return Part(
        part_id=fields.take("part_id", count),
        path=fields.take("path", inner_path),
        row_count=fields.take("row_count", count),
        size_bytes=fields.take("size_bytes", count),
        sha256=fields.take("sha256", text),
        minimum=fields.take("minimum", nullable(text)),
        maximum=fields.take("maximum", nullable(text)),
        extra=fields.rest(),
    )


def destination(value: object, path: str) -> Mapping[str, str]:
    """Read where a partition was written; keys that are unknown are kept, whatever they hold."""
    fields = Fields(value, path)
    known = {"kind": fields.take("kind", text), "uri": fields.take("uri", text)}
    return cast("Mapping[str, str]", {**known, **fields.rest()})


def column(value: object, path: str) -> JsonObject:
    """Read one column of a schema, as it is written, since the fingerprint is of its very text."""
    if not isinstance(value, dict):
        unexpected(path, value, "an object")
    for key, (kind, decoder) in _COLUMN.items():
        # There are thousands of columns in a tree, and hardly ever one that needs to be told where it stands.
        if type(value.get(key)) is not kind:
            Fields(value, path).take(key, decoder)
    return value


def export_partition_json(p: ExportPartitionFacts) -> JsonObject:
    """Write how a tree is partitioned."""
    return _object(p, _EXPORT_PARTITION)


def export_partition(value: object, path: str) -> ExportPartitionFacts:
    """Read how a tree is partitioned."""
    fields = Fields(value, path)
    return ExportPartitionFacts(
        column=fields.take("column", text),
        key=fields.take("key", text),
        granularity=fields.take("granularity", text),
        timezone=fields.take("timezone", nullable(text)),
        template=fields.take("template", inner_path),
        extra=fields.rest(),
    )


def span(value: object, path: str) -> Mapping[str, str | None]:
    """Read the smallest and largest value; keys that are unknown are kept, whatever they hold."""
    fields = Fields(value, path)
    known = {key: fields.take(key, nullable(text)) for key in ("minimum", "maximum")}
    return cast("Mapping[str, str | None]", {**known, **fields.rest()})


def entry_json(e: PartitionEntry) -> JsonObject:
    """Write one partition as the export file lists it."""
    confirmed = {} if e.confirmed_by is None else {"confirmed_by": e.confirmed_by}
    added_to = {"part_runs": list(e.part_runs)} if e.part_runs else {}
    return {**{key: getattr(e, key) for key in _ENTRY}, **confirmed, **added_to, **e.extra}


def entry(value: object, path: str) -> PartitionEntry:
    """Read one partition as the export file lists it."""
    fields = Fields(value, path)
    return PartitionEntry(
        value=fields.take("value", nullable(text)),
        path=fields.take("path", _directory),
        state=fields.take("state", one_of("live", "kept", "failed")),
        run_id=fields.take("run_id", text),
        consistency=fields.take("consistency", text),
        row_count=fields.take("row_count", count),
        size_bytes=fields.take("size_bytes", count),
        manifest_sha256=fields.take("manifest_sha256", text),
        confirmed_by=fields.take_or("confirmed_by", nullable(text), None),
        part_runs=fields.take_or("part_runs", array_of(text), ()),
        extra=fields.rest(),
    )


def pending_json(p: Pending) -> JsonObject:
    """Write what a run is about to publish."""
    partitions = [_object(item, _PENDING_PARTITION) for item in p.partitions]
    return {"run_id": p.run_id, "partitions": partitions, **p.extra}


def pending(value: object, path: str) -> Pending:
    """Read what a run is about to publish."""
    fields = Fields(value, path)
    return Pending(
        run_id=fields.take("run_id", text),
        partitions=fields.take("partitions", array_of(_pending_partition)),
        extra=fields.rest(),
    )


def _pending_partition(value: object, path: str) -> PendingPartition:
    fields = Fields(value, path)
    return PendingPartition(
        value=fields.take("value", nullable(text)),
        path=fields.take("path", _directory),
        old_sha256=fields.take("old_sha256", nullable(text)),
        new_sha256=fields.take("new_sha256", nullable(text)),
        extra=fields.rest(),
    )


def unfinished_json(u: UnfinishedRun) -> JsonObject:
    """Write a run that did not reach its end."""
    return _object(u, _UNFINISHED)


def unfinished(value: object, path: str) -> UnfinishedRun:
    """Read a run that did not reach its end."""
    fields = Fields(value, path)
    return UnfinishedRun(
        run_id=fields.take("run_id", text),
        started_at=fields.take("started_at", text),
        settings_sha256=fields.take("settings_sha256", text),
        extra=fields.rest(),
    )


def _directory(value: object, path: str) -> str:
    """Take a directory below the root; empty is the root itself."""
    return "" if value == "" else inner_path(value, path)


class _Facts(Protocol):
    @property
    def extra(self) -> JsonObject: ...


def _object(facts: _Facts, keys: Sequence[str]) -> JsonObject:
    return {**{key: getattr(facts, key) for key in keys}, **facts.extra}
