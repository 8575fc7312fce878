"""What a check says of each reader: nothing but what would mislead it or needs an option."""

from __future__ import annotations

from typing import Any

import pytest

from rivet.plan.advice import key_advice
from rivet.plan.calendar import Granularity, days_from_civil
from rivet.plan.layout import Layout, Partitioning
from rivet.plan.readers import READERS, old_values, readers
from rivet.plan.schema import Column, ColumnType, Kind
from rivet.plan.windows import Axis

ID = Column("id", ColumnType(Kind.INT64), "bigint")
# What is true of every tree, by reader.
ALWAYS = {"Polars": 1, "BigQuery": 1, "Snowflake": 2}


def _said(*columns: Column, manifest: str = "_manifest.json", **partitioning: Any) -> dict[str, list[str]]:
    kind, granularity = partitioning.pop("kind", Kind.DATE), partitioning.pop("by", Granularity.DAY)
    told: dict[str, Any] = {
        "column": "at",
        "key": "day",
        "template": "{partition}",
        "axis": Axis(kind, granularity),
    }
    return readers((ID, *columns), Layout("events", manifest, Partitioning(**told | partitioning)))


def _only(said: dict[str, list[str]]) -> dict[str, list[str]]:
    """Leave out what is true of every tree."""
    return {
        r: lines[: len(lines) - ALWAYS.get(r, 0)] for r, lines in said.items() if lines[ALWAYS.get(r, 0) :]
    }


def test_a_tree_made_for_readers_is_read_as_it_is() -> None:
    """Only what every tree wants is said, of each in turn, and nothing of DuckDB and pyarrow."""
    said = _said()

    assert tuple(said) == READERS
    assert {reader: len(lines) for reader, lines in said.items() if lines} == ALWAYS


def test_a_tree_without_partitions_has_no_key_to_tell_of() -> None:
    """Only the files beside the data are told, and the glob."""
    said = readers((ID,), Layout("events", "manifest.json", None))

    assert {r: len(lines) for r, lines in said.items() if lines} == {
        "pyarrow": 1,
        "Polars": 1,
        "Spark": 1,
        "Athena": 1,
        "BigQuery": 1,
        "Snowflake": 1,
    }


@pytest.mark.parametrize(
    ("kind", "granularity", "hidden"),
    [
        (Kind.DATE, Granularity.DAY, False),
        (Kind.DATE, Granularity.MONTH, True),
        (Kind.TIMESTAMP, Granularity.DAY, True),
        (Kind.INSTANT, Granularity.YEAR, True),
    ],
)
def test_a_key_with_the_name_of_its_column_hides_values(
    kind: Kind, granularity: Granularity, hidden: bool
) -> None:
    """Except where the label is the value; then only those complain that want no name twice."""
    said = _said(column="at", key="at", kind=kind, by=granularity)
    layout = Layout("events", "", Partitioning("at", "at", Axis(kind, granularity), "{partition}"))

    assert ("instead of 'at'" in " ".join(said["DuckDB"])) is hidden
    assert ("instead of 'at'" in " ".join(said["Spark"])) is hidden
    assert ("'at': set partition_key" in " ".join(said["Polars"])) is hidden
    assert "two types of 'at'" in " ".join(said["pyarrow"])
    assert "name of a column" in " ".join(said["Athena"])
    assert "name of a column" in " ".join(said["BigQuery"])
    assert [line.startswith("column 'at' stands both") for line in key_advice(layout)] == [True] * hidden


def test_nothing_hides_a_column_that_is_not_in_the_files() -> None:
    """A column that was dropped comes from the path alone, under the key's name."""
    said = _only(_said(column="created_on", key="at", in_files=False))

    assert said == {
        "pyarrow": ["gives 'at' as text: declare it with partitioning(pa.schema(…), flavor='hive')"],
        "Polars": ["leaves 'at' out unless it reads with hive_partitioning=True"],
    }


def test_names_that_differ_in_case_are_one_to_those_that_fold() -> None:
    """DuckDB, Spark and Athena fold names; pyarrow and Polars see a key and a column."""
    said = _only(_said(column="at", key="AT", kind=Kind.TIMESTAMP))

    assert set(said) == {"DuckDB", "Spark", "Athena", "BigQuery"}
    assert any("lower case" in line for line in said["Athena"])


def test_a_key_that_is_escaped_is_told_as_it_will_be_seen() -> None:
    """DuckDB and Polars take the directory's name as it stands, and so hide no column of that name."""
    doubled = _only(_said(column="a/b", key="a/b", kind=Kind.TIMESTAMP))
    alone = _only(_said(key='a/"b'))

    line = "calls the key {}, as the directory is: set partition_key to another name, or {}"
    assert doubled["DuckDB"] == [line.format("'a%2Fb'", "read with hive_partitioning = false")]
    assert doubled["Polars"] == [line.format("'a%2Fb'", "read without hive_partitioning")]
    assert any("instead of 'a/b'" in line for line in doubled["Spark"])
    assert alone == {
        "DuckDB": [line.format("'a%2F%22b'", 'select * RENAME ("a%2F%22b" AS "a/""b")')],
        "Polars": [line.format("'a%2F%22b'", '.rename({"a%2F%22b": "a/\\"b"})')],
    }


