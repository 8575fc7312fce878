"""Types that a config asks for columns of MySQL and MariaDB: what they refuse, in planning and in reading."""

from __future__ import annotations

import uuid

import pytest

from rivet.errors import ColumnError, SourceError
from rivet.plan.overrides import override
from rivet.plan.schema import ColumnType, Fidelity, Kind, Override
from rivet.source.mysql.describing import rendered_columns
from rivet.source.mysql.types import Described
from rivet.source.relation import Request
from tests.servers.database import Database
from tests.source.reading import in_session, read_all

NOT_HELD = [
    ("int", "2", "bool", ()),
    ("int", "128", "int8", ()),
    ("bigint", "9007199254740993", "float64", ()),
    ("decimal(12,2)", "0.50", "int64", ()),
    ("decimal(12,2)", "0.05", "decimal", (12, 1)),
    ("decimal(40,2)", "1234567890123456789.05", "float64", ()),
    ("bigint", "1234567890123456800", "float64", ()),
    ("bigint", "-1234567890123456800", "float64", ()),
    ("bigint", "9223372036854775807", "float64", ()),
    ("bigint unsigned", "9223372036854775807", "float64", ()),
    ("bigint unsigned", "18446744073709551615", "float64", ()),
    ("bigint", "9007199254740993", "float32", ()),
    ("bigint", "9223372036854775807", "float32", ()),
    ("int", "16777217", "float32", ()),
    ("int", "-2147483647", "float32", ()),
    ("double", "0.123456789", "float32", ()),
    ("double", "0.1", "float32", ()),
    ("double(20,3)", "0.1", "float32", ()),
    ("double", "16777217", "float32", ()),
    ("double", "1e-45", "float32", ()),
    ("double", "3.5e38", "float32", ()),
    ("double", "-1e308", "float32", ()),
    ("double", "9223372036854775808", "int64", ()),
    ("double", "18446744073709551616", "uint64", ()),
    ("double", "-9223372036854777856", "int64", ()),
    ("double", "4503599627370495.5", "int64", ()),
    ("double", "1e19", "int64", ()),
    ("double", "0.5", "int64", ()),
    ("bit(10)", "256", "uint8", ()),
    ("time", "'24:00:00'", "time", ()),
    ("time", "'-00:00:01'", "time", ()),
    ("varchar(40)", "'12a'", "int64", ()),
    ("varchar(40)", "''", "int64", ()),
    ("varchar(40)", "'0x10'", "int64", ()),
    ("varchar(40)", "'0.12345678901234567890'", "float64", ()),
    ("varchar(40)", "'2023-02-30'", "date", ()),
    ("varchar(40)", "'0000-01-01'", "date", ()),
    ("varchar(40)", "'2023-01-01T00:00:00Z'", "timestamp", ()),
    ("varchar(40)", "'2023-01-01 00:00:00'", "timestamptz", ()),
    ("longtext", "'not a uuid'", "uuid", ()),
    ("longtext", "'{'", "json", ()),
    ("varbinary(9)", "X'c328'", "string", ()),
]


@pytest.mark.parametrize(("declaration", "value", "word", "digits"), NOT_HELD)
def test_what_a_type_cannot_hold_fails(
    mysql_family: Database, declaration: str, value: str, word: str, digits: tuple[int, ...]
) -> None:
    """A value that the asked type cannot hold stops the read, naming the column; others and NULL pass."""
    mysql_family.execute(f"CREATE TABLE t (`the v` {declaration}); INSERT INTO t VALUES (NULL)")
    precision, scale = digits or (0, 0)
    asked = {"THE V": override(word, precision=precision, scale=scale)}
    relation = in_session(mysql_family, lambda s: s.describe(Request("t", overrides=asked)))
    assert relation.columns[0].fidelity is Fidelity.LOSSY
    assert read_all(mysql_family, table="t", overrides=asked).column(0).to_pylist() == [None]
    mysql_family.execute(f"INSERT INTO t VALUES ({value})")
    with pytest.raises(ColumnError, match="'the v'"):
        read_all(mysql_family, table="t", overrides=asked)


HELD = [
    ("double", "float32", ["0.5", "16777218", "0", "-1.25", "1152921504606846976", "3.4028234663852886e38"]),
    ("double(20,3)", "float32", ["0.125", "-3"]),
    ("int", "float32", ["16777218", "-16777218", "0", "-1"]),
    ("bigint", "float32", ["16777218", "-16777218", "0"]),
    ("bigint", "float64", ["1152921504606846976", "-9223372036854775808", "1234567890123456768", "-1", "0"]),
    ("bigint unsigned", "float64", ["18446744073709549568", "9223372036854775808", "9007199254740994", "0"]),
    ("bit(64)", "float64", ["9223372036854775808", "3"]),
    ("double", "int64", ["9007199254740994", "1152921504606846976", "-9223372036854775808", "0", "-7"]),
    ("double", "uint64", ["18446744073709549568", "9223372036854775808", "9223372036854774784", "0"]),
    ("double(20,3)", "int64", ["9007199254740994", "-12"]),
    ("float", "int64", ["1152921504606846976", "-16777218"]),
    ("float", "int8", ["-128", "127"]),
]


