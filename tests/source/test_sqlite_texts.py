"""Text in SQLite: of numbers, of blobs, in any encoding, and where it is none."""

from __future__ import annotations

import struct
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rivet.errors import ColumnError
from rivet.plan.overrides import override
from tests.servers.sqlite import SqliteDatabase
from tests.source.sqlite_reading import read_all


def test_mixed_column_needs_no_cast(sqlite_database: SqliteDatabase) -> None:
    """A column whose values have no type in common is text by override, whatever comes in which batch."""
    sqlite_database.execute(
        "CREATE TABLE t(c); WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 40000) "
        "INSERT INTO t SELECT CASE i % 4 WHEN 0 THEN i WHEN 1 THEN i + 0.5 WHEN 2 THEN 'x' || i "
        "ELSE CAST(i AS BLOB) END FROM n"
    )

    read = read_all(sqlite_database, table="t", overrides={"c": override("string")}).column("c").to_pylist()

    makers = (str, lambda i: f"{i}.5", lambda i: f"x{i}", str)
    assert read == [makers[i % 4](i) for i in range(1, 40001)]


def test_text_that_is_not_utf8_is_counted(sqlite_database: SqliteDatabase) -> None:
    """Bytes that are no text are counted over the whole column, with the type that holds them."""
    sqlite_database.execute(
        "CREATE TABLE t(x TEXT, b BLOB); INSERT INTO t(x) VALUES ('é'), (CAST(x'C328' AS TEXT)), (NULL);"
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 30000) "
        "INSERT INTO t(x) SELECT 'fine' FROM c; INSERT INTO t VALUES (CAST(x'FF00' AS TEXT), x'ff')"
    )

    with pytest.raises(ColumnError, match=r"'x' .*: 2 texts are not valid UTF-8") as caught:
        read_all(sqlite_database, table="t")
    with pytest.raises(ColumnError, match=r"'b' .*: 1 text is not valid UTF-8"):
        read_all(sqlite_database, table="t", exclude=("x",), overrides={"b": override("string")})

    assert '"x": binary' in str(caught.value.hint)
    read = read_all(sqlite_database, table="t", overrides={"x": override("binary")}).column("x")
    assert (read[0].as_py(), read[1].as_py(), read[-1].as_py()) == ("é".encode(), b"\xc3(", b"\xff\0")


@pytest.mark.parametrize("encoding", ["UTF-16le", "UTF-16be"])
def test_bytes_of_another_encoding(sqlite_database: SqliteDatabase, encoding: str) -> None:
    """In UTF-16, text has the bytes that the file has, and a blob that is no whole text is not cut."""
    sqlite_database.execute(
        f"PRAGMA encoding = '{encoding}'; CREATE TABLE t(x TEXT, b BLOB);"
        "INSERT INTO t VALUES ('é', NULL), ('a' || char(0), CAST('é' AS BLOB))"
    )
    codec = encoding.lower()
    asked = {"x": override("binary"), "b": override("string")}

    read = read_all(sqlite_database, table="t", overrides=asked)

    assert read.to_pydict() == {"x": ["é".encode(codec), "a\0".encode(codec)], "b": [None, "é"]}
    sqlite_database.execute("INSERT INTO t(b) VALUES (x'610062')")
    with pytest.raises(ColumnError, match=r"'b' is BLOB and holds what does not fit string: 1 blob"):
        read_all(sqlite_database, table="t", overrides=asked)


@settings(max_examples=20)
@given(
    st.lists(
        st.one_of(
            st.integers(-(2**63), 2**63 - 1),
            st.floats(allow_nan=False),
            st.text(st.characters(exclude_categories=["Cs"])),
            st.binary().filter(lambda b: b.decode(errors="ignore").encode() == b),
        ),
        min_size=1,
        max_size=30,
    )
)
def test_any_value_as_text(values: list[int | float | str | bytes]) -> None:
    """Whatever a column holds, its text is exact: of numbers it gives them back."""
    with TemporaryDirectory() as directory:
        database = SqliteDatabase(Path(directory) / "d.db")
        database.execute("CREATE TABLE t(c)")
        with database.connect() as connection:
            connection.executemany("INSERT INTO t VALUES (?)", [(v,) for v in values])
        read = read_all(database, table="t", overrides={"c": override("string")}).column("c").to_pylist()

    for value, text in zip(values, read, strict=True):
        if isinstance(value, float):
            assert struct.pack("d", float(text) + 0.0) == struct.pack("d", value + 0.0)
        else:
            assert text == (value.decode() if isinstance(value, bytes) else str(value))
