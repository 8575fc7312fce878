"""Any name that a database allows: of schema, table, columns, key and the columns that are left out."""

from __future__ import annotations

import datetime as dt
import itertools
import string
import tempfile
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.running import by_day, run_well
from tests.run.trees import NULL, manifests, rows_by_manifest

DAY = dt.date(2024, 2, 29)
# Signs that end a quotation, a path, a format, a statement or a placeholder somewhere, and words of SQL.
SIGNS = "\"'`[]\\.,;:%$?#@!&*()=+-/<>{}|~^ \t"
WORDS = ["select", "Table", "ORDER", "rivet", "id", "ID", "null", "__x", "%s", ":p", "$1", "a.b", "--", "/*"]
LETTERS = string.ascii_letters + string.digits + "_éßЖ中ıİ\u0301\u200b\u00a0"
# What each engine takes: its bytes or characters at most, and whether it has signs beyond U+FFFF.
LIMITS = {"postgres": 63, "mariadb": 60, "sqlite": 80}

_numbers = itertools.count()


def names(engine: str) -> st.SearchStrategy[str]:
    """Give names that the engine takes; their length is counted in the most bytes that a letter may have."""
    letters = LETTERS + ("😀" if engine != "mariadb" else "")
    free = st.text(st.sampled_from(SIGNS + letters), min_size=1, max_size=LIMITS[engine] // 4)

    def is_allowed(name: str) -> bool:
        # MySQL's manual, "Schema Object Names": none ends in a space. None is blank, either.
        return engine != "mariadb" or (name.strip(" ") == name and bool(name.strip()))

    return (st.sampled_from(WORDS) | free).filter(is_allowed)


def quoted(name: str, engine: str) -> str:
    """Quote a name by hand, as the engine's manual says."""
    mark = "`" if engine == "mariadb" else '"'
    return mark + name.replace(mark, mark * 2) + mark


@pytest.mark.parametrize("engine", ENGINES, scope="module")
def test_any_name_reaches_statements_files_and_manifests(engine: str, shared_database: AnyDatabase) -> None:
    """A table of any name exports by a column of any name, without others; by one scan and by several."""

    @settings(max_examples=12, derandomize=True, deadline=None, database=None)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        distinct = st.lists(names(engine), min_size=4, max_size=7, unique_by=str.casefold)
        table, partition, left_out, *columns = data.draw(distinct)
        key = data.draw(names(engine).filter(lambda n: n[0] not in "_.")) + " key"
        scan = data.draw(st.sampled_from(["single", "per_partition"]))
        table = quoted(f"{table}{next(_numbers)}", engine)  # no example meets the table of another
        if engine == "postgres":
            schema = quoted(data.draw(names(engine)), engine)
            shared_database.execute(f"CREATE SCHEMA IF NOT EXISTS {schema}")
            table = f"{schema}.{table}"
        with tempfile.TemporaryDirectory() as directory:
            _export(Path(directory), table, partition, left_out, columns, key, scan)

    def _export(
        directory: Path, table: str, partition: str, left_out: str, columns: list[str], key: str, scan: str
    ) -> None:
        declared = ", ".join(f"{quoted(c, engine)} int" for c in columns)
        day, unwanted, first = (quoted(c, engine) for c in (partition, left_out, columns[0]))
        values = ", ".join(map(str, range(len(columns))))
        shared_database.execute(
            f"CREATE TABLE {table} ({day} date, {unwanted} int, {declared}, PRIMARY KEY ({first}));"
            f"INSERT INTO {table} VALUES ('2024-02-29', 7, {values});"
            f"INSERT INTO {table} ({first}) VALUES (99)"
        )
        root = directory / "tree"
        export = by_day(
            root, table=table, partition_by=partition, partition_key=key, exclude=[left_out], scan=scan
        )

        run_well(directory, shared_database.source, export, validate=True)

        assert rows_by_manifest(root) == {
            "2024-02-29": [(DAY, *range(len(columns)))],
            NULL: [(None, 99, *[None] * (len(columns) - 1))],
        }
        for part in root.rglob("*.parquet"):
            assert pq.ParquetFile(part).schema_arrow.names == [partition, *columns]
        facts = manifests(root)["2024-02-29"]
        assert (facts["partition"]["column"], facts["partition"]["key"]) == (partition, key)
        assert facts["source"]["table"].rpartition(".")[2] in table

    check()
