"""What docs/readers.md prints is run where it can be, and held to the tree and the check where it cannot."""

from __future__ import annotations

import ast
import json
import re
import runpy
from collections.abc import Callable, Collection
from pathlib import Path

import duckdb
import pyarrow as pa
import pytest
import sqlglot
from sqlglot import exp

from rivet.config.load import load_settings
from rivet.plan.calendar import Granularity
from rivet.plan.layout import Layout, Partitioning
from rivet.plan.readers import READERS, readers
from rivet.plan.schema import Column, ColumnType, Kind
from rivet.plan.windows import Axis
from rivet.run import run
from tests.cli.conftest import REPOSITORY
from tests.readers.reading import values
from tests.servers.database import Database

PAGE = (REPOSITORY / "docs" / "readers.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```\w*\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
CONFIG, DUCKDB, DUCKDB_PLAIN, DUCKDB_SIGNS, PYARROW, PYARROW_PLAIN, PYARROW_DATE, *OTHERS = BLOCKS
POLARS, POLARS_PLAIN, POLARS_SIGNS, SPARK, *SQL = OTHERS
ATHENA, BIGQUERY, SNOWFLAKE, COPY = SQL

INSTANTS = [1_672_564_150_111_213, 1_672_613_999_999_999, 1_709_164_800_000_000, None]
DAYS = ["2023-01-01", "2023-01-01", "2024-02-29", None]


@pytest.fixture
def export(
    tmp_path: Path, postgres_database: Database, monkeypatch: pytest.MonkeyPatch
) -> Callable[[str], Path]:
    """Give what exports by a config as it is printed, in a directory that is then the working directory."""
    postgres_database.execute(
        "CREATE TABLE events (id int, created_at timestamptz, day date);"
        "INSERT INTO events VALUES (1, '2023-01-01 09:09:10.111213Z', '2023-01-01'),"
        "(2, '2023-01-01 22:59:59.999999Z', '2023-01-01'), (3, '2024-02-29 00:00:00Z', '2024-02-29'),"
        "(4, NULL, NULL)"
    )

    def write(config: str) -> Path:
        (tmp_path / "rivet.yaml").write_text(config, encoding="utf-8")
        settings = load_settings(tmp_path / "rivet.yaml", {"DATABASE_URL": postgres_database.url})
        outcome = run(settings, validate=True, listener=lambda _: None)
        assert [e.error for e in outcome.exports] == [None]
        monkeypatch.chdir(tmp_path)
        return tmp_path / "out" / "events"

    return write


def _run(block: str) -> pa.Table:
    """Run a block as a person would, and give what it read, in order of `id`."""
    if block.startswith("SELECT"):
        with duckdb.connect() as duck:
            duck.execute("SET TimeZone = 'UTC'")
            return duck.execute(block).to_arrow_table()
    script = Path("block.py")
    script.write_text(block, encoding="utf-8")
    names = runpy.run_path(str(script))
    found = names["table"] if "table" in names else names["frame"].to_arrow()
    return found.sort_by("id")


def _assert_whole(table: pa.Table) -> None:
    assert values(table, "created_at") == INSTANTS
    assert [day and str(day) for day in values(table, "day")] == DAYS


@pytest.mark.parametrize("block", [DUCKDB, PYARROW, POLARS], ids=["duckdb", "pyarrow", "polars"])
def test_the_layout_for_readers_is_read_as_printed(export: Callable[[str], Path], block: str) -> None:
    """Each block gives all columns with the time of day, and the label beside them."""
    export(CONFIG)
    table = _run(block)

    _assert_whole(table)
    assert [key and str(key) for key in values(table, "created_date")] == DAYS


@pytest.mark.parametrize(
    "block", [DUCKDB_PLAIN, PYARROW_PLAIN, POLARS_PLAIN], ids=["duckdb", "pyarrow", "polars"]
)
def test_the_defaults_are_read_as_printed(export: Callable[[str], Path], block: str) -> None:
    """Without key and manifest name, the blocks for that give all columns with the time of day."""
    defaults = re.sub(r"\n +(partition_key|manifest_name): \S+", "", CONFIG)
    assert len(CONFIG.splitlines()) - len(defaults.splitlines()) == 2
    root = export(defaults)

    assert (root / "created_at=2023-01-01" / "manifest.json").exists()
    table = _run(block)
    _assert_whole(table)
    assert table.column_names == ["id", "created_at", "day"]


@pytest.mark.parametrize("block", [DUCKDB_SIGNS, POLARS_SIGNS], ids=["duckdb", "polars"])
def test_a_key_with_signs_is_read_as_printed(export: Callable[[str], Path], block: str) -> None:
    """The key has the name that the config gives it, beside all columns with the time of day."""
    root = export(CONFIG.replace("partition_key: created_date", 'partition_key: "created/date"'))

    assert (root / "created%2Fdate=2023-01-01").is_dir()
    table = _run(block)
    _assert_whole(table)
    assert [key and str(key) for key in values(table, "created/date")] == DAYS


def test_a_dropped_date_is_declared_as_printed(export: Callable[[str], Path]) -> None:
    """It comes back from the path as a date."""
    export(
        CONFIG.replace("partition_by: created_at", "partition_by: day").replace(
            "partition_key: created_date", "partition_column: drop"
        )
    )
    table = _run(PYARROW_DATE)

    assert table.schema.field("day").type == pa.date32()
    _assert_whole(table)


def test_statements_of_the_services_name_what_lands(export: Callable[[str], Path]) -> None:
    """Each parses in its dialect, and has the tree's columns, key, labels and files."""
    root = export(CONFIG)
    facts = json.loads((root / "created_date=2023-01-01" / "_manifest.json").read_text(encoding="utf-8"))
    columns, key = [column["name"] for column in facts["schema"]], facts["partition"]["key"]
    statements = {"athena": ATHENA, "bigquery": BIGQUERY, "snowflake": SNOWFLAKE}
    defined = {
        dialect: [c.name for c in sqlglot.parse_one(text, dialect=dialect).find_all(exp.ColumnDef)]
        for dialect, text in statements.items()
    }

    assert defined == {"athena": [*columns, key], "bigquery": [], "snowflake": [key, *columns]}
    assert f"PARTITION COLUMNS ({key} STRING)" in BIGQUERY
    assert isinstance(sqlglot.parse_one(COPY, dialect="snowflake"), exp.Copy)
    for text in (SNOWFLAKE, COPY):
        pattern = re.compile(re.search(r"PATTERN = '(.*)'", text)[1])  # type: ignore[index]
        taken = [p for p in root.rglob("*") if p.is_file() and pattern.fullmatch(str(p))]
        assert sorted(taken) == sorted(root.rglob("*.parquet"))
    assert f"'{key}=', 2" in SNOWFLAKE
    assert "__HIVE_DEFAULT_PARTITION__" in SNOWFLAKE
    assert (root / f"{key}=__HIVE_DEFAULT_PARTITION__").is_dir()


def test_the_page_has_a_section_for_each_reader_and_every_option_that_a_check_names() -> None:
    """What a check tells people to write is on the page; Spark's block is Python, and reads the root."""
    sections = re.findall(r"^## (\w+)$", PAGE, re.MULTILINE)
    kinds = [ColumnType(kind) for kind in Kind if kind not in (Kind.DECIMAL, Kind.LIST)]
    kinds += [ColumnType(Kind.DECIMAL, 38, 0), ColumnType(Kind.LIST, element=ColumnType(Kind.INT32))]
    columns = [Column(f"c{n}", kind, "source") for n, kind in enumerate([*kinds, kinds[0]])]
    columns.append(Column("C0", kinds[0], "source"))
    lines = [
        line
        for key, in_files in (("at", True), ("A/T", True), ("at", False))
        for said in _every_reader(columns, key, in_files=in_files)
        for line in said
    ]
    options = {
        word
        for line in lines
        for word in re.findall(r"[A-Za-z.$]+(?:_[a-z_]+|\$[A-Z]+|[a-z][A-Z]\w*)+", line)
    }

    assert [section for section in sections if section in READERS] == list(READERS)
    assert len(options) > 10
    assert {option for option in options if option not in PAGE} == set()
    assert ast.parse(SPARK)
    assert 'parquet("out/events")' in SPARK


def _every_reader(columns: list[Column], key: str, *, in_files: bool) -> Collection[list[str]]:
    axis = Axis(Kind.INSTANT, Granularity.YEAR)
    partitioning = Partitioning(key, key, axis, "{partition}", in_files)
    return readers(columns, Layout("events", "manifest.json", partitioning)).values()
