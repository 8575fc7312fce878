"""Every value of every type as its Parquet file gives it and as PyMySQL reads it, in rows of any length."""

from __future__ import annotations

import datetime as dt
import struct
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from rivet.errors import SourceError, SourceUnavailable
from rivet.source.mysql.packets import Execution
from rivet.source.relation import Request
from tests.servers.database import Database, run
from tests.source.reading import EVERYTHING, in_session, read_scan
from tests.source.server_settings import global_settings

UTC = dt.UTC
EDGES = (0, 250, 251, 252, 253, 254, 255, 256, 65_535, 65_536)
PACKET = 2**24
BLOCK = 64 * 1024


def _same(value: Any) -> Any:
    return value


def _float32(value: Any) -> Any:
    return None if value is None else struct.unpack("f", struct.pack("f", value))[0]


def _instant(value: Any) -> Any:
    return None if value is None else value.replace(tzinfo=UTC)


def _truth(value: Any) -> Any:
    return None if value is None else bool(value)


# Name, type, how PyMySQL is asked for it, what the answer is in Arrow's terms, and values as SQL.
COLUMNS: list[tuple[str, str, str, Callable[[Any], Any], list[str]]] = [
    ("i1", "tinyint", "i1", _same, ["-128", "127", "0"]),
    ("u1", "tinyint unsigned", "u1", _same, ["255", "0"]),
    ("truth", "tinyint(1)", "truth", _same, ["1", "0", "-7"]),
    ("i2", "smallint", "i2", _same, ["-32768", "32767"]),
    ("u2", "smallint unsigned", "u2", _same, ["65535"]),
    ("i3", "mediumint", "i3", _same, ["-8388608", "8388607", "-1"]),
    ("u3", "mediumint unsigned", "u3", _same, ["16777215"]),
    ("i4", "int", "i4", _same, ["-2147483648", "2147483647"]),
    ("u4", "int(9) unsigned zerofill", "u4 + 0", _same, ["4294967295", "42"]),
    ("i8", "bigint", "i8", _same, ["-9223372036854775808", "9223372036854775807"]),
    ("u8", "bigint unsigned", "u8", _same, ["18446744073709551615", "9223372036854775808"]),
    ("y", "year", "y + 0", _same, ["1901", "2155", "0"]),
    ("f4", "float", "f4 * 1e0", _float32, ["0.1", "-3.4028234e38", "1.17549435e-38", "16777217", "-0e0"]),
    ("f42", "float(7,2)", "f42 * 1e0", _float32, ["12345.67", "-0.01"]),
    ("f8", "double", "f8", _same, ["0.1", "1.7976931348623157e308", "2.2250738585072014e-308", "-0e0"]),
    ("f83", "double(9,3)", "f83 * 1e0", _same, ["123456.789", "-0.001"]),
    ("d1", "decimal(1,0)", "d1", _same, ["9", "-9", "0"]),
    ("d18", "decimal(18,4)", "d18", _same, ["99999999999999.9999", "-0.0001"]),
    ("d38", "decimal(38,10)", "d38", _same, ["9999999999999999999999999999.9999999999", "-1e-10"]),
    ("dz", "decimal(9,2) unsigned zerofill", "dz + 0", _same, ["1234567.89", "0.01"]),
    ("d65", "decimal(65,30)", "CAST(d65 AS CHAR)", _same, ["1e34", "-1e-30"]),
    ("b1", "bit(1)", "b1 + 0", _truth, ["b'0'", "b'1'"]),
    ("b9", "bit(9)", "b9 + 0", _same, ["b'100000001'", "b'0'"]),
    ("b64", "bit(64)", "b64 + 0", _same, ["X'FFFFFFFFFFFFFFFF'", "X'8000000000000000'"]),
    ("day", "date", "day", _same, ["'0001-01-01'", "'1970-01-01'", "'2024-02-29'", "'9999-12-31'"]),
    ("dt0", "datetime", "dt0", _same, ["'0001-01-01 00:00:00'", "'9999-12-31 23:59:59'"]),
    ("dt3", "datetime(3)", "dt3", _same, ["'2024-02-29 12:34:56.789'", "'1969-12-31 23:59:59.999'"]),
    ("dt6", "datetime(6)", "dt6", _same, ["'9999-12-31 23:59:59.999999'", "'1000-01-01 00:00:00.000001'"]),
    ("ts0", "timestamp NULL", "ts0", _instant, ["'1970-01-01 00:00:01'", "'2038-01-19 03:14:07'"]),
    ("ts6", "timestamp(6) NULL", "ts6", _instant, ["'2038-01-19 03:14:07.999999'", "'2000-01-01 00:00:00'"]),
    ("t0", "time", "CAST(t0 AS CHAR)", _same, ["'-838:59:59'", "'838:59:59'", "'00:00:00'", "'-00:00:01'"]),
    ("t6", "time(6)", "CAST(t6 AS CHAR)", _same, ["'-838:59:59.000000'", "'00:00:00.000001'", "'23:59:59'"]),
    ("c", "char(60)", "c", _same, ["''", "'é😀'", "REPEAT('😀', 60)"]),
    ("vc", "varchar(260)", "vc", _same, ["''", "'NULL'", "REPEAT('€', 84)", "REPEAT('x', 253)", "'a\\0b'"]),
    ("v3", "varchar(99) CHARACTER SET utf8mb3", "v3", _same, ["'é€'", "''"]),
    ("latin", "varchar(300) CHARACTER SET latin1", "latin", _same, ["REPEAT('é', 126)", "REPEAT('é', 127)"]),
    ("two", "varchar(99) CHARACTER SET ucs2", "two", _same, ["'é€'", "''"]),
    ("bin", "binary(16)", "bin", _same, ["X'00'", "X'FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF'"]),
    ("vb", "varbinary(300)", "vb", _same, ["''", "X'FE0000020000'", "REPEAT(X'00', 251)"]),
    ("tb", "tinyblob", "tb", _same, ["REPEAT(X'FB', 255)", "''"]),
    ("tt", "tinytext", "tt", _same, ["REPEAT('x', 255)", "''"]),
    ("mt", "mediumtext", "mt", _same, ["'m'"]),
    ("en", "enum('a','é')", "en", _same, ["'a'", "'é'"]),
    ("se", "set('a','b','é')", "se", _same, ["''", "'a,é'"]),
    ("js", "json", "js", _same, ["'{\"a\": [1, null]}'", "'\"é\"'"]),
    ("point", "point", "ST_AsBinary(point)", _same, ["ST_GeomFromText('POINT(1 -2)')"]),
]


