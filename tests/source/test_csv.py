"""CSV text to Arrow batches: every trap of the reader, each with the value it would lose or change."""

from __future__ import annotations

import math

import pyarrow as pa
import pytest

from rivet.errors import ColumnError, SourceUnavailable
from rivet.plan.schema import Column, ColumnType, Kind
from rivet.source.arrow import arrow_schema
from rivet.source.csv import CsvDecoder

BOM = "\ufeff"


def columns(*types: Kind | ColumnType) -> list[Column]:
    """Make columns named c0, c1, … of these types."""
    return [
        Column(f"c{i}", t if isinstance(t, ColumnType) else ColumnType(t), "some type")
        for i, t in enumerate(types)
    ]


def decode(block: bytes, *types: Kind | ColumnType) -> list[list[object]]:
    """Decode a block and list its columns' values, after Arrow's own full check of the batch."""
    batch = CsvDecoder(columns(*types)).decode(block)
    batch.validate(full=True)
    assert batch.schema.equals(arrow_schema(columns(*types)), check_metadata=True)
    return [column.to_pylist() for column in batch.columns]


def test_null_empty_and_words_stay_apart() -> None:
    """NULL, empty text and words that other readers take for NULL are all kept apart."""
    block = b',1\n"",2\nNULL,3\n"NULL",4\nNaN,5\nN/A,6\nnull,7\n\\N,8\n'
    assert decode(block, Kind.STRING, Kind.INT32)[0] == [
        None,
        "",
        "NULL",
        "NULL",
        "NaN",
        "N/A",
        "null",
        "\\N",
    ]


@pytest.mark.parametrize("kind", [Kind.STRING, Kind.INT64, Kind.BOOL, Kind.DATE, Kind.BINARY])
def test_one_column_of_nulls_keeps_its_rows(kind: Kind) -> None:
    """Empty lines of a single column are NULL rows, not blank lines."""
    assert decode(b"\n\n\n", kind) == [[None, None, None]]


def test_line_breaks_inside_values_are_kept() -> None:
    """Carriage returns, newlines and doubled quotes inside quotes are part of the value."""
    assert decode(b'"a\r\nb\n","c\rd""e,"\n', Kind.STRING, Kind.STRING) == [["a\r\nb\n"], ['c\rd"e,']]


def test_byte_order_mark_is_text() -> None:
    """A byte order mark at the start of a block belongs to the first value."""
    assert decode(f"{BOM}x\ny\n".encode(), Kind.STRING) == [[f"{BOM}x", "y"]]
    assert decode(f"{BOM}\n".encode(), Kind.STRING) == [[BOM]]


def test_booleans_of_both_engines() -> None:
    """PostgreSQL's t and f and MySQL's 1 and 0 are booleans."""
    assert decode(b"t\nf\n1\n0\n\n", Kind.BOOL) == [[True, False, True, False, None]]


def test_floats_keep_what_the_text_says() -> None:
    """NaN and infinities arrive when the text says so."""
    for kind in (Kind.FLOAT32, Kind.FLOAT64):
        values = decode(b"NaN,1\nInfinity,2\n-Infinity,3\n,4\n0.1,5\n", kind, Kind.INT32)[0]
        assert math.isnan(values[0])  # type: ignore[arg-type]
        assert values[1:4] == [math.inf, -math.inf, None]
    assert decode(b"3.4028235e+38\n", Kind.FLOAT32) == [[3.4028234663852886e38]]


@pytest.mark.parametrize(("kind", "text"), [(Kind.FLOAT32, b"-1e39"), (Kind.FLOAT64, b"1e309")])
def test_float_overflow_is_an_error(kind: Kind, text: bytes) -> None:
    """A number too large for its float is refused, not made infinite."""
    with pytest.raises(ColumnError, match=f"'c1'.*{text.decode()}.*too large"):
        decode(b"a,Infinity\nb," + text + b"\n", Kind.STRING, kind)


def test_decimals_are_exact_or_refused() -> None:
    """Decimals fill all 38 digits, and one digit too many on either side is refused."""
    nines = b"9" * 38
    widest = decode(nines + b"\n-" + nines + b"\n", ColumnType(Kind.DECIMAL, 38, 0))
    assert [str(v) for v in widest[0]] == [nines.decode(), "-" + nines.decode()]
    for text in (b"1000", b"1.234", b"NaN", b"Infinity"):
        with pytest.raises(ColumnError, match="'c0'"):
            decode(text + b"\n", ColumnType(Kind.DECIMAL, 5, 2))