@pytest.mark.parametrize(("declaration", "word", "values"), HELD)
def test_what_a_type_can_hold_comes_exactly(
    mysql_family: Database, declaration: str, word: str, values: list[str]
) -> None:
    """Numbers that the asked type equals arrive as themselves, to the ends of its range."""
    rows = ", ".join(f"({n}, {value})" for n, value in enumerate(values))
    mysql_family.execute(f"CREATE TABLE t (n int PRIMARY KEY, v {declaration}); INSERT INTO t VALUES {rows}")
    read = read_all(mysql_family, table="t", overrides={"v": override(word)}).sort_by("n")
    number = float if word.startswith("float") else int
    assert [str(v) for v in read.column("v").to_pylist()] == [str(number(value)) for value in values]


SENSELESS = [
    ("int", Override(ColumnType(Kind.DATE), "s"), "bool"),
    ("int", override("uuid"), "decimal(p,s)"),
    ("datetime", override("date"), "'v' can become timestamp, string"),
    ("timestamp NULL", override("timestamp"), "timestamptz, string"),
    ("time", override("int64"), "duration"),
    ("varbinary(16)", override("uuid"), "binary, string"),
    ("point", override("json"), "binary, string"),
    ("text", override("bool"), "json"),
]


@pytest.mark.parametrize(("declaration", "asked", "possible"), SENSELESS)
def test_what_makes_no_sense_is_refused(
    mysql_family: Database, declaration: str, asked: Override, possible: str
) -> None:
    """A type that a column cannot become is refused in planning, with those that it can."""
    mysql_family.execute(f"CREATE TABLE t (v {declaration})")
    for request in (
        Request("t", overrides={"v": asked}),
        Request(query="SELECT v FROM t", overrides={"v": asked}),
    ):
        with pytest.raises(ColumnError, match="column 'v'") as caught:
            in_session(mysql_family, lambda s, r=request: s.describe(r))  # type: ignore[misc]
        assert possible in (caught.value.hint or "")


def test_all_that_makes_no_sense_is_told_together(mysql_family: Database) -> None:
    """One refusal names every column that cannot become what is asked, and what each of them can."""
    mysql_family.execute("CREATE TABLE t (a int, b text, c time)")
    overrides = {"a": override("uuid"), "b": override("json"), "c": override("int64")}
    with pytest.raises(ColumnError, match=r"'a' \(.*'c' \(time\)") as caught:
        in_session(mysql_family, lambda s: s.describe(Request("t", overrides=overrides)))
    assert "'b'" not in str(caught.value)
    assert "'c' can become string, time, duration; " in (caught.value.hint or "")


def test_types_of_later_servers_are_told_together() -> None:
    """Columns of types that came after this was written are refused in one error, each with its mend."""
    output = Described(code=230, charset=63, flags=0, length=4, decimals=0)
    with pytest.raises(ColumnError, match=r"column 'a' is .*; column 'b' is .*not handled yet") as caught:
        rendered_columns([("a", output), ("b", output)], {}, Request(query="SELECT …"), None)
    assert "CAST(`a` AS char) AS `a`" in (caught.value.hint or "")
    assert "CAST(`b` AS char) AS `b`" in (caught.value.hint or "")


def test_an_override_for_no_column_is_refused(mysql_family: Database) -> None:
    """A name that no column has is told, with the near miss."""
    mysql_family.execute("CREATE TABLE t (amount int)")
    with pytest.raises(SourceError, match="'amuont'") as caught:
        in_session(mysql_family, lambda s: s.describe(Request("t", overrides={"amuont": override("string")})))
    assert "'amount'" in (caught.value.hint or "")


def test_zero_dates_as_text(mysql_family: Database) -> None:
    """As text by override, a zero date is the text that the server prints, and nothing is counted."""
    mysql_family.execute(
        "SET sql_mode = ''; CREATE TABLE t (d date NOT NULL, u binary(16)); INSERT INTO t VALUES (0, X'00')"
    )
    asked = {"d": override("string"), "u": override("uuid")}
    relation = in_session(mysql_family, lambda s: s.describe(Request("t", overrides=asked)))
    assert in_session(mysql_family, lambda s: s.probe(relation, None)).unrepresentable == ()
    assert read_all(mysql_family, table="t", overrides=asked).to_pylist() == [
        {"d": "0000-00-00", "u": uuid.UUID(int=0)}
    ]
