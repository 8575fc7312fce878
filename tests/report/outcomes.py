"""Outcomes to render, as runs, plans and validation make them."""

from __future__ import annotations

from rivet.manifest.verdict import Finding, Level, Verdict
from rivet.manifest.verify_source import Comparison, Difference
from rivet.outcome import ExportOutcome, PlannedPartition, PlanOutcome, RunOutcome
from rivet.plan.scans import Reach, Scan
from rivet.plan.schema import Column, ColumnType, Kind

COMPLETE = ExportOutcome(
    name="events",
    status="complete",
    exit_code=0,
    destination="/out/events/",
    rows=3_000_000,
    null_rows=1234,
    unrepresentable_rows={"created_at": 34, "näme\n": 1},
    partitions=366,
    partitions_written=12,
    partitions_unchanged=353,
    partitions_removed=2,
    partitions_kept=1,
    bytes_written=161_234_567,
    scans=1,
    consistency="snapshot",
    duration_seconds=4.0611,
)
FAILED = ExportOutcome(
    name="orders",
    status="failed",
    exit_code=3,
    destination="/out/orders/",
    duration_seconds=0.5,
    error="connection to 'db:5432' was reset",
    hint="try the same command again",
)
SKIPPED = ExportOutcome(name="users", status="skipped", exit_code=0, destination="/out/users/")

VERDICT = Verdict(
    prefix="/out/events/",
    depth="full",
    partitions=2,
    parts=3,
    rows=10,
    size_bytes=2000,
    findings=(
        Finding(Level.NOTE, "unlisted_file", "notes.txt", "not listed"),
        Finding(Level.ERROR, "part_missing", "d=2023-01-01/a.parquet", "listed, and not there"),
    ),
)

COMPARISON = Comparison(
    source="shop at db:5432",
    started_at="2023-01-02T03:04:05.000000Z",
    counted_at="2023-01-02T09:00:00.123456Z",
    partitions=60,
    tree_rows=200_401,
    source_rows=201_202,
    differences=(
        Difference(
            Level.NOTE,
            "source_vanished",
            "2022-12-31",
            "day=2022-12-31",
            tree_rows=400,
            source_rows=0,
            started_at="2023-01-01T03:04:05.000000Z",
            message="kept",
        ),
        Difference(
            Level.ERROR,
            "source_differs",
            "2023-01-01",
            "day=2023-01-01",
            tree_rows=3301,
            source_rows=3300,
            started_at="2023-01-02T03:04:05.000001Z",
            message="differs",
        ),
        Difference(
            Level.ERROR,
            "source_not_exported",
            "__HIVE_DEFAULT_PARTITION__",
            "day=__HIVE_DEFAULT_PARTITION__",
            tree_rows=None,
            source_rows=1200,
            started_at=None,
            message="missing",
        ),
        Difference(
            Level.ERROR,
            "source_unrepresentable",
            None,
            "",
            tree_rows=None,
            source_rows=2,
            started_at=None,
            message="odd",
        ),
    ),
)

PLAN = PlanOutcome(
    name="events",
    destination="/out/events/",
    source="shop at db:5432",
    engine="postgres",
    consistency="snapshot",
    columns=(
        Column("id", ColumnType(Kind.INT64), "bigint"),
        Column("price", ColumnType(Kind.DECIMAL, 12, 2), "numeric(12,2)"),
        Column("created_at", ColumnType(Kind.INSTANT), "timestamp with time zone"),
    ),
    partition_column="created_at",
    partition_key="day",
    granularity="day",
    timezone="UTC",
    primary_key=("id",),
    rows=1005,
    null_rows=5,
    unrepresentable_rows={"price": 2},
    minimum="2023-01-01T00:00:00.000000Z",
    maximum="2023-01-02T23:59:59.999999Z",
    partitions=(
        PlannedPartition("2023-01-01", "day=2023-01-01", 400),
        PlannedPartition("2023-01-02", "day=2023-01-02", 600),
        PlannedPartition("__HIVE_DEFAULT_PARTITION__", "day=__HIVE_DEFAULT_PARTITION__", 5),
    ),
    scans=(Scan(Reach.RANGE, 0, 86_400_000_000, 1000), Scan(Reach.NULLS, expected_rows=5)),
    sort_bytes=5_000_000,
    warnings=("no index leads with 'created_at'",),
)


def run_of(*exports: ExportOutcome, cause: BaseException | None = None) -> RunOutcome:
    """Make the outcome of a run with these exports."""
    return RunOutcome(
        run_id="20230102T030405Z-0123abcd",
        started_at="2023-01-02T03:04:05.000000Z",
        finished_at="2023-01-02T03:04:09.000000Z",
        exports=exports,
        cause=cause,
    )