def test_the_label_of_a_year_is_a_number_to_those_that_guess() -> None:
    """Each has an option of its own to have it as text."""
    said = _only(_said(by=Granularity.YEAR))

    assert set(said) == {"DuckDB", "pyarrow", "Polars", "Spark", "BigQuery"}
    assert all("a number: declare text with" in lines[0] for lines in said.values())


def test_a_manifest_among_the_data_is_told() -> None:
    """Only of those that open whole folders."""
    said = _only(_said(manifest="manifest.json"))

    assert set(said) == {"pyarrow", "Spark", "Athena"}
    assert all(": set manifest_name: _manifest.json" in lines[0] for lines in said.values())


@pytest.mark.parametrize(
    ("column_type", "told"),
    [
        (ColumnType(Kind.UUID), {"Polars": "as 16 bytes", "Spark": "string", "Athena": "string"}),
        (ColumnType(Kind.TIME), {"Spark": "string", "Athena": "string"}),
        (
            ColumnType(Kind.DURATION),
            dict.fromkeys(("DuckDB", "Spark", "Athena", "BigQuery", "Snowflake"), "microseconds"),
        ),
        (ColumnType(Kind.UINT64), dict.fromkeys(("Athena", "BigQuery"), "decimal(20,0)")),
        (ColumnType(Kind.TIMESTAMP), {"Athena": "milliseconds"}),
        (ColumnType(Kind.INSTANT), {"Athena": "milliseconds", "Spark": "before 1900"}),
        (ColumnType(Kind.DATE), {"Spark": "before 1582-10-15"}),
        (ColumnType(Kind.DECIMAL, 38, 9), {}),
        (ColumnType(Kind.DECIMAL, 38, 8), {"BigQuery": "BIGNUMERIC"}),
        (ColumnType(Kind.DECIMAL, 38, 10), {"BigQuery": "BIGNUMERIC"}),
        (ColumnType(Kind.LIST, element=ColumnType(Kind.INT32)), {"BigQuery": "enable_list_inference"}),
        (ColumnType(Kind.STRING), {}),
        (ColumnType(Kind.JSON), {}),
        (ColumnType(Kind.UINT32), {}),
        (ColumnType(Kind.BINARY), {}),
    ],
)
def test_types_that_a_reader_lacks_are_told(column_type: ColumnType, told: dict[str, str]) -> None:
    """Each with what it becomes or what to write."""
    said = _said(Column("c", column_type, "source"))
    before = _said()

    more = {reader: [li for li in lines if li not in before[reader]] for reader, lines in said.items()}
    assert {reader for reader, lines in more.items() if lines} == set(told)
    for reader, words in told.items():
        assert words in more[reader][0]


def test_lists_are_told_by_their_elements_too() -> None:
    """Spark refuses a list of UUIDs as it refuses a UUID."""
    of_uuids = ColumnType(Kind.LIST, element=ColumnType(Kind.UUID))

    assert "refuses 'c'" in " ".join(_said(Column("c", of_uuids, "uuid[]"))["Spark"])


def test_many_columns_are_cut() -> None:
    """Three names, and how many more there are."""
    said = _said(*(Column(f"c{n}", ColumnType(Kind.UUID), "uuid") for n in range(9)))

    assert "refuses 'c0', 'c1', 'c2' and 6 more:" in " ".join(said["Spark"])


@pytest.mark.parametrize(
    ("kind", "minimum", "told"),
    [
        (Kind.DATE, days_from_civil(1582, 10, 14), "values begin at 1582-10-14: "),
        (Kind.DATE, days_from_civil(1582, 10, 15), None),
        (
            Kind.INSTANT,
            days_from_civil(1900, 1) * 86_400_000_000 - 1,
            "values begin at 1899-12-31T23:59:59.999999Z",
        ),
        (Kind.INSTANT, days_from_civil(1900, 1) * 86_400_000_000, None),
        (Kind.TIMESTAMP, days_from_civil(1, 1) * 86_400_000_000, None),
        (Kind.DATE, None, None),
    ],
)
def test_a_plan_warns_of_values_older_than_sparks_calendar(
    kind: Kind, minimum: int | None, told: str | None
) -> None:
    """Dates before 1582-10-15 and instants before 1900; naive values were never rebased."""
    lines = old_values(Axis(kind, Granularity.DAY), minimum)

    assert len(lines) == (told is not None)
    assert all(line.startswith(told or "") for line in lines)
