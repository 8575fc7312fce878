"""Exact text to typed columns: what a type can hold arrives as it is, and all else is refused."""

from __future__ import annotations

import math
import uuid
from datetime import date, datetime, time, timedelta
from decimal import Decimal, localcontext

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from rivet.plan.schema import ColumnType, Kind, decimal_type
from rivet.source.arrow import arrow_type
from rivet.source.from_text import from_text

UUID = "a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"


def converted(texts: list[str | None], column_type: ColumnType, *, is_free: bool = False) -> list[object]:
    """Turn texts into a type, after Arrow's own full check, and list the values."""
    values = from_text(pa.array(texts, pa.string()), column_type, is_free=is_free)
    values.validate(full=True)
    assert values.type.equals(arrow_type(column_type))
    listed: list[object] = values.to_pylist()
    return listed


def of(kind: Kind, precision: int = 0, scale: int = 0) -> ColumnType:
    """Make a type."""
    return ColumnType(kind, precision, scale)


@pytest.mark.parametrize(
    ("column_type", "held"),
    [
        (of(Kind.BOOL), {"t": True, "f": False, "1": True, "0": False}),
        (of(Kind.INT8), {"-128": -128, "127": 127, "0": 0}),
        (of(Kind.INT64), {str(2**63 - 1): 2**63 - 1, str(-(2**63)): -(2**63)}),
        (of(Kind.UINT64), {str(2**64 - 1): 2**64 - 1}),
        (of(Kind.FLOAT32), {"3.4028235e+38": 3.4028234663852886e38, "1e-45": 1.401298464324817e-45}),
        (
            of(Kind.FLOAT64),
            {"-Infinity": -math.inf, "5e-324": 5e-324, "1.7976931348623157e+308": 1.7976931348623157e308},
        ),
        (of(Kind.DECIMAL, 5, 2), {"999.99": Decimal("999.99"), "-0.01": Decimal("-0.01")}),
        (of(Kind.STRING), {"": "", " a\n": " a\n", "NULL": "NULL"}),
        (of(Kind.BINARY), {"\\x00ff": b"\x00\xff", "\\x": b"", "5c78": b"\\x", "": b""}),
        (of(Kind.DATE), {"0001-01-01": date(1, 1, 1), "9999-12-31": date(9999, 12, 31)}),
        (
            of(Kind.TIME),
            {"00:00:00": time(0), "23:59:59.999999": time(23, 59, 59, 999999), "12:30": time(12, 30)},
        ),
        (of(Kind.TIMESTAMP), {"9999-12-31 23:59:59.999999": datetime(9999, 12, 31, 23, 59, 59, 999999)}),
        (of(Kind.UUID), {UUID: uuid.UUID(UUID), UUID.upper(): uuid.UUID(UUID)}),
        (of(Kind.JSON), {'{"a": [1]}': '{"a": [1]}'}),
        (
            of(Kind.DURATION),
            {
                "-838:59:59.000001": -timedelta(hours=838, minutes=59, seconds=59, microseconds=1),
                "-00:30:00": -timedelta(minutes=30),
                "24:00:00": timedelta(days=1),
                "12:00:00.5": timedelta(hours=12, milliseconds=500),
            },
        ),
    ],
    ids=lambda v: str(v) if isinstance(v, ColumnType) else "",
)
def test_what_a_server_writes_arrives(column_type: ColumnType, held: dict[str, object]) -> None:
    """Edge values of each type arrive as themselves, and NULL as NULL."""
    texts, values = [None, *held, None], [None, *held.values(), None]

    assert converted(texts, column_type) == values
    assert converted([None] * 3, column_type) == [None] * 3
    assert converted([], column_type) == []


NO_NAN = ["nan(1)", "NaN()", "nan(ind)", "-nan", "+NaN", "nan1", "inf(1)", "infinit", "abc"]
REFUSED = {
    of(Kind.BOOL): ["2", "-1", "true", "", "01"],
    of(Kind.INT8): ["128", "-129", "0xff", "1.5", "1e2", "", "a", "1_0", "--1", "1 2"],
    of(Kind.INT64): ["9223372036854775808", "0x10", "1.0000000000000000000001", "NaN"],
    of(Kind.UINT8): ["-1", "256"],
    of(Kind.FLOAT32): ["16777217", "0.123456789", "1e39", "1e-60", "0x1p3", "", "nan(1)"],
    of(Kind.FLOAT64): ["9007199254740993", "0.1000000000000000000001", "1e400", "-1e-400", "1e", *NO_NAN],
    of(Kind.DECIMAL, 5, 2): ["1.234", "1000", "1e-3", "NaN", "Infinity", "", ".", "-", "1,5"],
    of(Kind.DECIMAL, 38, 30): ["1e-31", "100000000", "12345678901234567890.123456789"],
    of(Kind.DATE): [
        "0000-01-01",
        "10000-01-01",
        "2023-02-29",
        "2023-1-1",
        "2023-01-01 00:00:00",
        "infinity",
        "",
    ],
    of(Kind.TIME): ["24:00:00", "-00:00:01", "838:59:59", "12:60:00", "12:00:00.1234567", "12", "12:00:00Z"],
    of(Kind.TIMESTAMP): [
        "2023-01-01 12:00:00.1234567",
        "2023-01-01 12:00:00Z",
        "2023-01-01 12:00:00+02",
        "0000-12-31 23:59:59",
        "2023-01-01 24:00:00",
        "2023-01-01 23:59:60",
        "20230101",
        "1672531200",
    ],
    of(Kind.INSTANT): [
        "2023-01-01 12:00:00",
        "2023-01-01",
        "2023-01-01 12:00:00.1234567Z",
        "2023-01-01 12:00:00+24:00",
        "2023-01-01 12:00:00+02:30:15",
        "0001-01-01 00:00:00+05",
        "9999-12-31 23:59:59-05",
    ],
    of(Kind.DURATION): ["00:60:00", "12:00:00.1234567", "1 day", "+01:00:00", "01", ""],
    of(Kind.UUID): [
        UUID[:-1],
        UUID + "0",
        UUID.replace("-", ""),
        "{" + UUID[1:-1] + "}",
        "a0eebc999-c0b-4ef8-bb6d-6bb9bd380a11",
        "g" + UUID[1:],
        "",
    ],
    of(Kind.JSON): ["", "{", "NaN", "{'a': 1}", "1 2", "[1,]"],
    of(Kind.BINARY): ["abc", "0g", "\\x0"],
}


