"""Random tables, and random queries over them, come back row for row, each in the directory of its date."""

from __future__ import annotations

import datetime as dt
import itertools
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.run.conftest import ENGINES, AnyDatabase
from tests.run.refusing import by_query
from tests.run.running import by_day, run_well
from tests.run.test_any_name import names, quoted
from tests.run.trees import NULL, rows_by_manifest

LABEL_LENGTHS = {"day": 10, "month": 7, "year": 4}
MAX_ROWS = 8

_numbers = itertools.count()


@dataclass(frozen=True)
class Type:
    """A type of a column: its declaration, its values, and how they are written in SQL by hand."""

    declared: str
    values: st.SearchStrategy[Any]
    literal: Callable[[Any], str]


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _moment(value: dt.datetime) -> str:
    return f"'{value.replace(tzinfo=None).isoformat(' ')}'"


def _hex(value: bytes) -> str:
    return f"X'{value.hex()}'"


INT32 = st.integers(-(2**31), 2**31 - 1)
INT64 = st.integers(-(2**63), 2**63 - 1)
# SQL has no literal for the least of them that is not a negated, too large one.
SQLITE_INT64 = st.integers(1 - 2**63, 2**63 - 1)
DOUBLES = st.floats(allow_nan=False, allow_infinity=False, allow_subnormal=False)
TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=20) | st.sampled_from(
    ["", "NULL", "\\N", "\\.", 'a"b', "a,b", "\r\n", "\x14", "true", "%s", "NaN", " "]
)
DECIMALS = st.integers(1 - 10**12, 10**12 - 1).map(lambda n: Decimal(n).scaleb(-3))
DATES = st.dates() | st.sampled_from([dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.date(1970, 1, 1)])
MOMENTS = st.datetimes() | st.datetimes(dt.datetime(2024, 2, 28), dt.datetime(2024, 3, 2))
INSTANTS = MOMENTS.map(lambda moment: moment.replace(tzinfo=dt.UTC))
BYTES = st.binary(max_size=20)

TYPES: dict[str, list[Type]] = {
    "postgres": [
        Type("integer", INT32, str),
        Type("bigint", INT64, str),
        Type("boolean", st.booleans(), str),
        Type("text", TEXTS, _text),
        Type("numeric(12,3)", DECIMALS, str),
        Type("double precision", DOUBLES, lambda v: f"'{v!r}'"),
        Type("bytea", BYTES, lambda v: f"'\\x{v.hex()}'"),
    ],
    "mariadb": [
        Type("int", INT32, str),
        Type("bigint unsigned", st.integers(0, 2**64 - 1), str),
        Type("tinyint(1)", st.integers(-128, 127), str),
        Type("varchar(40) CHARACTER SET utf8mb4", TEXTS, lambda v: f"_utf8mb4 {_hex(v.encode())}"),
        Type("decimal(12,3)", DECIMALS, str),
        Type("double", DOUBLES, repr),
        Type("varbinary(20)", BYTES, _hex),
    ],
    "sqlite": [
        Type("INTEGER", SQLITE_INT64, str),
        Type("BOOLEAN", st.booleans(), lambda v: str(int(v))),
        Type("TEXT", TEXTS, lambda v: f"CAST({_hex(v.encode())} AS TEXT)"),
        Type("REAL", DOUBLES, lambda v: f"{v:.17e}"),
        Type("BLOB", BYTES, _hex),
    ],
}
DATED: dict[str, list[Type]] = {
    "postgres": [
        Type("date", DATES, lambda v: f"'{v}'"),
        Type("timestamp", MOMENTS, _moment),
        Type("timestamptz", INSTANTS, lambda v: f"{_moment(v)[:-1]}+00'"),
    ],
    "mariadb": [Type("date", DATES, lambda v: f"'{v}'"), Type("datetime(6)", MOMENTS, _moment)],
    "sqlite": [Type("DATE", DATES, lambda v: f"'{v}'"), Type("DATETIME", MOMENTS, _moment)],
}


@dataclass(frozen=True)
class Table:
    """A random table; the first column numbers the rows, and `dated` is the place of the partition column."""

    named: str
    columns: list[str]
    types: list[Type]
    rows: list[tuple[Any, ...]]
    dated: int

    def create(self, engine: str) -> str:
        """Write the statements that make it."""
        declared = ", ".join(
            f"{quoted(c, engine)} {t.declared}" for c, t in zip(self.columns, self.types, strict=True)
        )
        made = f"CREATE TABLE {self.named} ({declared}, PRIMARY KEY ({quoted(self.columns[0], engine)}))"
        values = [
            ", ".join("NULL" if v is None else t.literal(v) for t, v in zip(self.types, row, strict=True))
            for row in self.rows
        ]
        return "; ".join([made, *(f"INSERT INTO {self.named} VALUES ({v})" for v in values)])


