"""Builds small trees as a run leaves them, and damages them."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from rivet.manifest.codec import digest, encode_export, encode_manifest, success_marker
from rivet.manifest.model import (
    ExportFile,
    ExportPartitionFacts,
    Manifest,
    Part,
    PartitionEntry,
    PartitionFacts,
    SourceFacts,
)
from rivet.plan.calendar import Granularity
from rivet.plan.layout import Layout, Partition, Partitioning
from rivet.plan.names import EXPORT_FILE, SUCCESS_FILE
from rivet.plan.schema import Column, ColumnType, Kind, schema_fingerprint, schema_json
from rivet.plan.windows import NULL_VALUE, Axis

RUN_ID = "20230201T030405Z-0123abcd"
MOMENT = "2023-02-01T03:04:05.000000Z"
_TYPES = {
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us"),
    Kind.INSTANT: pa.timestamp("us", tz="UTC"),
}

Moment = datetime | date | int


def instant(text: str) -> datetime:
    """Read an ISO text as UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


@dataclass
class Builder:
    """Writes partitions of one export and at last its export file.

    Attributes:
        is_dropped: Whether the files are without the partition column.
        entries: What was written so far.
    """

    root: Path
    kind: Kind = Kind.INSTANT
    granularity: Granularity = Granularity.DAY
    zone: str = "UTC"
    template: str | None = "{partition}"
    key: str = "created_at"
    manifest_name: str = "manifest.json"
    is_dropped: bool = False
    parquet: Mapping[str, Any] = field(default_factory=dict)
    entries: list[PartitionEntry] = field(default_factory=list)

    @property
    def columns(self) -> list[Column]:
        """Give the columns of the export."""
        created_at = Column("created_at", ColumnType(self.kind), "the type")
        return [
            Column("id", ColumnType(Kind.INT64), "bigint"),
            *([] if self.is_dropped else [created_at]),
            Column("price", ColumnType(Kind.DECIMAL, 12, 2), "numeric(12,2)"),
            Column("ratio", ColumnType(Kind.FLOAT64), "double precision"),
            Column("weight", ColumnType(Kind.FLOAT32), "real"),
            Column("näme.x", ColumnType(Kind.STRING), "text"),
        ]

    @property
    def axis(self) -> Axis:
        """Give the axis of the partition column."""
        return Axis(self.kind, self.granularity, self.zone)

    @property
    def layout(self) -> Layout:
        """Give the names of the export."""
        partitioned = self.template is not None
        partitioning = Partitioning("created_at", self.key, self.axis, self.template or "")
        return Layout("events", self.manifest_name, partitioning if partitioned else None)

    def table(self, moments: Sequence[Moment | None]) -> pa.Table:
        """Make rows with these values in the partition column."""
        n = len(moments)
        return pa.table(
            {
                "id": pa.array(range(n), pa.int64()),
                "created_at": pa.array(moments, _TYPES[self.kind]),
                "price": pa.array([Decimal(i) for i in range(n)], pa.decimal128(12, 2)),
                "ratio": pa.array([i / 7 for i in range(n)], pa.float64()),
                "weight": pa.array([i / 3 for i in range(n)], pa.float32()),
                "näme.x": pa.array([f"row {i}" for i in range(n)], pa.string()),
            }
        )

    def partition(
        self,
        label: str | None,
        *parts: Sequence[Moment | None],
        run_id: str = RUN_ID,
        state: Any = "live",
        **changes: Any,
    ) -> Path:
        """Write one partition, each part with rows of these moments; None is the NULL partition.

        Args:
            changes: Fields of the manifest.
        """
        layout, axis = self.layout, self.axis
        window = None if label is None else axis.window_of_label(label)
        target = layout.partition(window)
        directory = self.root / target.path
        directory.mkdir(parents=True, exist_ok=True)
        facts = tuple(
            self._part(directory, layout.part_name(target, run_id, number), number, moments)
            for number, moments in enumerate(parts)
        )
        manifest = replace(self._manifest(target, facts, run_id), **changes)
        seal(directory, manifest, self.manifest_name)
        self.entries.append(
            PartitionEntry(
                value=None if manifest.partition is None else manifest.partition.value,
                path=target.path,
                state=state,
                run_id=run_id,
                consistency="snapshot",
                row_count=manifest.row_count,
                size_bytes=manifest.size_bytes,
                manifest_sha256=digest(encode_manifest(manifest)),
            )
        )
        return directory

    def finish(self, **changes: Any) -> Path:
        """Write the export file, with fields changed, and give the root."""
        export = replace(self.export(), **changes)
        self.root.mkdir(parents=True, exist_ok=True)
        (self.root / EXPORT_FILE).write_bytes(encode_export(export))
        return self.root

    def export(self) -> ExportFile:
        """Give the export file of what was written so far, complete."""
        entries = sorted(self.entries, key=lambda e: (e.value == NULL_VALUE, e.value or ""))
        schema = tuple(schema_json(self.columns))
        live = [e for e in entries if e.state == "live"]
        return ExportFile(
            tool="rivet-export 0",
            export_name="events",
            run_id=RUN_ID,
            status="complete",
            started_at=MOMENT,
            finished_at=MOMENT,
            mode="full",
            source=SourceFacts("postgres", "snapshot", table="public.events"),
            partition=None
            if self.template is None
            else ExportPartitionFacts(
                "created_at", self.key, self.granularity.value, self.axis.timezone, self.template
            ),
            span={"minimum": None, "maximum": None},
            schema=schema,
            schema_fingerprint=schema_fingerprint(schema),
            source_rows=sum(e.row_count for e in live),
            source_null_rows=sum(e.row_count for e in live if e.value == NULL_VALUE),
            unrepresentable_rows={},
            row_count=sum(e.row_count for e in entries),
            partitions=tuple(entries),
            manifest_name=self.manifest_name,
        )

    def _part(self, directory: Path, name: str, number: int, moments: Sequence[Moment | None]) -> Part:
        table = self.table(moments)
        buffer = io.BytesIO()
        written = table.drop_columns(["created_at"]) if self.is_dropped else table
        pq.write_table(written, buffer, **self.parquet)
        (directory / name).write_bytes(buffer.getvalue())
        integers = table.column("created_at").cast(pa.int32() if self.kind is Kind.DATE else pa.int64())
        present = [] if self.template is None else [v for v in integers.to_pylist() if v is not None]
        return Part(
            part_id=number,
            path=name,
            row_count=len(moments),
            size_bytes=len(buffer.getvalue()),
            sha256=hashlib.sha256(buffer.getvalue()).hexdigest(),
            minimum=self.axis.format(min(present)) if present else None,
            maximum=self.axis.format(max(present)) if present else None,
        )

    def _manifest(self, target: Partition, parts: tuple[Part, ...], run_id: str) -> Manifest:
        axis, window = self.axis, target.window
        schema = tuple(schema_json(self.columns))
        return Manifest(
            tool="rivet-export 0",
            run_id=run_id,
            export_name="events",
            mode="full",
            started_at=MOMENT,
            finished_at=MOMENT,
            source=SourceFacts("postgres", "snapshot", table="public.events"),
            partition=None
            if self.template is None
            else PartitionFacts(
                column="created_at",
                key=self.key,
                value=NULL_VALUE if window is None else window.label,
                granularity=self.granularity.value,
                timezone=axis.timezone,
                start=None if window is None else axis.format(window.start),
                end=None if window is None else axis.format(window.end),
                is_null=window is None,
                value_format=axis.value_format,
                reader_type=axis.reader_type,
            ),
            destination={"kind": "local", "uri": f"{self.root}/"},
            format="parquet",
            compression="snappy",
            schema=schema,
            schema_fingerprint=schema_fingerprint(schema),
            row_count=sum(p.row_count for p in parts),
            size_bytes=sum(p.size_bytes for p in parts),
            parts=parts,
            unrepresentable_rows={},
        )