@pytest.mark.parametrize(
    ("column_type", "text"), [(t, text) for t, texts in REFUSED.items() for text in texts], ids=str
)
def test_what_a_type_cannot_hold_is_refused(column_type: ColumnType, text: str) -> None:
    """Nothing is rounded, clipped, cut or shifted: a value that does not fit is refused."""
    with pytest.raises(ValueError, match=r"."):
        converted([None, text], column_type, is_free=True)


@pytest.mark.parametrize(
    ("column_type", "text", "value"),
    [
        (of(Kind.INT32), " 7.000 ", 7),
        (of(Kind.INT32), "+7", 7),
        (of(Kind.FLOAT64), "0.10", 0.1),
        (of(Kind.FLOAT64), "1e2", 100.0),
        (of(Kind.FLOAT64), "NaN", None),
        (of(Kind.FLOAT64), "1" + "0" * 300, 1e300),
        (of(Kind.FLOAT32), "0.1", 0.10000000149011612),
        (of(Kind.DECIMAL, 5, 2), "1.2300000000000000", Decimal("1.23")),
        (of(Kind.DECIMAL, 38, 30), "1e-30", Decimal("1e-30")),
        (of(Kind.DATE), "2023-01-01  ", date(2023, 1, 1)),
        (of(Kind.TIMESTAMP), "2023-01-01T12:00:00.1234560", datetime(2023, 1, 1, 12, 0, 0, 123456)),
        (of(Kind.TIMESTAMP), "2023-01-01", datetime(2023, 1, 1)),
        (of(Kind.UUID), UUID + " ", uuid.UUID(UUID)),
    ],
    ids=str,
)
def test_the_same_value_in_other_words_arrives(column_type: ColumnType, text: str, value: object) -> None:
    """Padding, and zeros that say nothing, do not keep a value from its type."""
    (arrived,) = converted([text], column_type, is_free=True)
    assert arrived == value or (value is None and math.isnan(arrived))  # type: ignore[arg-type]


NUMBERS = st.from_regex(r"-?[0-9]{1,20}(\.[0-9]{0,20})?(e[+-]?[0-9]{1,3})?", fullmatch=True)


@given(st.floats(allow_nan=False))
def test_every_double_comes_back_from_its_shortest_text(number: float) -> None:
    """The shortest text of a double is exact as a double, whatever its size."""
    assert converted([repr(number)], of(Kind.FLOAT64), is_free=True) == [number]


@given(NUMBERS)
@example("0e5")
@example("-0.000e-7")
@example("100")
def test_a_double_holds_a_number_or_it_is_refused(text: str) -> None:
    """A number arrives as a double where the shortest text of that double is the same number."""
    exact = Decimal(repr(float(text))) == Decimal(text)
    if exact:
        assert converted([text], of(Kind.FLOAT64), is_free=True) == [float(text)]
    else:
        with pytest.raises(ValueError, match=r"."):
            converted([text], of(Kind.FLOAT64), is_free=True)


@given(NUMBERS, st.integers(1, 38), st.integers(0, 38))
@example("1e-65", 26, 26)
@example("1" + "0" * 60, 38, 0)
def test_a_decimal_holds_a_number_or_it_is_refused(text: str, precision: int, scale: int) -> None:
    """A number arrives as a decimal with all its digits, or is refused where it has more."""
    column_type = decimal_type(precision, scale)
    assert column_type is not None
    with localcontext(prec=2000):
        shifted = Decimal(text).scaleb(column_type.scale)
        fits = shifted == shifted.to_integral_value() and abs(shifted) < 10**column_type.precision
    if fits:
        assert converted([text], column_type, is_free=True) == [Decimal(text)]
    else:
        with pytest.raises(ValueError, match=r"."):
            converted([text], column_type, is_free=True)


@given(
    st.timedeltas(-timedelta(hours=838, minutes=59, seconds=59), timedelta(hours=838, minutes=59, seconds=59))
)
def test_every_time_of_mysql_is_a_duration(duration: timedelta) -> None:
    """MySQL's TIME, from one end to the other and with its sign, is the same duration."""
    seconds, microseconds = divmod(abs(duration) // timedelta(microseconds=1), 1_000_000)
    sign = "-" if duration < timedelta(0) else ""
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}.{microseconds:06}"

    assert converted([text], of(Kind.DURATION)) == [duration]


def test_a_refused_value_is_shown_in_part() -> None:
    """The message shows the start of the first value that does not fit."""
    with pytest.raises(ValueError, match=r"'x{60}…' is not a UUID") as caught:
        converted([UUID, "x" * 5000, "y"], of(Kind.UUID))
    assert len(str(caught.value)) < 120
