"""Bytes that are no text, in a PostgreSQL database that checks none: told by row, or had as they are."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.run.running import by_day, run_one, run_well
from tests.run.trees import rows_by_glob
from tests.servers.database import Database
from tests.servers.postgres import PostgresServer

ROWS, BAD = 3_000, 1_234
BAD_BYTES = {
    "latin-1": "e974e9",
    "a continuation alone": "6180",
    "longer than needed": "c0af",
    "half a pair": "eda080",
    "beyond Unicode": "f4908080",
    "cut off": "61e282",
    "quotes and bytes": "22ff2c0a22",
}


@pytest.fixture
def raw_database(postgres: PostgresServer) -> Iterator[Database]:
    """Give a database of the encoding SQL_ASCII, with a table of one row that is not like the others."""
    name = "rivet_raw"
    encoding = "ENCODING 'SQL_ASCII' LOCALE 'C' TEMPLATE template0"
    postgres.execute(f"CREATE DATABASE {name} OWNER {postgres.user} {encoding}")
    try:
        yield Database(postgres, name)
    finally:
        postgres.drop_database(name)


def _fill(database: Database, bad: str, *, key: str = "'k'") -> None:
    raw = f"convert_from(decode('{bad}', 'hex'), 'SQL_ASCII')"
    database.execute(
        "CREATE TABLE events (id int, code text, created_at date, note text, tags text[],"
        " PRIMARY KEY (id, code));"
        f" INSERT INTO events SELECT i, 'k', date '2023-01-01' + i % 3, 'n' || i, ARRAY['fine', NULL]"
        f" FROM generate_series(1, {ROWS}) AS i;"
        f" UPDATE events SET note = {raw}, code = {key}, created_at = '2023-01-05' WHERE id = {BAD}"
    )


@pytest.mark.parametrize("bad", BAD_BYTES.values(), ids=BAD_BYTES.keys())
def test_bad_bytes_are_told_by_column_and_row_or_had_as_binary(
    tmp_path: Path, raw_database: Database, bad: str
) -> None:
    """The error has the column, the key, the day and both mends; with `binary` each byte arrives."""
    _fill(raw_database, bad)
    root = tmp_path / "tree"

    outcome = run_one(tmp_path, raw_database.source, by_day(root))

    assert (outcome.status, outcome.exit_code) == ("failed", 2)
    assert outcome.error is not None
    assert "column 'note' (text)" in outcome.error
    assert "invalid UTF8" in outcome.error
    assert outcome.error.endswith(f"in the row with 'id' = {BAD}, 'code' = 'k', 'created_at' = 2023-01-05")
    assert "the type binary under `columns`" in str(outcome.hint)
    assert not root.exists()

    run_well(tmp_path, raw_database.source, by_day(root, columns={"note": "binary"}), validate=True)

    rows = {key: (code, day, note) for key, code, day, note, _ in rows_by_glob(root)}
    told = raw_database.fetch("SELECT id, encode(convert_to(note, 'SQL_ASCII'), 'hex') FROM events")
    assert {key: note.hex() for key, (_, _, note) in rows.items()} == {k: _text(v) for k, v in told}
    assert rows[BAD][2].hex() == bad


def test_a_row_whose_key_has_the_bad_bytes_too(tmp_path: Path, raw_database: Database) -> None:
    """It is told all the same, in one line that a terminal can show."""
    _fill(raw_database, "e9", key="convert_from(decode('e91b', 'hex'), 'SQL_ASCII')")

    outcome = run_one(tmp_path, raw_database.source, by_day(tmp_path / "tree", columns={"note": "binary"}))

    assert outcome.exit_code == 2
    assert outcome.error is not None
    assert "column 'code' (text)" in outcome.error
    assert f"'id' = {BAD}" in outcome.error
    assert outcome.error.isprintable()


def test_bad_bytes_in_a_list(tmp_path: Path, raw_database: Database) -> None:
    """An item of a list is told by its column and row."""
    _fill(raw_database, "6e")
    raw_database.execute(
        "UPDATE events SET tags = ARRAY['fine', convert_from(decode('ff', 'hex'), 'SQL_ASCII')]"
        f" WHERE id = {BAD}"
    )

    outcome = run_one(tmp_path, raw_database.source, by_day(tmp_path / "tree"))

    assert outcome.exit_code == 2
    assert "column 'tags' (text[])" in str(outcome.error)
    assert f"'id' = {BAD}" in str(outcome.error)


def _text(told: str | bytes) -> str:
    return told.decode() if isinstance(told, bytes) else told