def _create(database: Database) -> None:
    columns = ", ".join(f"{name} {kind}" for name, kind, *_ in COLUMNS)
    most = max(len(values) for *_, values in COLUMNS)
    rows = [f"({n}, {', '.join(values[n % len(values)] for *_, values in COLUMNS)})" for n in range(most)]
    # One value of each column beside NULLs, and a NULL of each beside values.
    for place in range(len(COLUMNS)):
        alone = [values[0] if p == place else "NULL" for p, (*_, values) in enumerate(COLUMNS)]
        others = ["NULL" if p == place else values[-1] for p, (*_, values) in enumerate(COLUMNS)]
        rows += [
            f"({most + 2 * place}, {', '.join(alone)})",
            f"({most + 2 * place + 1}, {', '.join(others)})",
        ]
    rows.append(f"({len(rows)}{', NULL' * len(COLUMNS)})")
    count = len(rows)
    database.execute(
        f"CREATE TABLE t (id int PRIMARY KEY, {columns}) CHARACTER SET utf8mb4;"
        f"INSERT INTO t VALUES {', '.join(rows)};"
        # So many that they fill blocks, and lie across their edges.
        + "".join(
            f"INSERT INTO t SELECT id + {count << n}, {', '.join(name for name, *_ in COLUMNS)} FROM t;"
            for n in range(5)
        )
    )


def _parquet_of(database: Database, path: Path, **request: Any) -> list[dict[str, Any]]:
    """Read a scan in blocks of few rows, write it to a Parquet file, and give its rows."""
    table = in_session(database, lambda session: read_scan(session, session.describe(Request(**request))))
    pq.write_table(table, path)
    rows: list[dict[str, Any]] = pq.read_table(path).to_pylist()
    return rows


def _told(database: Database, statement: str) -> list[tuple[Any, ...]]:
    with database.connect() as connection:
        run(connection, "SET time_zone = '+00:00', NAMES utf8mb4")
        return run(connection, statement)


@pytest.mark.parametrize("as_query", [False, True])
def test_every_type_with_its_extremes(
    mysql_family: Database, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, *, as_query: bool
) -> None:
    """What Parquet gives is what another client reads, value by value, NULLs among them."""
    for name in ("BLOCK_BYTES", "_LEAST_BLOCK_BYTES"):
        monkeypatch.setattr(f"rivet.source.pipe.{name}", BLOCK)
    _create(mysql_family)
    request = {"query": "SELECT * FROM t"} if as_query else {"table": "t"}
    rows = sorted(_parquet_of(mysql_family, tmp_path / "part.parquet", **request), key=lambda row: row["id"])
    asked = ", ".join(told for _, _, told, *_ in COLUMNS)
    expected = _told(mysql_family, f"SELECT id, {asked} FROM t ORDER BY id")
    assert len(rows) == len(expected) > 2500
    for row, told in zip(rows, expected, strict=True):
        assert row.pop("id") == told[0]
        for (name, kind, _, meant, _), value in zip(COLUMNS, told[1:], strict=True):
            wanted = meant(value)
            assert row[name] == wanted, (name, kind, row[name], wanted)
            assert repr(row[name]) == repr(wanted) or isinstance(wanted, dt.datetime | Decimal), name


