"""A manifest and an export file that other tests damage."""

from __future__ import annotations

from rivet.manifest.model import (
    ExportFile,
    ExportPartitionFacts,
    Manifest,
    Part,
    PartitionEntry,
    PartitionFacts,
    Pending,
    PendingPartition,
    SourceFacts,
)

MANIFEST = Manifest(
    tool="rivet 0.1.0",
    run_id="20230102T030405Z-0123abcd",
    export_name="événements",
    mode="full",
    started_at="2023-01-02T03:04:05.000000Z",
    finished_at="2023-01-02T03:04:06.000000Z",
    source=SourceFacts("postgres", "snapshot", table="public.events"),
    partition=PartitionFacts(
        column="created_at",
        key="created_at",
        value="2023-01-01",
        granularity="day",
        timezone="UTC",
        start="2023-01-01T00:00:00.000000Z",
        end="2023-01-02T00:00:00.000000Z",
        is_null=False,
        value_format="YYYY-MM-DD",
        reader_type="date",
    ),
    destination={"kind": "local", "uri": "file:///data/events/"},
    format="parquet",
    compression="zstd",
    schema=(
        {"name": "id", "type": "int64", "nullable": True, "source_type": "bigint"},
        {"name": "created_at", "type": "timestamp[us, UTC]", "nullable": True, "source_type": "timestamptz"},
    ),
    schema_fingerprint="sha256:" + "0" * 64,
    row_count=2,
    size_bytes=1234,
    parts=(
        Part(
            part_id=0,
            path="events__2023-01-01_20230102T030405Z-0123abcd_00000.parquet",
            row_count=2,
            size_bytes=1234,
            sha256="a" * 64,
            minimum="2023-01-01T00:00:00.000000Z",
            maximum="2023-01-01T23:59:59.999999Z",
        ),
    ),
    unrepresentable_rows={},
)

EXPORT = ExportFile(
    tool="rivet 0.1.0",
    export_name="events",
    run_id="20230102T030405Z-0123abcd",
    status="publishing",
    started_at="2023-01-02T03:04:05.000000Z",
    finished_at=None,
    mode="full",
    source=SourceFacts("sqlite", "statement", query_sha256="b" * 64),
    partition=ExportPartitionFacts("created_at", "created_at", "day", "UTC", "{partition}"),
    span={"minimum": "2023-01-01T00:00:00.000000Z", "maximum": None},
    schema=MANIFEST.schema,
    schema_fingerprint=MANIFEST.schema_fingerprint,
    source_rows=2,
    source_null_rows=0,
    unrepresentable_rows={"created_at": 1},
    row_count=2,
    partitions=(
        PartitionEntry(
            value="2023-01-01",
            path="created_at=2023-01-01",
            state="live",
            run_id="20230102T030405Z-0123abcd",
            consistency="snapshot",
            row_count=2,
            size_bytes=1234,
            manifest_sha256="sha256:" + "c" * 64,
        ),
    ),
    pending=Pending(
        "20230103T030405Z-0123abcd",
        (
            PendingPartition(
                "__HIVE_DEFAULT_PARTITION__",
                "created_at=__HIVE_DEFAULT_PARTITION__",
                None,
                "sha256:" + "d" * 64,
            ),
        ),
    ),
)