FIRST = "created_at=2023-01-01"
SECOND = "created_at=2023-01-02"
NULLS = f"created_at={NULL_VALUE}"


def events(root: Path, **settings: Any) -> Builder:
    """Write two days, the first in two parts, and the NULL partition; the export file is still to come."""
    builder = Builder(root, **settings)
    builder.partition(
        "2023-01-01",
        [instant("2023-01-01"), instant("2023-01-01T12:30:00.000001")],
        [instant("2023-01-01T23:59:59.999999")],
    )
    builder.partition("2023-01-02", [instant("2023-01-02"), instant("2023-01-02T01:00")])
    builder.partition(None, [None, None, None])
    return builder


def seal(directory: Path, manifest: Manifest, manifest_name: str = "manifest.json") -> None:
    """Write a manifest and the marker that belongs to it."""
    data = encode_manifest(manifest)
    (directory / manifest_name).write_bytes(data)
    (directory / SUCCESS_FILE).write_bytes(success_marker(data))


def edit(file: Path, change: Callable[[Any], object]) -> None:
    """Change a JSON file in place, as a person with an editor would."""
    document = json.loads(file.read_bytes())
    change(document)
    file.write_text(json.dumps(document, ensure_ascii=False, indent=2) + "\n")


def reseal(root: Path, path: str, change: Callable[[Any], object]) -> None:
    """Change a partition's manifest, and make marker and export file agree with the change."""
    manifest = root / path / "manifest.json"
    edit(manifest, change)
    (root / path / SUCCESS_FILE).write_bytes(success_marker(manifest.read_bytes()))

    def agree(export: Any) -> None:
        entry = next(e for e in export["partitions"] if e["path"] == path)
        entry["manifest_sha256"] = digest(manifest.read_bytes())

    if (root / EXPORT_FILE).exists():
        edit(root / EXPORT_FILE, agree)


def parts(directory: Path) -> list[Path]:
    """List the parts of a partition, in order."""
    return sorted(directory.glob("*.parquet"))


def flip(file: Path, position: int, mask: int = 0xFF) -> None:
    """Flip bits of one byte in place."""
    data = bytearray(file.read_bytes())
    data[position] ^= mask
    file.write_bytes(data)
