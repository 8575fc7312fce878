"""Types that a config asks for on PostgreSQL: what a column can become, and what values must then hold."""

from __future__ import annotations

import pytest

from rivet.errors import ColumnError, SourceError
from rivet.plan.schema import ColumnType, Kind, Override
from rivet.source.relation import Request
from tests.servers.database import Database
from tests.source.reading import read_all, source_of

DECIMAL = ColumnType(Kind.DECIMAL, 5, 2)


def _wanted(kind: Kind | ColumnType) -> dict[str, Override]:
    return {"the value": Override(kind if isinstance(kind, ColumnType) else ColumnType(kind))}


TOO_NARROW: list[tuple[str, str, Kind | ColumnType]] = [
    ("bigint", "32768", Kind.INT16),
    ("integer", "-1", Kind.UINT32),
    ("integer", "2", Kind.BOOL),
    ("integer", "1000", DECIMAL),
    ("bigint", "9007199254740993", Kind.FLOAT64),
    ("integer", "16777217", Kind.FLOAT32),
    ("numeric", "1.5", Kind.INT64),
    ("numeric", "9223372036854775808", Kind.INT64),
    ("numeric", "'NaN'", Kind.INT64),
    ("numeric", "1.001", DECIMAL),
    ("numeric", "1000", DECIMAL),
    ("numeric", "0.12345678901234567890", Kind.FLOAT64),
    ("numeric", "1e400", Kind.FLOAT64),
    ("numeric", "1e-400", Kind.FLOAT64),
    ("numeric", "1e39", Kind.FLOAT32),
    ("numeric(12,4)", "1.0001", DECIMAL),
    ("double precision", "0.5", Kind.INT64),
    ("double precision", "1e300", Kind.INT64),
    ("double precision", "'NaN'", Kind.INT64),
    ("double precision", "'Infinity'", DECIMAL),
    ("double precision", "0.125", DECIMAL),
    ("double precision", "1e39", Kind.FLOAT32),
    ("double precision", "0.123456789", Kind.FLOAT32),
    ("double precision", "0.1", Kind.FLOAT32),
    ("double precision", "1e-50", Kind.FLOAT32),
    ("double precision", "18446744073709551616", Kind.UINT64),
    ("real", "2147483648", Kind.INT32),
    ("bigint", "1234567890123456800", Kind.FLOAT64),
    ("bigint", "9223372036854775807", Kind.FLOAT64),
    ("numeric", "1234567890123456800", Kind.FLOAT64),
    ("text", "'4x'", Kind.INT64),
    ("text", "''", Kind.INT64),
    ("text", "'0x10'", Kind.INT64),
    ("text", "'1,5'", Kind.FLOAT64),
    ("text", "'1e400'", Kind.FLOAT64),
    ("text", "'nan(1)'", Kind.FLOAT64),
    ("text", "'-nan'", Kind.FLOAT32),
    ("text", "''", DECIMAL),
    ("text", "'2024-02-30'", Kind.DATE),
    ("text", "'infinity'", Kind.DATE),
    ("text", "'02/29/2024'", Kind.DATE),
    ("text", "'2024-02-29 10:00:00+02'", Kind.TIMESTAMP),
    ("text", "'2024-02-29 10:00:00'", Kind.INSTANT),
    ("text", "'2024-02-29 10:00:00.0000001'", Kind.TIMESTAMP),
    ("text", "'24:00:00'", Kind.TIME),
    ("text", "'a0eebc99'", Kind.UUID),
    ("text", "'{'", Kind.JSON),
    ("money", "'1000'", DECIMAL),
    ("oid", "2147483648", Kind.INT32),
]


def test_a_value_that_the_wanted_type_cannot_hold_is_refused(postgres_database: Database) -> None:
    """A value that would be rounded, cut, shifted or made NULL fails with the column's name."""
    for number, (sql_type, literal, wanted) in enumerate(TOO_NARROW):
        postgres_database.execute(
            f'CREATE TABLE t{number} (a int, "the value" {sql_type});'
            f" INSERT INTO t{number} VALUES (1, NULL), (2, {literal})"
        )
        with pytest.raises(ColumnError, match="'the value'"):
            read_all(postgres_database, table=f"t{number}", overrides=_wanted(wanted))


# The shortest text of each of these is another number, or the text of a number that is another.
HELD: list[tuple[str, str, Kind, float]] = [
    ("real", "123456792", Kind.INT32, 123456792),
    ("double precision", "4611686018427387904", Kind.INT64, 2**62),
    ("double precision", "-9223372036854775808", Kind.INT64, -(2**63)),
    ("double precision", "18446744073709549568", Kind.UINT64, 2**64 - 2048),
    ("double precision", "3.4028234663852886e38", Kind.FLOAT32, float(2**128 - 2**104)),
    ("double precision", "'-Infinity'", Kind.FLOAT32, float("-inf")),
    ("double precision", "'-0'", Kind.FLOAT32, -0.0),
    ("bigint", "1152921504606846976", Kind.FLOAT64, float(2**60)),
    ("bigint", "1152921504606846976", Kind.FLOAT32, float(2**60)),
    ("numeric", "4611686018427387904", Kind.FLOAT64, float(2**62)),
    ("numeric", "0.1", Kind.FLOAT64, 0.1),
]


