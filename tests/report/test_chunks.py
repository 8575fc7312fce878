"""Chunks of a plan, as JSON and as text."""

from __future__ import annotations

from dataclasses import replace

from rivet.outcome import PlannedPartition
from rivet.plan.chunks import ChunkNulls, ChunkPage, ChunkRange, Line
from rivet.plan.scans import Reach, Scan
from rivet.plan.schema import Column, ColumnType, Kind
from rivet.report.planned import plan_lines
from rivet.report.planned_document import planned_export
from tests.report.outcomes import PLAN

ID = Column("id", ColumnType(Kind.UINT64), "bigint unsigned")
DAY = Column("day", ColumnType(Kind.DATE), "date")
WHOLE = Scan(Reach.EVERYTHING, expected_rows=5)
CUT = replace(
    PLAN,
    sort_bytes=0,
    partitions=(PlannedPartition("2023-01-01", "d=2023-01-01", 12_345, 1234),),
    scans=tuple(
        replace(WHOLE, chunk=chunk)
        for chunk in (
            ChunkRange(Line(ID), 2**64 - 2, 2**64),
            ChunkRange(Line(DAY), 0, 31),
            ChunkPage((DAY, ID), 5),
            ChunkNulls((ID,)),
        )
    ),
)


def test_a_chunk_says_what_it_is_cut_by() -> None:
    """The bounds of a range are closed, as its column has them, also where none lies beyond."""
    scans = planned_export(CUT)["scans"]

    assert isinstance(scans, list)
    assert [scan["chunk"] for scan in scans] == [
        {
            "kind": "range",
            "columns": ["id"],
            "minimum": "18446744073709551614",
            "maximum": "18446744073709551615",
        },
        {"kind": "range", "columns": ["day"], "minimum": "1970-01-01", "maximum": "1970-01-31"},
        {"kind": "page", "columns": ["day", "id"]},
        {"kind": "nulls", "columns": ["id"]},
    ]


def test_a_plan_shows_the_chunks_of_each_partition() -> None:
    """They stand beside the rows, and their sum is what the source is asked."""
    lines = plan_lines(CUT)

    assert any(line.split() == ["read", "in", "4", "chunks"] for line in lines)
    (header,) = [line for line in lines if "expected rows" in line]
    assert header.split()[-2:] == ["chunks", "path"]
    assert lines[lines.index(header) + 1].split() == ["2023-01-01", "12,345", "1,234", "d=2023-01-01"]
