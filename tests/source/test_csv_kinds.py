"""CSV text of lists and other kinds that the CSV reader does not know, and of types asked for by name."""

from __future__ import annotations

import json
import uuid
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal

import pytest

from rivet.errors import ColumnError
from rivet.plan.schema import Column, ColumnType, Fidelity, Kind
from rivet.source.arrow import arrow_schema
from rivet.source.csv import CsvDecoder

UUIDS = [uuid.UUID(int=0), uuid.UUID("a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"), uuid.UUID(int=2**128 - 1)]


def decode(cells: Sequence[Sequence[str | None]], *columns: Column, quote: str = '"') -> list[list[object]]:
    """Decode rows of cells, and list the values of each column."""
    lines = [
        ",".join("" if c is None else f"{quote}{c.replace(quote, quote * 2)}{quote}" for c in row)
        for row in cells
    ]
    batch = CsvDecoder(columns, quote=quote).decode(("\n".join(lines) + "\n").encode())
    batch.validate(full=True)
    assert batch.schema.equals(arrow_schema(columns), check_metadata=True)
    return [column.to_pylist() for column in batch.columns]


def column(kind: Kind, *, element: ColumnType | None = None, lossy: bool = False, scale: int = 0) -> Column:
    """Make a column."""
    precision = 12 if kind is Kind.DECIMAL else 0
    fidelity = Fidelity.LOSSY if lossy else Fidelity.EXACT
    return Column("näme", ColumnType(kind, precision, scale, element), "some type", fidelity)


ELEMENTS: dict[ColumnType, dict[str, object]] = {
    ColumnType(Kind.BOOL): {"t": True, "f": False},
    ColumnType(Kind.INT16): {"-32768": -32768, "32767": 32767},
    ColumnType(Kind.FLOAT32): {"0.1": 0.10000000149011612, "-Infinity": float("-inf")},
    ColumnType(Kind.FLOAT64): {"0.1": 0.1, "1e+300": 1e300},
    ColumnType(Kind.DECIMAL, 12, 2): {"9999999999.99": Decimal("9999999999.99"), "-0.01": Decimal("-0.01")},
    ColumnType(Kind.STRING): {"": "", 'a"b,\\\n': 'a"b,\\\n', "NULL": "NULL", "é😀": "é😀"},
    ColumnType(Kind.BINARY): {"\\x": b"", "\\x00ff": b"\x00\xff"},
    ColumnType(Kind.DATE): {"0001-01-01": date(1, 1, 1)},
    ColumnType(Kind.TIME): {"23:59:59.999999": time(23, 59, 59, 999999)},
    ColumnType(Kind.TIMESTAMP): {"2023-01-01 12:00:00.5": datetime(2023, 1, 1, 12, 0, 0, 500_000)},
    ColumnType(Kind.INSTANT): {"2023-01-01 12:00:00+00": datetime(2023, 1, 1, 12, tzinfo=UTC)},
    ColumnType(Kind.UUID): {str(u): u for u in UUIDS},
    ColumnType(Kind.JSON): {'{"a": null}': '{"a": null}'},
}


@pytest.mark.parametrize("element", ELEMENTS, ids=str)
def test_lists_of_every_element_arrive(element: ColumnType) -> None:
    """Lists of each type arrive with their NULLs; empty, NULL and a list that holds NULL are three things."""
    held = ELEMENTS[element]
    texts: list[list[str | None] | None] = [[*held, None], [], None, [None], [None, *held]]
    values = [[*held.values(), None], [], None, [None], [None, *held.values()]]
    rows: list[list[str | None]] = [[None if t is None else json.dumps(t), "x"] for t in texts]

    for quote in ('"', "\x14"):
        arrived = decode(rows, column(Kind.LIST, element=element), column(Kind.STRING), quote=quote)
        assert arrived[0] == values
    assert decode([[None]] * 2, column(Kind.LIST, element=element)) == [[None, None]]
    assert decode([["[]"]] * 2, column(Kind.LIST, element=element)) == [[[], []]]


def test_arrays_of_more_dimensions_are_told_as_such() -> None:
    """A list type may hold arrays of more dimensions at the source; they are refused in its words."""
    with pytest.raises(
        ColumnError, match=r"'näme' .* as list<int32>: a value is not a list of one dimension"
    ):
        decode([['[["1"],["2"]]']], column(Kind.LIST, element=ColumnType(Kind.INT32)))


def test_uuids_durations_and_json_arrive() -> None:
    """Each has its own Arrow type, and NULL among the values."""
    rows: list[list[str | None]] = [
        [str(UUIDS[1]), "-838:59:59", '{"a": "é"}'],
        [None, None, None],
        [str(UUIDS[2]), "00:00:00.000001", "null"],
    ]
    arrived = decode(rows, column(Kind.UUID), column(Kind.DURATION), column(Kind.JSON))

    assert arrived == [
        [UUIDS[1], None, UUIDS[2]],
        [-timedelta(hours=838, minutes=59, seconds=59), None, timedelta(microseconds=1)],
        ['{"a": "é"}', None, "null"],
    ]