def test_values_of_every_length(mysql_family: Database, tmp_path: Path) -> None:
    """Lengths at which the protocol writes a length otherwise, and rows of one packet and of two."""
    with global_settings(mysql_family, max_allowed_packet=PACKET * 4):
        lengths = [*EDGES, *(PACKET + n for n in (-300, -12, -11, -10, -9, -2, -1, 0, 1))]
        mysql_family.execute(
            "CREATE TABLE t (id int PRIMARY KEY, s longtext, n int, b longblob) CHARACTER SET utf8mb4;"
            + "".join(f"INSERT INTO t VALUES ({n}, REPEAT('s', {n}), {n}, NULL);" for n in lengths)
            + "".join(f"INSERT INTO t VALUES (-{n}, NULL, {n}, REPEAT(X'FE', {n}));" for n in lengths[1:])
            + "INSERT INTO t SELECT 20000000 + seq, REPEAT('é', seq % 300), seq, REPEAT(X'00', seq % 260)"
            " FROM (SELECT a.n * 64 + b.n AS seq FROM"
            f" ({' UNION ALL '.join(f'SELECT {n} AS n' for n in range(64))}) AS a,"
            f" ({' UNION ALL '.join(f'SELECT {n} AS n' for n in range(64))}) AS b) AS numbers"
        )
        rows = {row["id"]: row for row in _parquet_of(mysql_family, tmp_path / "part.parquet", table="t")}
        assert len(rows) == 2 * len(lengths) - 1 + 4096
        for n in lengths:
            assert (rows[n]["s"], rows[n]["n"], rows[n]["b"]) == ("s" * n, n, None)
        for n in lengths[1:]:
            assert (rows[-n]["s"], rows[-n]["n"], rows[-n]["b"]) == (None, n, b"\xfe" * n)
        for seq in range(4096):
            row = rows[20_000_000 + seq]
            assert (row["s"], row["n"], row["b"]) == ("é" * (seq % 300), seq, bytes(seq % 260))


def test_what_only_looks_like_the_end_of_the_rows(mysql_family: Database, tmp_path: Path) -> None:
    """Each row ends as the packet behind the last row does, of whatever number, or as an error would."""
    numbers = " UNION ALL ".join(f"SELECT {n} AS n" for n in range(64))
    number = "UNHEX(LPAD(HEX(t.n % 256), 2, '0'))"
    for look in (f"X'050000', {number}, X'FE00000200'", f"X'090000', {number}, X'FF1104233432303030'"):
        value = f"CONCAT(REPEAT(X'00', t.n % 99), {look})"
        mysql_family.execute(
            "CREATE TABLE t AS SELECT n, "
            f"{value} AS v FROM (SELECT a.n * 4096 + b.n * 64 + c.n AS n FROM ({numbers}) AS a,"
            f" ({numbers}) AS b, ({numbers}) AS c WHERE a.n < 8) AS t"
        )
        rows = {row["n"]: row["v"] for row in _parquet_of(mysql_family, tmp_path / "part.parquet", table="t")}
        assert rows == dict(_told(mysql_family, "SELECT n, v FROM t"))
        assert len(rows) == 8 * 4096
        mysql_family.execute("DROP TABLE t")


def test_prepared_statements_must_be_allowed(mysql_family: Database) -> None:
    """A server that allows no prepared statement, or no more of them, is told of with its setting."""
    mysql_family.execute("CREATE TABLE t (id int); INSERT INTO t VALUES (1)")
    with (
        global_settings(mysql_family, max_prepared_stmt_count=0),
        pytest.raises(SourceUnavailable, match="max_prepared_stmt_count") as caught,
    ):
        in_session(mysql_family, lambda session: session.describe(Request("t")))

    assert "raise max_prepared_stmt_count" in (caught.value.hint or "")

    def read(session: Any) -> pa.Table:
        relation = session.describe(Request("t"))
        with (
            global_settings(mysql_family, max_prepared_stmt_count=0),
            pytest.raises(SourceUnavailable, match="max_prepared_stmt_count"),
        ):
            read_scan(session, relation)
        return read_scan(session, relation)  # the snapshot is whole

    assert in_session(mysql_family, read).num_rows == 1


def test_a_driver_of_other_insides_is_named() -> None:
    """Where the driver has not what is used of it, the package is named, and what it lacks."""

    class Other:
        """A connection that reads in another way."""

        read_packet = _execute_command = None

    with pytest.raises(SourceError, match=r"package asyncmy .* lacks _fill_buffer") as caught:
        Execution(Other())
    assert "install asyncmy" in (caught.value.hint or "")


def test_statements_are_forgotten(mysql_family: Database) -> None:
    """No statement stays prepared at the server, be its scan read to the end or left before."""
    mysql_family.execute(
        "CREATE TABLE t (id int, s text);"
        "INSERT INTO t SELECT 1, REPEAT('x', 60000);" + "INSERT INTO t SELECT * FROM t;" * 11
    )

    def read(session: Any) -> int:
        relation = session.describe(Request("t"))
        for _ in range(3):
            with session.read(relation, relation.columns, None, EVERYTHING) as batches:
                next(iter(batches))
        assert read_scan(session, relation).num_rows == 2048
        ((_, count),) = mysql_family.fetch("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'")
        return int(count)

    assert in_session(mysql_family, read) == 0