@pytest.mark.parametrize(
    ("kind", "first", "last", "refused"),
    [
        (Kind.DATE, "0001-01-01", "9999-12-31", ["10000-01-01", "0044-03-15 BC", "infinity", "0000-00-00"]),
        (
            Kind.TIMESTAMP,
            "0001-01-01 00:00:00",
            "9999-12-31 23:59:59.999999",
            ["10000-01-01 00:00:00", "-infinity", "2023-01-01 00:00:00+00", "2023-02-30 00:00:00"],
        ),
        (
            Kind.INSTANT,
            "0001-01-01 00:00:00+00",
            "9999-12-31 23:59:59.999999+00",
            ["10000-01-01 00:00:00+00", "infinity", "2023-01-01 00:00:00"],
        ),
        (Kind.TIME, "00:00:00", "23:59:59.999999", ["24:00:00", "-01:00:00"]),
    ],
)
def test_calendar_ends(kind: Kind, first: str, last: str, refused: list[str]) -> None:
    """The first and last day of the calendar arrive exactly; what lies beyond is refused."""
    values = decode(f"{first}\n{last}\n".encode(), kind)[0]
    assert [str(v) for v in values] == [v.replace("+00", "+00:00") for v in (first, last)]
    for text in refused:
        with pytest.raises(ColumnError, match="'c0'"):
            decode(f"{first}\n{text}\n".encode(), kind)


def test_instants_are_brought_to_utc() -> None:
    """An instant with another offset is the same moment in UTC."""
    values = decode(b"2020-05-05 00:00:00.5+03\n2020-05-05 00:00:00+05:30\n", Kind.INSTANT)[0]
    assert [str(v) for v in values] == ["2020-05-04 21:00:00.500000+00:00", "2020-05-04 18:30:00+00:00"]


def test_binary_values_arrive_as_they_are() -> None:
    """Any bytes arrive, raw in quotes, with NULL and empty apart."""
    every_byte = bytes(range(256))
    raw = b'"' + every_byte.replace(b'"', b'""') + b'",1\n,2\n"",3\n'
    assert decode(raw, Kind.BINARY, Kind.INT32)[0] == [every_byte, None, b""]


def test_a_bad_value_names_its_column_and_is_shortened() -> None:
    """The error names the column, not its number, and shows the start of the value only."""
    with pytest.raises(ColumnError, match=r"'c1' .*int32.*9999") as caught:
        decode(b"a,1\nb," + b"9" * 5000 + b"\n", Kind.STRING, Kind.INT32)
    assert len(str(caught.value)) < 300


def test_bad_text_bytes_name_their_column() -> None:
    """Text that is not UTF-8 is refused with the column's name, and with the way to have its bytes."""
    for kind in (Kind.STRING, Kind.JSON):
        with pytest.raises(ColumnError, match=r"'c1'.*UTF8") as caught:
            decode(b"a,b\nc,\xc3\x28\n", Kind.STRING, kind)
        assert "binary" in (caught.value.hint or "")


def test_rows_of_another_width_are_refused_without_their_text() -> None:
    """A row with too few or too many columns is refused, and its text is not shown."""
    for block in (b"secret\n", b"secret,b,c\n"):
        with pytest.raises(SourceUnavailable, match="2 columns") as caught:
            decode(b"a,b\n" + block, Kind.STRING, Kind.STRING)
        assert "secret" not in str(caught.value)


def test_a_block_that_ends_inside_a_row_is_refused() -> None:
    """A last row that was cut off would parse; it is refused."""
    with pytest.raises(SourceUnavailable, match="inside a row"):
        decode(b"1,2023\n2,202", Kind.INT32, Kind.INT32)


def test_many_columns_and_long_rows() -> None:
    """Five hundred columns and a row of 20 MiB decode like any other."""
    wide = decode(b",".join(b"%d" % i for i in range(500)) + b"\n", *[Kind.INT32] * 500)
    assert [v for (v,) in wide] == list(range(500))
    long = decode(b'"' + b"x,\n" * (7 << 20) + b'",1\n', Kind.STRING, Kind.INT32)
    assert long == [["x,\n" * (7 << 20)], [1]]


def test_odd_names_reach_the_schema() -> None:
    """Names that equal each other's positions, or hold signs, do not confuse the columns."""
    named = [Column(n, ColumnType(Kind.STRING), "text") for n in ("1", "0", 'a"b,c', "")]
    batch = CsvDecoder(named).decode(b"w,x,y,z\n")
    assert isinstance(batch, pa.RecordBatch)
    assert [(n, c.to_pylist()) for n, c in zip(batch.schema.names, batch.columns, strict=True)] == [
        ("1", ["w"]),
        ("0", ["x"]),
        ('a"b,c', ["y"]),
        ("", ["z"]),
    ]


def test_markers_of_null_follow_the_columns() -> None:
    """Bool columns that tell which NULLs stand for another value come last, named as their columns."""
    decoder = CsvDecoder(columns(Kind.DATE, Kind.INT32), nulled=("c0",))
    batch = decoder.decode(b",1,t\n2023-01-01,2,f\n,3,0\n")

    assert batch.schema.names == ["c0", "c1", "c0"]
    assert batch.schema.types[2] == pa.bool_()
    assert batch.column(2).to_pylist() == [True, False, False]
