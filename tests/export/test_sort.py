"""Sorting a scan on this side."""

from __future__ import annotations

import io
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rivet.errors import SourceUnavailable, SpillUnavailable
from rivet.export import sort, sorter, temporary
from rivet.export.order import Order
from rivet.export.sort import SortedBatches

Row = tuple[int, int | None]

TYPES = [pa.date32(), pa.timestamp("us"), pa.timestamp("us", tz="UTC")]


@dataclass(slots=True)
class Scan:
    """Batches in the order given, then an error if there is one; an endless scan waits until it is left."""

    batches: Sequence[pa.RecordBatch]
    error: Exception | None = None
    is_endless: bool = False
    left: threading.Event | None = None
    server_rows: int = 0

    def __enter__(self) -> Self:
        self.left = threading.Event()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        assert self.left is not None
        self.left.set()

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        yield from self.batches
        if self.is_endless:
            assert self.left is not None
            self.left.wait()
        if self.error is not None:
            raise self.error
        self.server_rows = sum(b.num_rows for b in self.batches)


@dataclass(frozen=True, slots=True)
class Sizes:
    """How small runs, pieces and rounds are made, so that few rows do what many would."""

    run: int
    piece: int
    round: int
    memory: int


SIZES = [
    Sizes(400, 60, 200, 0),
    Sizes(2000, 100, 500, 700),
    Sizes(300, 300, 100, 0),
    Sizes(10**6, 99, 10**6, 0),
]


