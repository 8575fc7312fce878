"""What a plan says of values that would stop a run; a check says that it looked at none."""

from __future__ import annotations

from pathlib import Path

import pytest

from rivet.run import check, plan
from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.running import by_day, run_one, run_well, settings
from tests.servers.sqlite import SqliteDatabase

# What is told of a value for which there is a policy, and what the mend is then; else the type is the mend.
NO_DATE = "1 of 2 rows holds a value that fits no calendar"
NO_DECIMAL = "1 of 2 rows holds a value that no decimal can hold"
BY_POLICY, BY_TYPE = {"unrepresentable": "null"}, {"columns": {"v": "string"}}

# Per engine: the column's type, its value in one of two rows, the type asked for, and what is said.
COUNTED: dict[str, list[tuple[str, str, str | None, str]]] = {
    "postgres": [
        ("timestamp", "'-infinity'", None, NO_DATE),
        ("date", "'0044-03-15 BC'", None, NO_DATE),
        ("numeric(12,2)", "'NaN'", None, NO_DECIMAL),
        ("numeric", "'Infinity'", "decimal(10,2)", NO_DECIMAL),
    ],
    "mariadb": [
        ("datetime", "'0000-00-00 00:00:00'", None, NO_DATE),
        ("date", "'2023-00-01'", None, NO_DATE),
    ],
    "sqlite": [
        ("DATE", "'nope'", None, NO_DATE),
        ("DECIMAL(10,2)", "9e999", None, NO_DECIMAL),
        ("INTEGER", "'abc'", None, "is INTEGER and holds what does not fit int64: 1 text"),
        ("DATE", "5", None, "is DATE and holds what does not fit date32: 1 integer"),
        ("TEXT", "'abc'", "int32", "is TEXT and holds what does not fit int32: 1 text"),
        ("REAL", "1.234", "decimal(10,2)", "holds what does not fit decimal128(10,2): 1 real"),
    ],
}


@pytest.mark.parametrize(("engine", "case"), [(e, case) for e in ENGINES for case in COUNTED[e]])
def test_a_plan_refuses_what_a_run_would_refuse(
    tmp_path: Path, database: AnyDatabase, engine: str, case: tuple[str, str, str | None, str]
) -> None:
    """With the same exit code, count and mend, which works; a check reads no row, and finds nothing."""
    declared, value, wanted, told = case
    loose = "SET sql_mode = ''; " if engine == "mariadb" else ""
    database.execute(
        f"{loose}CREATE TABLE events (id int, created_at date, v {declared}, PRIMARY KEY (id));"
        f"INSERT INTO events VALUES (1, '2023-01-01', NULL), (2, '2023-01-02', {value})"
    )
    export = by_day(tmp_path / "tree", partition_key="day", **({"columns": {"v": wanted}} if wanted else {}))
    config = settings(tmp_path, database.source, export)

    (checked,), (planned,) = check(config, listener=lambda _: None), plan(config, listener=lambda _: None)
    ran = run_one(tmp_path, database.source, export)

    assert (checked.exit_code, checked.error, checked.rows) == (0, None, None)
    assert (planned.exit_code, planned.error, planned.hint) == (2, ran.error, ran.hint)
    assert ran.exit_code == 2
    assert told in (ran.error or "")
    assert not (tmp_path / "tree").exists()
    mended = export | (BY_POLICY if told in (NO_DATE, NO_DECIMAL) else BY_TYPE)
    assert run_well(tmp_path, database.source, mended, validate=True).rows == 2


@pytest.mark.parametrize(
    ("engine", "declared", "value", "wanted"),
    [
        ("postgres", "text", "'abc'", "int32"),
        ("mariadb", "varchar(9)", "'abc'", "int32"),
        ("sqlite", "REAL", "0.1", "float32"),
    ],
)
def test_a_plan_names_the_columns_whose_values_only_a_run_sees(
    tmp_path: Path, database: AnyDatabase, declared: str, value: str, wanted: str
) -> None:
    """It promises nothing of them; the run then stops at the value, and names its row."""
    database.execute(
        f"CREATE TABLE events (id int, created_at date, v {declared}, PRIMARY KEY (id));"
        f"INSERT INTO events VALUES (1, '2023-01-01', NULL), (2, '2023-01-02', {value})"
    )
    export = by_day(tmp_path / "tree", partition_key="day", columns={"v": wanted})

    (planned,) = plan(settings(tmp_path, database.source, export), listener=lambda _: None)
    ran = run_one(tmp_path, database.source, export)

    assert planned.exit_code == 0
    assert f"not counted here: values that do not fit 'v' ({wanted}); a run" in " ".join(planned.warnings)
    assert ran.exit_code == 2
    assert "in the row with 'id' = 2, 'created_at' = 2023-01-02" in (ran.error or "")


def test_what_was_seen_on_the_way_is_told_at_once(tmp_path: Path, sqlite_database: SqliteDatabase) -> None:
    """Where SQLite declares no type, a check reads all values: then it tells all columns that do not fit."""
    sqlite_database.execute(
        "CREATE TABLE events (id INTEGER PRIMARY KEY, created_at DATE, x, n INTEGER);"
        "INSERT INTO events VALUES (1, '2023-01-01', 'a', 'b'), (2, '2023-01-02', 1, 2)"
    )
    export = by_day(tmp_path / "tree", partition_key="day")

    (checked,) = check(settings(tmp_path, sqlite_database.source, export), listener=lambda _: None)

    assert checked.exit_code == 2
    untyped, misfit = (checked.error or "").split("; ")
    assert untyped.startswith("column 'x' is of no declared type and holds values that have none in common")
    assert misfit == "column 'n' is INTEGER and holds what does not fit int64: 1 text"
    run_well(tmp_path, sqlite_database.source, export | {"columns": {"x": "string", "n": "string"}})
