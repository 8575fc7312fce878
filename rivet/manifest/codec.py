"""Writes and reads the three files that describe a tree: manifest, export file, success marker.

Pure. Keys stand in the order of `docs/manifest.md`, unknown ones after them; what is read is written back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from json.encoder import encode_basestring

from rivet.errors import PlanError
from rivet.manifest import facts
from rivet.manifest.model import EXPORT_VERSION, MANIFEST_VERSION, ExportFile, Manifest
from rivet.manifest.strict_json import (
    MAX_BYTES,
    DecodeError,
    Fields,
    UnknownVersion,
    array_of,
    check_bounds,
    count,
    inner_path,
    mapping_of,
    nullable,
    one_of,
    parse,
    text,
    unexpected,
)

__all__ = [
    "MAX_BYTES",
    "MAX_MANIFEST_BYTES",
    "MAX_MARKER_BYTES",
    "DecodeError",
    "UnknownVersion",
    "decode_export",
    "decode_manifest",
    "digest",
    "encode_export",
    "encode_manifest",
    "marker_of",
    "refuse_unreadable",
    "success_marker",
]

# A partition of fifty thousand parts. Unlike export files, many are read side by side.
MAX_MANIFEST_BYTES = 16 * 1024**2
MAX_MARKER_BYTES = 1024

_WORDS = {None: "null", True: "true", False: "false"}


def digest(data: bytes) -> str:
    """Digest bytes as `sha256:<hex>`.

    >>> digest(b"")[:15]
    'sha256:e3b0c442'
    """
    return "sha256:" + hashlib.sha256(data).hexdigest()


def success_marker(manifest_bytes: bytes) -> bytes:
    """Give the content of `_SUCCESS` for a manifest."""
    return marker_of(digest(manifest_bytes))


def marker_of(manifest_sha256: str) -> bytes:
    r"""Give the content of `_SUCCESS` for a manifest of this digest.

    >>> marker_of("sha256:e3b0c442")
    b'sha256:e3b0c442\n'
    """
    return f"{manifest_sha256}\n".encode()


def encode_manifest(manifest: Manifest) -> bytes:
    """Write a manifest as `manifest.json` holds it."""
    m = manifest
    return _dump(
        {
            "manifest_version": MANIFEST_VERSION,
            "tool": m.tool,
            "run_id": m.run_id,
            "export_name": m.export_name,
            "mode": m.mode,
            "status": m.status,
            "started_at": m.started_at,
            "finished_at": m.finished_at,
            "source": facts.source_json(m.source),
            "partition": None if m.partition is None else facts.partition_json(m.partition),
            "destination": m.destination,
            "format": m.format,
            "compression": m.compression,
            "schema": m.schema,
            "schema_fingerprint": m.schema_fingerprint,
            "row_count": m.row_count,
            "part_count": m.part_count,
            "size_bytes": m.size_bytes,
            "parts": [facts.part_json(p) for p in m.parts],
            "unrepresentable_rows": m.unrepresentable_rows,
            **m.extra,
        }
    )


def decode_manifest(data: bytes) -> Manifest:
    """Read a manifest.

    Raises:
        UnknownVersion: It is of another major version.
        DecodeError: It is no manifest; the message names the key, what was seen and what was expected.
    """
    fields = _versioned(data, "manifest_version", MANIFEST_VERSION, MAX_MANIFEST_BYTES)
    part_count = fields.take("part_count", count)
    manifest = Manifest(
        tool=fields.take("tool", text),
        run_id=fields.take("run_id", text),
        export_name=fields.take("export_name", text),
        mode=fields.take("mode", text),
        status=fields.take("status", text),
        started_at=fields.take("started_at", text),
        finished_at=fields.take("finished_at", text),
        source=fields.take("source", facts.source),
        partition=fields.take("partition", nullable(facts.partition)),
        destination=fields.take("destination", facts.destination),
        format=fields.take("format", text),
        compression=fields.take("compression", text),
        schema=fields.take("schema", array_of(facts.column)),
        schema_fingerprint=fields.take("schema_fingerprint", text),
        row_count=fields.take("row_count", count),
        size_bytes=fields.take("size_bytes", count),
        parts=fields.take("parts", array_of(facts.part)),
        unrepresentable_rows=fields.take("unrepresentable_rows", mapping_of(count)),
        extra=fields.rest(),
    )
    if part_count != manifest.part_count:
        unexpected("$.part_count", part_count, f"{manifest.part_count}, the length of $.parts")
    return manifest


def encode_export(export: ExportFile) -> bytes:
    """Write an export file as `_rivet_export.json` holds it."""
    e = export
    pending = {} if e.pending is None else {"pending": facts.pending_json(e.pending)}
    unfinished = [facts.unfinished_json(u) for u in e.unfinished_runs]
    return _dump(
        {
            "export_version": EXPORT_VERSION,
            "tool": e.tool,
            "export_name": e.export_name,
            "run_id": e.run_id,
            "status": e.status,
            "started_at": e.started_at,
            "finished_at": e.finished_at,
            "mode": e.mode,
            "source": facts.source_json(e.source),
            "partition": None if e.partition is None else facts.export_partition_json(e.partition),
            "span": e.span,
            "schema": e.schema,
            "schema_fingerprint": e.schema_fingerprint,
            "source_rows": e.source_rows,
            "source_null_rows": e.source_null_rows,
            "unrepresentable_rows": e.unrepresentable_rows,
            "row_count": e.row_count,
            "partitions": [facts.entry_json(p) for p in e.partitions],
            **pending,
            **({"unfinished_runs": unfinished} if unfinished else {}),
            **({"killed_runs": e.killed_runs} if e.killed_runs else {}),
            "manifest_name": e.manifest_name,
            **e.extra,
        }
    )


def decode_export(data: bytes) -> ExportFile:
    """Read an export file.

    Raises:
        UnknownVersion: It is of another major version.
        DecodeError: It is no export file; the message names the key, what was seen and what was expected.
    """
    fields = _versioned(data, "export_version", EXPORT_VERSION, MAX_BYTES)
    return ExportFile(
        tool=fields.take("tool", text),
        export_name=fields.take("export_name", text),
        run_id=fields.take("run_id", text),
        status=fields.take("status", one_of("publishing", "complete", "partial")),
        started_at=fields.take("started_at", text),
        finished_at=fields.take("finished_at", nullable(text)),
        mode=fields.take("mode", text),
        source=fields.take("source", facts.source),
        partition=fields.take("partition", nullable(facts.export_partition)),
        span=fields.take("span", facts.span),
        schema=fields.take("schema", array_of(facts.column)),
        schema_fingerprint=fields.take("schema_fingerprint", text),
        source_rows=fields.take("source_rows", nullable(count)),
        source_null_rows=fields.take("source_null_rows", nullable(count)),
        unrepresentable_rows=fields.take("unrepresentable_rows", mapping_of(count)),
        row_count=fields.take("row_count", count),
        partitions=fields.take("partitions", array_of(facts.entry)),
        pending=fields.take_or("pending", nullable(facts.pending), None),
        unfinished_runs=fields.take_or("unfinished_runs", array_of(facts.unfinished), ()),
        killed_runs=fields.take_or("killed_runs", array_of(text), ()),
        manifest_name=fields.take_or("manifest_name", inner_path, "manifest.json"),
        extra=fields.rest(),
    )


def refuse_unreadable(data: bytes, max_bytes: int, what: str, *, hint: str) -> None:
    """Refuse to write a manifest or an export file that is too large to be read again.

    Raises:
        PlanError: It is.
    """
    try:
        check_bounds(data, max_bytes)
    except DecodeError as error:
        raise PlanError(f"{what} would not be read again: {error}", hint=hint) from error


def _dump(document: Mapping[str, object]) -> bytes:
    return (_indented(document, "\n") + "\n").encode()


def _indented(value: object, line: str) -> str:
    """Write a value as `json.dumps` does with `indent=2`, but faster: there is one for each partition.

    Args:
        line: A line break and the indentation of the line on which the value begins.
    """
    inner = line + "  "
    if isinstance(value, str):
        return encode_basestring(value)
    if value is None or isinstance(value, bool):
        return _WORDS[value]
    if isinstance(value, Mapping) and value:
        items = [f"{encode_basestring(key)}: {_indented(item, inner)}" for key, item in value.items()]
        return f"{{{inner}{f',{inner}'.join(items)}{line}}}"
    if isinstance(value, (list, tuple)) and value:
        return f"[{inner}{f',{inner}'.join([_indented(item, inner) for item in value])}{line}]"
    return json.dumps(value)


def _versioned(data: bytes, key: str, known: int, max_bytes: int) -> Fields:
    fields = Fields(parse(data, max_bytes), "$")
    version = fields.take(key, count)
    if version != known:
        raise UnknownVersion(f"$.{key} is {version}, and this version of Rivet knows {known}")
    return fields