@st.composite
def tables(draw: st.DrawFn, engine: str) -> Table:
    """Give a table of up to eight rows and six columns."""
    kinds = st.sampled_from(TYPES[engine] + DATED[engine])
    numbered = TYPES[engine][0]
    types = [numbered, draw(st.sampled_from(DATED[engine])), *draw(st.lists(kinds, max_size=4))]
    columns = draw(
        st.lists(names(engine), min_size=len(types), max_size=len(types), unique_by=str.casefold).filter(
            lambda found: found[1][0] not in "_."
        )
    )
    order = draw(st.permutations(range(1, len(types))))
    types = [types[0], *(types[i] for i in order)]
    values = st.tuples(*(st.none() | t.values for t in types[1:]))
    rows = [(i, *row) for i, row in enumerate(draw(st.lists(values, max_size=MAX_ROWS)))]
    named = quoted(f"{draw(names(engine))}{next(_numbers)}", engine)
    dated = 1 + order.index(1)
    if columns[dated][0] in "_.":
        columns[1], columns[dated] = columns[dated], columns[1]
    return Table(named, columns, types, rows, dated)


@st.composite
def queries(draw: st.DrawFn, table: Table, engine: str) -> tuple[str, list[tuple[Any, ...]], int]:
    """Give a query over a table, its rows, and the place of the partition column in them."""
    order = draw(st.permutations(range(len(table.columns))))
    order = order[: draw(st.integers(order.index(table.dated) + 1, len(order)))]
    listed = ", ".join(f"t.{quoted(table.columns[i], engine)}" for i in order)
    number = f"t.{quoted(table.columns[0], engine)}"
    bound = draw(st.integers(0, MAX_ROWS))
    below = [tuple(row[i] for i in order) for row in table.rows if row[0] < bound]
    rest = [tuple(row[i] for i in order) for row in table.rows if row[0] >= bound]
    some = f"SELECT {listed} FROM {table.named} t WHERE {number} < {bound}"
    others = f"SELECT {listed} FROM {table.named} AS t WHERE NOT {number} < {bound}"
    query, rows = draw(
        st.sampled_from(
            [
                (some, below),
                (f"{some} UNION ALL {others}", below + rest),
                (f"{some}\nUNION ALL {some}", below + below),
                (
                    f"WITH a AS ({some}), b AS ({others}) SELECT * FROM b UNION ALL SELECT * FROM a",
                    below + rest,
                ),
                (f"SELECT * FROM (SELECT * FROM (\n{others} -- all\n) x) y ORDER BY 1", rest),
                (f"{others} AND {number} IN (SELECT {number} FROM {table.named} t)", rest),
                (f"SELECT {listed} FROM {table.named} t ORDER BY {number} DESC", below + rest),
            ]
        )
    )
    before = draw(st.sampled_from(["", "-- it's\n", "/* ; */ ", "\n;"]))
    after = draw(st.sampled_from(["", ";", " -- the end", "/* ' */;;\n"]))
    return before + query + after, rows, order.index(table.dated)


@pytest.mark.parametrize("engine", ENGINES, scope="module")
def test_any_table_comes_back(engine: str, shared_database: AnyDatabase) -> None:
    """As a table and as a query, by one scan and by several, whoever sorts, values are what was put in."""

    @settings(max_examples=15, derandomize=True, deadline=None, database=None)
    @given(st.data())
    def check(data: st.DataObject) -> None:
        table = data.draw(tables(engine))
        shared_database.execute(table.create(engine))
        granularity = data.draw(st.sampled_from(list(LABEL_LENGTHS)))
        more: dict[str, Any] = {
            "table": table.named,
            "partition_by": table.columns[table.dated],
            "partition_granularity": granularity,
            "scan": data.draw(st.sampled_from(["single", "per_partition"])),
            "sort": data.draw(st.sampled_from(["source", "rivet"])),
        }
        query, rows, dated = data.draw(queries(table, engine))
        with tempfile.TemporaryDirectory() as directory:
            place = Path(directory)
            run_well(place, shared_database.source, by_day(place / "a", **more), validate=True)
            assert rows_by_manifest(place / "a") == _expected(table.rows, table.dated, granularity)
            run_well(
                place, shared_database.source, by_query(by_day(place / "b", **more), query), validate=True
            )
            assert rows_by_manifest(place / "b") == _expected(rows, dated, granularity)

    check()


def _expected(rows: list[tuple[Any, ...]], dated: int, granularity: str) -> dict[str, list[tuple[Any, ...]]]:
    grouped: dict[str, list[tuple[Any, ...]]] = {}
    for row in rows:
        label = NULL if row[dated] is None else row[dated].isoformat()[: LABEL_LENGTHS[granularity]]
        grouped.setdefault(label, []).append(row)
    return {label: sorted(held, key=repr) for label, held in grouped.items()}
