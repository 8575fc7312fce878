"""Rows that nothing orders come in the same order each time, so that an unchanged partition is left alone."""

from __future__ import annotations

import pytest

from rivet.source.protocol import Session
from rivet.source.relation import Request
from tests.servers.database import Database
from tests.source.reading import column_of, in_session, read_scan

# So many workers that they never hand over their rows twice in one order.
_EAGER = """
ALTER DATABASE {name} SET max_parallel_workers_per_gather = 4;
ALTER DATABASE {name} SET min_parallel_table_scan_size = 0;
ALTER DATABASE {name} SET parallel_setup_cost = 0;
ALTER DATABASE {name} SET parallel_tuple_cost = 0;
"""
_ROWS = """
CREATE TABLE {table} (id int {key}, day date, note text);
INSERT INTO {table} SELECT i, DATE '2024-01-01' + i % 3, repeat('x', 200) FROM generate_series(1, 30000) i;
ANALYZE {table};
"""


@pytest.fixture
def database(postgres_database: Database) -> Database:
    """Give tables with and without a key, and a server that reads them by several processes where it may."""
    postgres_database.execute(
        _ROWS.format(table="keyed", key="PRIMARY KEY") + _ROWS.format(table="unkeyed", key="")
    )
    postgres_database.execute(_EAGER.format(name=postgres_database.name))
    return postgres_database


@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize(
    "request_", [Request("unkeyed"), Request(query="SELECT id, day, note FROM unkeyed WHERE id > 0")]
)
def test_rows_without_a_total_order_come_in_one_order(
    database: Database, request_: Request, *, ordered: bool
) -> None:
    """Neither ties of the partition column nor rows without one depend on which worker was faster."""
    ordering = " ORDER BY day" if ordered else ""
    assert "Gather" in str(database.fetch(f"EXPLAIN SELECT id, day, note FROM unkeyed{ordering}"))

    def ids(session: Session) -> list[int]:
        relation = session.describe(request_)
        column = column_of(relation, "day") if ordered else None
        read: list[int] = read_scan(session, relation, column).column("id").to_pylist()
        return read

    first, *others = (in_session(database, ids) for _ in range(3))
    assert others == [first, first]
    if not ordered:
        assert first == list(range(1, 30001))


def test_a_total_order_is_read_by_all_workers_again(database: Database) -> None:
    """A table with a primary key pays nothing for another one before it in the same session."""

    def read(session: Session) -> None:
        for table in ("unkeyed", "keyed"):
            relation = session.describe(Request(table))
            assert read_scan(session, relation, column_of(relation, "day")).num_rows == 30000

    with database.recording() as statements:
        in_session(database, read)

    changed = [s for s in statements if "max_parallel_workers_per_gather" in s]
    assert changed == [
        "SET LOCAL max_parallel_workers_per_gather = 0",
        "SET LOCAL max_parallel_workers_per_gather = DEFAULT",
        "SET LOCAL max_parallel_workers_per_gather = 0",  # read once more, for Rivet to sort
    ]