def test_a_large_number_that_the_wanted_type_holds_is_the_same_number(postgres_database: Database) -> None:
    """A float that is whole, or a whole number that is a float, arrives as itself whatever its text is."""
    for number, (sql_type, literal, wanted, expected) in enumerate(HELD):
        postgres_database.execute(
            f'CREATE TABLE t{number} (a int, "the value" {sql_type});'
            f" INSERT INTO t{number} VALUES (1, NULL), (2, {literal})"
        )
        rows = read_all(postgres_database, table=f"t{number}", overrides=_wanted(wanted))
        values = rows.column("the value").to_pylist()
        assert values == [None, expected], (sql_type, literal, wanted)
        assert str(values[1]) == str(expected)


MAKES_NO_SENSE: list[tuple[str, Kind | ColumnType, str]] = [
    ("boolean", Kind.INT64, "bool, string"),
    ("date", Kind.TIMESTAMP, "date, string"),
    ("timestamptz", Kind.TIMESTAMP, "timestamptz, string"),
    ("interval", Kind.DURATION, "string"),
    ("bytea", Kind.UUID, "binary, string"),
    ("integer[]", Kind.INT32, "string, json"),
    ("uuid", Kind.BINARY, "string, uuid"),
    ("integer", Kind.DATE, "int32, bool,"),
    ("json", Kind.INT64, "string, binary, json"),
    ("pg_lsn", Kind.UINT64, "string"),
    ("text", Kind.DURATION, "decimal(p,s)"),
]


def test_a_type_that_makes_no_sense_is_refused_in_describing(postgres_database: Database) -> None:
    """The refusal names the column, its type in the database, and the types that it can have."""
    for number, (sql_type, wanted, possible) in enumerate(MAKES_NO_SENSE):
        postgres_database.execute(f'CREATE TABLE t{number} (a int, "the value" {sql_type})')
        with source_of(postgres_database).session() as session, pytest.raises(ColumnError) as caught:
            session.describe(Request(f"t{number}", overrides=_wanted(wanted)))

        assert "'the value'" in str(caught.value)
        assert f"({sql_type})" in str(caught.value).replace("timestamp with time zone", "timestamptz")
        assert caught.value.hint is not None
        assert possible in caught.value.hint


def test_all_that_makes_no_sense_is_told_together(postgres_database: Database) -> None:
    """One refusal names every column that cannot become what is asked, and what each of them can."""
    postgres_database.execute("CREATE TABLE t (a int, b text, c interval)")
    asked = {"a": Kind.UUID, "b": Kind.JSON, "c": Kind.DURATION}
    overrides = {name: Override(ColumnType(kind)) for name, kind in asked.items()}
    with source_of(postgres_database).session() as session, pytest.raises(ColumnError) as caught:
        session.describe(Request("t", overrides=overrides))

    assert str(caught.value) == (
        "columns: column 'a' (integer) cannot become uuid; "
        "columns: column 'c' (interval) cannot become duration[us]"
    )
    assert "'a' can become int32, bool, " in (caught.value.hint or "")
    assert "'c' can become string; " in (caught.value.hint or "")


def test_epoch_numbers_are_made_moments_in_the_query(postgres_database: Database) -> None:
    """A unit of epoch numbers is SQLite's alone, where the database has types for moments."""
    postgres_database.execute("CREATE TABLE t (v bigint, w timestamp)")
    for name in ("v", "w"):
        override = Override(ColumnType(Kind.TIMESTAMP), unit="ms")
        with source_of(postgres_database).session() as session, pytest.raises(ColumnError, match=f"'{name}'"):
            session.describe(Request("t", overrides={name: override}))


def test_names_are_resolved_as_everywhere(postgres_database: Database) -> None:
    """An exact name goes first, then the only one that differs in case; a wrong one is told what is near."""
    postgres_database.execute('CREATE TABLE t ("Id" int, id int, "Note" text, gone int)')
    text = Override(ColumnType(Kind.STRING))
    with source_of(postgres_database).session() as session:
        relation = session.describe(Request("t", overrides={"id": text, "NOTE": text}))
        assert [str(c.type) for c in relation.columns] == ["int32", "string", "string", "int32"]
        for wrong, said in (
            ({"ID": text}, "may be any of 'Id', 'id'"),
            ({"nota": text}, "no column 'nota'"),
            ({"gone": text}, "no column 'gone'"),
            ({"Note": text, "note": text}, "two types"),
        ):
            with pytest.raises(SourceError, match=said):
                session.describe(Request("t", exclude=("gone",), overrides=wrong))
