"""Types from the config's words, the policy for what fits no type, and what check says of both."""

from __future__ import annotations

import pytest
import yaml

from rivet.config.columns import TYPES
from rivet.errors import PlanError
from rivet.plan.advice import type_advice, value_advice, zone_advice
from rivet.plan.calendar import Granularity
from rivet.plan.layout import Layout, Partitioning
from rivet.plan.overrides import override
from rivet.plan.probe import Probe
from rivet.plan.schema import Column, ColumnType, Fidelity, Kind, Override
from rivet.plan.unrepresentable import nulled_columns
from rivet.plan.windows import Axis

TEXT = ColumnType(Kind.STRING)
COLUMNS = (
    Column("at", ColumnType(Kind.INSTANT), "timestamp with time zone"),
    Column("n", ColumnType(Kind.DECIMAL, 10, 2), "numeric(10,2)"),
    Column("d", ColumnType(Kind.DATE), "date"),
)


def test_every_word_of_the_config_is_a_type() -> None:
    """No word that the config takes is unknown to the plan, and each gives one type."""
    kinds = {word: override(word).type.kind for word in TYPES}

    assert set(kinds.values()) == set(Kind) - {Kind.DECIMAL, Kind.LIST}
    assert override("decimal", precision=38, scale=9) == Override(ColumnType(Kind.DECIMAL, 38, 9))
    assert override("date", unit="s") == Override(ColumnType(Kind.DATE), "s")


@pytest.mark.parametrize("policy", ["error", "null"])
def test_what_fits_needs_no_policy(policy: str) -> None:
    """Without such a value no column is touched, and none refused."""
    assert nulled_columns(COLUMNS, Probe(10, 3), policy) == frozenset()


def test_only_columns_that_hold_such_values_are_nulled() -> None:
    """The others are read as fast as ever."""
    assert nulled_columns(COLUMNS, Probe(10, unrepresentable=(("n", 1), ("at", 2))), "null") == {"n", "at"}


def test_error_names_each_column_in_order_with_what_is_wrong_with_it() -> None:
    """A date fits no calendar, a decimal holds no NaN; each has its count, and a reason stands once."""
    with pytest.raises(PlanError) as caught:
        nulled_columns(COLUMNS, Probe(10, unrepresentable=(("d", 3), ("n", 1), ("at", 2))), "error")

    at, n, d = str(caught.value).split("; ")
    assert at.startswith("column 'at': 2 of 10 rows hold a value that fits no calendar (infinity, zero")
    assert n == "column 'n': 1 of 10 rows holds a value that no decimal can hold (NaN or infinity)"
    assert d == "column 'd': 3 of 10 rows likewise"


@pytest.mark.parametrize(
    ("source_type", "why", "wanted"),
    [
        ("numeric", "comes without precision and scale", "decimal(38,9)"),
        ("DECIMAL", "comes without precision and scale", "decimal(38,9)"),
        ("numeric(60,10)", "has more than the 38 digits of a decimal", "decimal(38,10)"),
        ("decimal(65,30)", "has more than the 38 digits of a decimal", "decimal(38,30)"),
        ("numeric(50)", "has more than the 38 digits of a decimal", "decimal(38,0)"),
        ("numeric(38,-5)", "has more than the 38 digits of a decimal", "decimal(38,0)"),
        ("numeric(3,50)", "has more than the 38 digits of a decimal", "decimal(38,38)"),
    ],
)
def test_a_decimal_as_text_has_the_override_to_write(source_type: str, why: str, wanted: str) -> None:
    """What check prints is YAML that the config takes, whatever the name is, and keeps the decimals."""
    (line,) = type_advice([Column('a "b": {ü', TEXT, source_type, Fidelity.TEXT)], ())

    assert f"({source_type}) {why}, so it is exact text" in line
    written = line[line.index("columns: ") : line.index(", with digits")]
    assert yaml.safe_load(written) == {"columns": {'a "b": {ü': wanted}}


def test_decimals_of_one_type_are_told_together() -> None:
    """A table with many of them has one line for each type, to be taken over as it is."""
    columns = [Column(name, TEXT, "numeric", Fidelity.TEXT) for name in ("a", "b")]
    together, alone = type_advice([*columns, Column("c", TEXT, "numeric(50)", Fidelity.TEXT)], ())

    assert together.startswith(
        "columns 'a', 'b' (numeric) come without precision and scale, so they are exact"
    )
    written = together[together.index("columns: ") : together.index(", with digits")]
    assert yaml.safe_load(written) == {"columns": {"a": "decimal(38,9)", "b": "decimal(38,9)"}}
    assert alone.startswith(
        "column 'c' (numeric(50)) has more than the 38 digits of a decimal, so it is exact"
    )


@pytest.mark.parametrize("engine", ["postgres", "mysql", "mariadb", "sqlite"])
def test_values_that_no_probe_counts_are_told(engine: str) -> None:
    """Those of lossy columns, but for what SQLite's own probe looks at; of others nothing is said."""
    lossy = [Column(k.name, ColumnType(k), "text", Fidelity.LOSSY) for k in (Kind.INT32, Kind.FLOAT32)]

    told = value_advice([*COLUMNS, *lossy], engine)

    named = "'FLOAT32' (float32)" if engine == "sqlite" else "'INT32' (int32), 'FLOAT32' (float32)"
    assert told == [
        f"not counted here: values that do not fit {named}; a run stops at the first and names its row"
    ]
    assert value_advice(COLUMNS, engine) == []


@pytest.mark.parametrize(
    "column",
    [
        Column("a", ColumnType(Kind.DECIMAL, 10, 2), "numeric(10,2)"),
        Column("a", TEXT, "interval", Fidelity.TEXT),
        Column("a", ColumnType(Kind.LIST, element=TEXT), "numeric[]"),
        Column("a", TEXT, "numeric[]", Fidelity.TEXT),
        Column("a", TEXT, "numerical_strings", Fidelity.TEXT),
    ],
    ids=str,
)
def test_nothing_is_said_of_other_columns(column: Column) -> None:
    """Only a decimal that came as text without being asked to has such a line."""
    assert type_advice([column], ()) == []
    assert type_advice([Column("A", TEXT, "numeric", Fidelity.TEXT)], ["a"]) == []


@pytest.mark.parametrize(
    ("kind", "zone", "told"),
    [
        (Kind.DATE, "Asia/Tokyo", True),
        (Kind.TIMESTAMP, "Asia/Tokyo", True),
        (Kind.INSTANT, "Asia/Tokyo", False),
        (Kind.TIMESTAMP, "UTC", False),
    ],
)
def test_a_zone_that_changes_nothing_is_told(kind: Kind, zone: str, told: bool) -> None:
    """Only of a column that holds no instants."""
    partitioning = Partitioning("at", "day", Axis(kind, Granularity.DAY, zone), "{partition}")

    lines = zone_advice(Layout("events", "manifest.json", partitioning))

    assert [line.startswith("column 'at' holds no instants") for line in lines] == [True] * told
