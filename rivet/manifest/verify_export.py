"""Verifies a root: the export file against itself, and each partition against the export file.

Pure: observations are handed in, findings come out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping

from rivet.manifest.model import ExportFile, Manifest, PartitionEntry, PendingPartition
from rivet.manifest.verdict import Code, Finding
from rivet.manifest.verify import error, note, shown
from rivet.wording import counted

# Enough to tell which partitions share a schema.
_SHOWN_FINGERPRINT = len("sha256:") + 8


def verify_export(
    export: ExportFile, path: str, *, schema_fingerprint: str, null_value: str
) -> Iterator[Finding]:
    """Find where an export file contradicts itself or tells of an export that is not complete.

    Args:
        path: The export file's own.
        schema_fingerprint: Of the schema that the export file holds.
        null_value: The value of the NULL partition.
    """
    if export.status == "partial":
        message = "the export is partial: its last run did not reach its end, and rows may be missing or old"
        yield error(Code.EXPORT_PARTIAL, path, message)
    if export.pending is not None:
        message = (
            f"run {shown(export.pending.run_id)} has begun and not ended; the next run finishes or undoes it"
        )
        yield note(Code.EXPORT_UNFINISHED, path, message)
    elif export.status == "publishing":
        yield error(Code.EXPORT_INCONSISTENT, path, "status is 'publishing', and no run is pending")
    if export.schema_fingerprint != schema_fingerprint:
        message = f"schema_fingerprint is {shown(export.schema_fingerprint)}, expected {schema_fingerprint!r}"
        yield error(Code.EXPORT_INCONSISTENT, path, message)
    yield from _verify_distinct(export, path)
    yield from _verify_totals(export, path, null_value)


def verify_unrepresentable(export: ExportFile, seen: Mapping[str, int], path: str) -> Iterator[Finding]:
    """Find whether the manifests of the live partitions add up to what the export file counts, by column.

    Args:
        seen: What they add up to; all of them could be read.
        path: The export file's own.
    """
    for name in {**export.unrepresentable_rows, **seen}:
        expected, rows = export.unrepresentable_rows.get(name, 0), seen.get(name, 0)
        if rows != expected:
            message = (
                f"the live partitions have {counted(rows, 'row')} with an unrepresentable value in "
                f"{shown(name)}, and unrepresentable_rows is {expected:,}"
            )
            yield error(Code.TOTALS_DIFFER, path, message)


def verify_entry(
    export: ExportFile,
    entry: PartitionEntry | None,
    pending: PendingPartition | None,
    path: str,
    *,
    manifest: Manifest,
    manifest_sha256: str,
) -> Iterator[Finding]:
    """Find what differs between a partition's manifest and what the export file says of it.

    Args:
        entry: How the export file lists it; None where a run has only announced it.
        pending: What a run that has not ended was about to make of it, or None.
        path: The partition's own.
    """
    if entry is not None and entry.state == "failed":
        yield _failed(export, path)
    if pending is not None:
        yield _unfinished(export, path, "new" if manifest_sha256 == pending.new_sha256 else "old")
    known = {digest for digest in _digests(entry, pending) if digest is not None}
    if manifest_sha256 not in known:
        message = f"the manifest is {manifest_sha256}, and the export file has {' or '.join(sorted(known))}"
        yield error(Code.PARTITION_CHANGED, path, message)
    yield from _verify_origin(export, manifest, path)
    if entry is not None and manifest_sha256 == entry.manifest_sha256:
        yield from _verify_agreement(export, entry, manifest, path)


def verify_absent(
    export: ExportFile,
    entry: PartitionEntry | None,
    pending: PendingPartition | None,
    path: str,
    *,
    files: int,
) -> Iterator[Finding]:
    """Find whether a partition that has no manifest should have one.

    Args:
        files: How many files stand in it all the same.
    """
    if pending is not None and None in (pending.old_sha256, pending.new_sha256):
        yield _unfinished(export, path, "old" if pending.old_sha256 is None else "new")
    elif entry is not None and entry.state == "failed" and not entry.manifest_sha256:
        yield _failed(export, path)
    elif files:
        message = f"{export.manifest_name!r} is not there, beside {counted(files, 'file')}"
        yield error(Code.MANIFEST_MISSING, path, message)
    else:
        rows = "" if entry is None else f" with {counted(entry.row_count, 'row')}"
        yield error(Code.PARTITION_MISSING, path, f"the partition{rows} is not there")


def _digests(entry: PartitionEntry | None, pending: PendingPartition | None) -> tuple[str | None, ...]:
    listed = () if entry is None else (entry.manifest_sha256,)
    return listed if pending is None else (*listed, pending.old_sha256, pending.new_sha256)


def _unfinished(export: ExportFile, path: str, state: str) -> Finding:
    run_id = export.pending.run_id if export.pending is not None else export.run_id
    message = (
        f"run {shown(run_id)} was about to publish it and has not ended; its manifest is the {state} one"
    )
    return note(Code.PARTITION_UNFINISHED, path, message)


def _failed(export: ExportFile, path: str) -> Finding:
    message = f"run {shown(export.run_id)} could not publish it; its rows are missing or old"
    return error(Code.PARTITION_FAILED, path, message)


def _verify_origin(export: ExportFile, manifest: Manifest, path: str) -> Iterator[Finding]:
    m, e = manifest.partition, export.partition
    pairs: list[tuple[str, object, object]] = [
        ("export_name", manifest.export_name, export.export_name),
        ("column", m and m.column, e and e.column),
        ("key", m and m.key, e and e.key),
        ("granularity", m and m.granularity, e and e.granularity),
        ("timezone", m and m.timezone, e and e.timezone),
    ]
    for what, seen, expected in pairs:
        if seen != expected:
            message = f"{what} of the manifest is {shown(seen)}, and the export file has {shown(expected)}"
            yield error(Code.PARTITION_FOREIGN, path, message)


def _verify_agreement(
    export: ExportFile, entry: PartitionEntry, manifest: Manifest, path: str
) -> Iterator[Finding]:
    pairs = [
        ("value", None if manifest.partition is None else manifest.partition.value, entry.value),
        ("row_count", manifest.row_count, entry.row_count),
        ("size_bytes", manifest.size_bytes, entry.size_bytes),
    ]
    for what, seen, expected in pairs:
        if seen != expected:
            message = f"{what} of the manifest is {shown(seen)}, and the export file has {shown(expected)}"
            yield error(Code.EXPORT_INCONSISTENT, path, message)
    if manifest.schema_fingerprint != export.schema_fingerprint:
        # A kept partition stays as it was by the user's own choice, though columns have changed since.
        make = note if entry.state == "kept" else error
        names = [c["name"] for c in manifest.schema]
        expected_names = [c["name"] for c in export.schema]
        what = "types" if names == expected_names else f"columns {shown(names)} for {shown(expected_names)}"
        fingerprint = manifest.schema_fingerprint[:_SHOWN_FINGERPRINT]
        message = f"the schema {shown(fingerprint)} is not that of the export: other {what}"
        yield make(Code.PARTITION_SCHEMA, path, message)


def _verify_distinct(export: ExportFile, path: str) -> Iterator[Finding]:
    for what in ("path", "value"):
        seen = Counter(getattr(entry, what) for entry in export.partitions)
        for value, times in seen.items():
            if times > 1:
                message = f"the partition of {what} {shown(value)} is listed {times} times"
                yield error(Code.EXPORT_INCONSISTENT, path, message)


def _verify_totals(export: ExportFile, path: str, null_value: str) -> Iterator[Finding]:
    rows = sum(entry.row_count for entry in export.partitions)
    if rows != export.row_count:
        message = f"row_count is {export.row_count:,}, and the partitions have {counted(rows, 'row')}"
        yield error(Code.TOTALS_DIFFER, path, message)
    if export.status != "complete":
        return  # the totals at the source are of another moment than the partitions
    live = [entry for entry in export.partitions if entry.state == "live"]
    rows = sum(entry.row_count for entry in live)
    if export.source_rows is not None and rows != export.source_rows:
        message = (
            f"the live partitions have {counted(rows, 'row')}, and the source had {export.source_rows:,}"
        )
        yield error(Code.TOTALS_DIFFER, path, message)
    if export.partition is None or export.source_null_rows is None:
        return
    # By `unrepresentable: null`, values that fit no calendar are NULL in the files, and counted apart.
    expected = export.source_null_rows + export.unrepresentable_rows.get(export.partition.column, 0)
    rows = sum(entry.row_count for entry in live if entry.value == null_value)
    if rows != expected:
        message = f"the NULL partition has {counted(rows, 'row')}, and the source had {expected:,}"
        yield error(Code.TOTALS_DIFFER, path, message)
