"""A value that does not fit its type is told with the row that holds it, so that a person can find it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.running import by_day, run_one
from tests.servers.database import Database
from tests.servers.sqlite import SqliteDatabase

ROWS = 20_000
BAD = 12_345
# Per engine: the column's type, what makes an ordinary value of the number i, a value that does not fit and
# the type that is asked for, if any, and what the message says of it.
CASES: dict[str, list[tuple[str, str, str, str | None, str]]] = {
    "postgres": [
        ("time", "'23:59:59'", "'24:00:00'", None, "value '24:00:00' does not fit"),
        ("text", "i::text", "'a' || chr(27) || repeat('b', 500)", "int32", r"value 'a\x1bbbb"),
        ("double precision", "i", "1e300", "float32", "value '1e+300' is not exact in this type"),
        ("numeric(12,2)[]", "ARRAY[i]", "'{NaN}'", None, "value 'NaN' does not fit"),
    ],
    "mariadb": [
        ("varchar(600)", "i", "concat('a', char(27), repeat('b', 500))", "int32", r"value 'a\x1bbbb"),
        ("blob", "'fine'", "x'61ff'", "string", "invalid UTF8 data"),
        ("decimal(20,8)", "i", "1.23456789", "decimal(10,2)", "value '1.23456789' has more digits"),
    ],
    "sqlite": [
        ("TEXT", "'fine'", "CAST(x'61ff' AS TEXT)", None, "1 text is not valid UTF-8"),
        ("REAL", "i", "1e300", "float32", "a value lies between two of them"),
    ],
}
NUMBERS = {
    "postgres": f"generate_series(1, {ROWS}) AS n(i)",
    "mariadb": f"(SELECT seq AS i FROM seq_1_to_{ROWS}) AS n",
    "sqlite": "(WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n "
    f"LIMIT {ROWS}) SELECT i FROM n)",
}


@pytest.mark.parametrize(("engine", "case"), [(e, case) for e in ENGINES for case in CASES[e]])
def test_the_row_is_told_by_its_key_and_its_day(
    tmp_path: Path, database: AnyDatabase, engine: str, case: tuple[str, str, str, str | None, str]
) -> None:
    """Of many rows the one is named, by key and partition value; nothing is long or a control sign."""
    declared, fine, bad, wanted, told = case
    long = "varchar(20)" if engine == "mariadb" else "text"
    database.execute(
        f"CREATE TABLE events (id int, code {long}, v {declared}, created_at date, PRIMARY KEY (id, code));"
        f"INSERT INTO events SELECT i, 'k', {fine}, NULL FROM {NUMBERS[engine]};"
        f"UPDATE events SET v = {bad}, created_at = '2023-01-05' WHERE id = {BAD};"
        "UPDATE events SET created_at = '2023-01-04' WHERE id > 15000"
    )
    changes: dict[str, Any] = {"columns": {"v": wanted}} if wanted else {}

    outcome = run_one(tmp_path, database.source, by_day(tmp_path / "tree", partition_key="day", **changes))

    assert outcome.exit_code == 2
    assert outcome.error is not None
    assert told in outcome.error
    assert outcome.error.endswith(f", in the row with 'id' = {BAD}, 'code' = 'k', 'created_at' = 2023-01-05")
    assert outcome.error.isprintable()
    assert len(outcome.error) < 400


@pytest.mark.parametrize("engine", ENGINES)
def test_a_row_without_key_or_day_is_told_by_its_number(
    tmp_path: Path, database: AnyDatabase, engine: str
) -> None:
    """Nothing else tells it; a day alone does where there is one, NULL too."""
    declared = {"postgres": "double precision", "mariadb": "double", "sqlite": "REAL"}[engine]
    database.execute(
        f"CREATE TABLE events (v {declared}, created_at date);"
        f"INSERT INTO events SELECT i, NULL FROM {NUMBERS[engine]}; INSERT INTO events VALUES (1e300, NULL)"
    )
    export = by_day(tmp_path / "tree", columns={"v": "float32"})
    whole = {k: v for k, v in export.items() if not k.startswith("partition")}
    whole["destination"] = {"type": "local", "path": str(tmp_path / "whole")}

    errors = [run_one(tmp_path, database.source, e).error or "" for e in (whole, export)]

    assert errors[0].endswith(", in row 20,001 of the scan")
    assert errors[1].endswith(", in the row with 'created_at' = NULL")


def test_a_key_that_is_itself_no_text_is_told_by_its_bytes(
    tmp_path: Path, mariadb_database: Database, sqlite_database: SqliteDatabase
) -> None:
    """The value that does not fit may be the one that tells the row; binary keys are told in hexadecimal."""
    export = by_day(tmp_path / "tree", columns={"code": "string"})
    tables = (
        (mariadb_database, "id varbinary(4), code varbinary(9)", "x'61ff'"),
        (sqlite_database, "id BLOB, code TEXT", "CAST(x'61ff' AS TEXT)"),
    )
    for database, declared, bad in tables:
        database.execute(
            f"CREATE TABLE events ({declared}, created_at date, PRIMARY KEY (id, code));"
            f"INSERT INTO events VALUES (x'00ab', {bad}, '2023-01-01')"
        )

        error = run_one(tmp_path, database.source, export).error

        row = r"'id' = 0x00ab, 'code' = 'a\\xff', 'created_at' = 2023-01-01"
        assert (error or "").endswith(f", in the row with {row}")