@pytest.mark.parametrize(
    ("wanted", "text"),
    [
        (column(Kind.LIST, element=ColumnType(Kind.INT32)), '["1","a"]'),
        (column(Kind.LIST, element=ColumnType(Kind.DATE)), '["infinity"]'),
        (column(Kind.LIST, element=ColumnType(Kind.TIME)), '["24:00:00"]'),
        (column(Kind.LIST, element=ColumnType(Kind.STRING)), "{1,2}"),
        (column(Kind.UUID), "a0eebc99"),
        (column(Kind.DURATION), "1 day"),
        (column(Kind.JSON, lossy=True), "{'a': 1}"),
        (column(Kind.BOOL, lossy=True), "2"),
        (column(Kind.INT8, lossy=True), "0xff"),
        (column(Kind.INT64, lossy=True), "1.5"),
        (column(Kind.FLOAT64, lossy=True), "9007199254740993"),
        (column(Kind.FLOAT32, lossy=True), "16777217"),
        (column(Kind.DECIMAL, scale=2, lossy=True), "1.234"),
        (column(Kind.DECIMAL, scale=2), "1.234"),
        (column(Kind.DATE, lossy=True), "0000-01-01"),
        (column(Kind.TIME), "24:00:00"),
        (column(Kind.TIME, lossy=True), "24:00:00"),
        (column(Kind.TIMESTAMP, lossy=True), "2023-01-01 12:00:00+02"),
        (column(Kind.INSTANT, lossy=True), "2023-01-01 12:00:00"),
        (column(Kind.INSTANT, lossy=True), "9999-12-31 23:59:59-01"),
        (column(Kind.FLOAT64, lossy=True), ""),
    ],
    ids=lambda v: str(v.type) if isinstance(v, Column) else v,
)
def test_a_value_that_does_not_fit_names_its_column(wanted: Column, text: str) -> None:
    """The error names the column, its source type and the type asked for, and says how to mend it."""
    with pytest.raises(ColumnError, match=r"column 'näme' \(some type\) cannot be exported as ") as caught:
        decode([["x", text]], column(Kind.STRING), wanted)
    assert str(wanted.type) in str(caught.value)
    assert "`columns`" in (caught.value.hint or "")


@pytest.mark.parametrize(
    ("wanted", "text", "mend"),
    [
        (column(Kind.DECIMAL, scale=2, lossy=True), "1.234", "write another precision and scale"),
        (column(Kind.DECIMAL, scale=2, lossy=True), "one", "take the type out of `columns`"),
        (column(Kind.INT64, lossy=True), "1.5", "take the type out of `columns`"),
        (column(Kind.TIME), "24:00:00", "give it the type string"),
    ],
    ids=lambda v: str(v.type) if isinstance(v, Column) else v,
)
def test_the_mend_of_a_type_asked_for(wanted: Column, text: str, mend: str) -> None:
    """A type that the config asks for can be taken out of it, or made wider; another cannot."""
    with pytest.raises(ColumnError) as caught:
        decode([[text]], wanted)

    assert (caught.value.hint or "").startswith(mend)


def test_types_asked_for_by_name_arrive() -> None:
    """Text that holds numbers, dates and JSON arrives as those."""
    rows: list[list[str | None]] = [
        ["12.50", "0.1", " 7 ", "1", "2023-01-01T00:00:00.1234560Z", "[1, 2]"],
        [None] * 6,
    ]
    kinds = (Kind.DECIMAL, Kind.FLOAT64, Kind.INT32, Kind.BOOL, Kind.INSTANT, Kind.JSON)
    arrived = decode(rows, *(column(k, lossy=True, scale=2) for k in kinds))

    moment = datetime(2023, 1, 1, 0, 0, 0, 123456, tzinfo=UTC)
    assert [values[0] for values in arrived] == [Decimal("12.50"), 0.1, 7, True, moment, "[1, 2]"]
    assert [values[1] for values in arrived] == [None] * 6


def test_long_lists_arrive() -> None:
    """One long list, and one long text in a list, decode like any other."""
    many = [str(i) for i in range(400_000)]
    long = ['"' * (10 << 20), None]
    rows: list[list[str | None]] = [[json.dumps(many), json.dumps(long)], ["[]", None]]
    lists = decode(
        rows,
        column(Kind.LIST, element=ColumnType(Kind.INT32)),
        column(Kind.LIST, element=ColumnType(Kind.STRING)),
    )

    assert lists == [[list(range(400_000)), []], [long, None]]