@pytest.fixture(params=SIZES, ids=["rounds", "half in memory", "runs of one piece", "one run"])
def sizes(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Sizes:
    """Make the sorter work in small steps."""
    chosen: Sizes = request.param
    monkeypatch.setattr(sorter, "RUN_BYTES", chosen.run)
    monkeypatch.setattr(sorter, "_LEAST_RUN_BYTES", chosen.run // 2)
    monkeypatch.setattr(sorter, "MEMORY_BYTES", chosen.memory)
    monkeypatch.setattr(sorter, "_PIECE_BYTES", chosen.piece)
    monkeypatch.setattr(sorter, "_LEAST_PIECE_BYTES", chosen.piece)
    monkeypatch.setattr(sorter, "_ROUND_BYTES", chosen.round)
    return chosen


def batches_of(rows: Sequence[Row], kind: pa.DataType, size: int) -> list[pa.RecordBatch]:
    """Cut rows into batches; the names of two columns are one, as those of a marker and its column are."""
    raw = pa.int32() if kind == pa.date32() else pa.int64()
    made = []
    for start in range(0, len(rows), size):
        some = rows[start : start + size]
        columns = [
            pa.array([n for n, _ in some], pa.int64()),
            pa.array([at for _, at in some], raw).cast(kind),
            pa.array([f"row {n}" if n % 3 else None for n, _ in some], pa.string()),
            pa.array([at is None for _, at in some]),
        ]
        made.append(pa.RecordBatch.from_arrays(columns, ["id", ".at", "text", ".at"]))
    return made


def sorted_rows(batches: Sequence[pa.RecordBatch], ties: tuple[str, ...] = ()) -> list[Row]:
    """Sort batches, and give the rows in the order in which they come out."""
    if not batches:
        return []
    raw = pa.int32() if batches[0].schema.field(1).type == pa.date32() else pa.int64()
    rows: list[Row] = []
    with SortedBatches(Scan(batches), Order(".at", ties)) as scan:
        for batch in scan:
            assert batch.schema.equals(batches[0].schema)
            ids, at = batch.column(0).to_pylist(), batch.column(1).cast(raw).to_pylist()
            assert batch.column(2).to_pylist() == [f"row {n}" if n % 3 else None for n in ids]
            assert batch.column(3).to_pylist() == [value is None for value in at]
            rows += zip(ids, at, strict=True)
        assert scan.server_rows == len(rows)
    return rows


def by_time(row: Row) -> tuple[bool, int]:
    """Order by the time alone, NULL last."""
    return row[1] is None, row[1] or 0


@pytest.mark.usefixtures("sizes")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    st.sampled_from(TYPES),
    st.lists(st.none() | st.integers(-3, 3) | st.integers(-700_000, 2_900_000), max_size=120),
    st.integers(1, 40),
)
def test_rows_come_out_in_order_each_once(kind: pa.DataType, values: list[int | None], size: int) -> None:
    """Whatever the values and the batches, every row comes out once, ordered by the column, NULL last."""
    rows = list(enumerate(values))
    out = sorted_rows(batches_of(rows, kind, size))
    assert sorted(out, key=lambda row: row[0]) == rows
    assert [by_time(row) for row in out] == sorted(by_time(row) for row in rows)


def test_rows_of_one_time_come_by_the_primary_key() -> None:
    """In whatever order rows came, those of one time come by the key: the same rows give the same files."""
    rows = [(n, n % 5) for n in range(1000)]
    expected = sorted(rows, key=lambda row: (by_time(row), row[0]))
    assert sorted_rows(batches_of(rows, TYPES[1], 90), ties=("id",)) == expected
    assert sorted_rows(batches_of(rows[::-1], TYPES[1], 70), ties=("id",)) == expected


@pytest.mark.usefixtures("sizes")
def test_more_rows_of_one_time_than_fit_keep_the_order_in_which_they_came() -> None:
    """Where all rows have one time, or none has, they pass in pieces, in the order in which they came."""
    for value in (7, None):
        rows: list[Row] = [(n * 37 % 1000, value) for n in range(1000)]
        assert sorted_rows(batches_of(rows, TYPES[1], 13)) == rows


class Made(Scan):
    """Batches that are made while they are read; `held` is what Arrow held of them meanwhile."""

    def __init__(self, count: int, make: Callable[[int], pa.RecordBatch]) -> None:
        super().__init__(())
        self._made = (make(number) for number in range(count))
        self._before = pa.total_allocated_bytes()
        self.held = 0

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        for batch in self._made:
            self.note()
            yield batch

    def note(self) -> None:
        """Look how much is held."""
        self.held = max(self.held, pa.total_allocated_bytes() - self._before)


MIB = 1024**2


def large_row(number: int) -> pa.RecordBatch:
    """Give one row of 8 MiB."""
    return pa.record_batch({".at": pa.array([number * 7 % 20], TYPES[1]), "text": ["x" * 8 * MIB]})


def many_rows(number: int) -> pa.RecordBatch:
    """Give rows of 2 MiB all together, in an order that no other batch has."""
    at = [(place * 7919 + number * 104_729) % 2**16 for place in range(2**14)]
    return pa.record_batch({".at": pa.array(at, TYPES[1]), "text": pa.array(["x" * 116] * 2**14)})


@pytest.mark.parametrize(
    ("make", "batches", "most"), [(large_row, 20, 4 * 8 * MIB), (many_rows, 100, 56 * MIB)]
)
def test_memory_holds_a_part_of_the_rows(
    monkeypatch: pytest.MonkeyPatch, make: Callable[[int], pa.RecordBatch], batches: int, most: int
) -> None:
    """Rows larger than a run pass one by one, and of many rows as many as three runs have, or a round."""
    monkeypatch.setattr(sorter, "MEMORY_BYTES", 0)
    made = Made(batches, make)
    last = 0
    with SortedBatches(made, Order(".at")) as scan:
        for batch in scan:
            made.note()
            assert batch.column(0)[0].value >= last
            last = batch.column(0)[-1].value
    assert last == (19 if make is large_row else 2**16 - 1)
    assert 0 < made.held < most


def test_what_fails_in_the_scan_fails_in_who_reads() -> None:
    """An error of the scan comes out as it is, and no row does."""
    batches = batches_of([(1, 1), (2, 2)], TYPES[1], 1)
    with (
        SortedBatches(Scan(batches, SourceUnavailable("gone")), Order(".at")) as scan,
        pytest.raises(SourceUnavailable, match="gone"),
    ):
        next(iter(scan))


def test_a_scan_under_way_can_be_left() -> None:
    """Leaving ends the scan and the thread that reads it, however much is still to come."""
    with SortedBatches(Scan(batches_of([(1, 1)], TYPES[1], 1), is_endless=True), Order(".at")):
        pass
    assert not [t for t in threading.enumerate() if t.name == "rivet-sort"]


def test_a_scan_that_does_not_hear_does_not_hold_up_the_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver's call that nothing interrupts is waited for a while, and then left to itself."""
    monkeypatch.setattr(sort, "_GRACE_SECONDS", 0.01)
    heard = threading.Event()

    class Deaf(Scan):
        def __iter__(self) -> Iterator[pa.RecordBatch]:
            yield from self.batches
            heard.wait()

    with SortedBatches(Deaf(batches_of([(1, 1)], TYPES[1], 1)), Order(".at")):
        pass
    (thread,) = (t for t in threading.enumerate() if t.name == "rivet-sort")
    assert thread.daemon
    heard.set()
    thread.join()


def test_a_file_may_take_and_give_less_than_it_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Systems move no more than 2 GiB at once, and one row may be larger."""
    monkeypatch.setattr(sorter, "MEMORY_BYTES", 0)

    class Slow(io.BytesIO):
        def write(self, data: Any) -> int:
            return super().write(data[:1000])

        def readinto(self, buffer: Any) -> int:
            return super().readinto(buffer[:700])

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Slow())
    rows = [(n, -n) for n in range(500)]
    assert sorted_rows(batches_of(rows, TYPES[1], 50)) == rows[::-1]


def test_no_directory_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where no directory can be written to, the error says so, and `auto` sees no room."""
    monkeypatch.setattr(sorter, "MEMORY_BYTES", 0)
    monkeypatch.setenv("TMPDIR", "/nowhere")

    def none() -> str:
        raise FileNotFoundError(2, "No usable temporary directory found in ['/nowhere']")

    monkeypatch.setattr(tempfile, "gettempdir", none)
    with (
        SortedBatches(Scan(batches_of([(1, 1)], TYPES[1], 1)), Order(".at")) as scan,
        pytest.raises(SpillUnavailable, match=r"No usable temporary directory found in \['/nowhere'\]"),
    ):
        next(iter(scan))
    assert temporary.free_bytes() == 0


def test_no_room_for_temporary_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where temporary files find no room, the error names the place and the mends."""
    monkeypatch.setattr(sorter, "MEMORY_BYTES", 0)

    class Full:
        def write(self, _data: object) -> int:
            raise OSError(28, "No space left on device")

        def close(self) -> None: ...

    monkeypatch.setattr(tempfile, "TemporaryFile", lambda **_: Full())
    with SortedBatches(Scan(batches_of([(1, 1)], TYPES[1], 1)), Order(".at")) as scan:
        with pytest.raises(SpillUnavailable, match="No space left") as caught:
            next(iter(scan))
        assert caught.value.exit_code == 3
        assert caught.value.hint is not None
        assert "TMPDIR" in caught.value.hint


def test_rows_that_mostly_come_in_order_leave_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stretches in order pass as they came; one that begins below the last, and NULL, find their place."""
    monkeypatch.setattr(sorter, "_LEAST_RUN_BYTES", 1)
    monkeypatch.setattr(sorter, "_PIECE_BYTES", 1)
    monkeypatch.setattr(sorter, "_LEAST_PIECE_BYTES", 1)
    stretch: list[Row] = [(n, n) for n in range(100)]

    rows = sorted_rows(batches_of([*stretch, *stretch[50:], (7, None), *stretch[:20]], TYPES[1], 10))

    assert [value for _, value in rows] == [*sorted([*range(100), *range(50, 100), *range(20)]), None]
