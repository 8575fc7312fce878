"""A session on PostgreSQL: one moment, pinned settings, nothing left behind, and how streams end."""

from __future__ import annotations

import datetime as dt
import time

import pytest

from rivet.config.settings import SourceSettings
from rivet.errors import SourceError, SourceUnavailable
from rivet.plan.calendar import Granularity
from rivet.plan.schema import Kind
from rivet.plan.windows import Axis
from rivet.source.postgres import PostgresSource
from rivet.source.protocol import Session
from rivet.source.relation import Request
from tests.servers.database import Database
from tests.source.reading import EVERYTHING, column_of, in_session, read_all, read_scan, source_of

# Larger than all that lies between a server and a consumer: sockets, queue, and blocks in hand.
LONG = "SELECT i, repeat('x', 10000) AS s FROM generate_series(1, 6000) i"
OURS = "FROM pg_stat_activity WHERE application_name = 'rivet' AND datname = current_database()"


def wait_until_gone(database: Database) -> None:
    """Wait until the server has noticed that our connections are closed."""
    deadline = time.monotonic() + 30
    while database.fetch(f"SELECT pid, state, query {OURS}"):
        assert time.monotonic() < deadline, database.fetch(f"SELECT pid, state, query {OURS}")
        time.sleep(0.05)


def test_everything_sees_one_moment(postgres_database: Database) -> None:
    """Rows moved, inserted and deleted by another connection change no probe, count or scan of a session."""
    postgres_database.execute(
        "CREATE TABLE t AS SELECT i, '2023-01-01'::date + i % 30 AS d FROM generate_series(1, 300) i"
    )
    change = (
        "DELETE FROM t WHERE i % 3 = 0; UPDATE t SET d = d + 1;"
        " INSERT INTO t VALUES (301, '2030-01-01'), (302, NULL)"
    )
    with postgres_database.connect(autocommit=False) as uncommitted:
        uncommitted.execute("INSERT INTO t VALUES (1000, '2023-01-01')")
        with source_of(postgres_database).session() as session:
            relation = session.describe(Request("t"))
            column = column_of(relation, "d")
            postgres_database.execute(change)
            uncommitted.execute("COMMIT")
            probe = session.probe(relation, column)
            first = read_scan(session, relation, column)
            postgres_database.execute(change)
            counts = session.count_windows(relation, column, Axis(Kind.DATE, Granularity.DAY))
            second = read_scan(session, relation, column)

    assert probe.rows == sum(c.rows for c in counts) == 300
    assert [c.rows for c in counts] == [10] * 30
    assert first.equals(second)
    assert sorted(first.column("i").to_pylist()) == list(range(1, 301))


@pytest.mark.parametrize(
    ("anew", "requests"),
    [
        ("ALTER TABLE t ALTER n TYPE bigint", [Request("t"), Request("v"), Request(query="TABLE v")]),
        ("TRUNCATE t", [Request("t")]),
        ("DROP VIEW v; DROP TABLE t; CREATE TABLE t AS SELECT 1 AS i", [Request("t")]),
        ("ALTER TABLE p ALTER n TYPE bigint", [Request("p"), Request(query="SELECT count(*) AS n FROM p")]),
    ],
)
def test_a_table_that_is_written_anew_under_the_snapshot_is_never_taken_for_empty(
    postgres_database: Database, anew: str, requests: list[Request]
) -> None:
    """Where the snapshot lost the rows of a table, of one below a view or a partition, the run says so."""
    for request in requests:
        postgres_database.execute(
            "DROP TABLE IF EXISTS t, p CASCADE; CREATE TABLE t AS SELECT i, i n FROM generate_series(1, 9) i;"
            "CREATE VIEW v AS SELECT i FROM t; CREATE TABLE p (i int, n int) PARTITION BY HASH (i);"
            "CREATE TABLE p1 PARTITION OF p FOR VALUES WITH (MODULUS 1, REMAINDER 0); INSERT INTO p TABLE t"
        )
        with source_of(postgres_database).session() as session:
            postgres_database.execute(anew)
            with pytest.raises(SourceUnavailable, match="made or written anew"):
                session.describe(request)
        with source_of(postgres_database).session() as session:
            assert session.describe(request).columns


def test_other_changes_leave_a_snapshot_what_it_is(postgres_database: Database) -> None:
    """A column with a default, an index and another name since the snapshot began do not stop a run."""
    postgres_database.execute(
        "CREATE TABLE old AS SELECT generate_series(1, 9) AS i; CREATE INDEX x ON old (i)"
    )
    with source_of(postgres_database).session() as session:
        postgres_database.execute(
            "ALTER TABLE old RENAME TO t; ALTER TABLE t ADD COLUMN k int DEFAULT 7; CREATE INDEX ON t (i);"
            "REINDEX INDEX x; ANALYZE t"
        )
        relation = session.describe(Request(query="SELECT i, k FROM t WHERE i > 0"))
        assert session.probe(relation, None).rows == read_scan(session, relation).num_rows == 9


def test_scans_that_overlap_see_the_same_moment(postgres_database: Database) -> None:
    """A second scan beside an open one, and one after a scan that was left early, join the snapshot."""
    postgres_database.execute("CREATE TABLE t AS SELECT generate_series(1, 100000) AS i")
    with source_of(postgres_database).session() as session:
        relation = session.describe(Request("t"))
        with session.read(relation, relation.columns, None, EVERYTHING) as open_scan:
            batches = iter(open_scan)
            read = next(batches).num_rows
            postgres_database.execute("DELETE FROM t")
            assert read_scan(session, relation).num_rows == 100_000
            read += sum(batch.num_rows for batch in batches)
            assert read == open_scan.server_rows == 100_000
        with session.read(relation, relation.columns, None, EVERYTHING) as left:
            next(iter(left))
        assert read_scan(session, relation).num_rows == 100_000
    wait_until_gone(postgres_database)


def test_settings_of_role_and_server_change_nothing(postgres_database: Database) -> None:
    """Zone, styles, digits, encodings and timeouts of the database's own leave every value as it is."""
    hostile = {
        "timezone": "Asia/Kathmandu",
        "datestyle": "SQL, DMY",
        "intervalstyle": "sql_standard",
        "extra_float_digits": "-15",
        "bytea_output": "escape",
        "client_encoding": "LATIN1",
        "standard_conforming_strings": "off",
        "idle_in_transaction_session_timeout": "10s",
        "default_transaction_isolation": "read committed",
    }
    query = (
        r"SELECT '2020-01-02 03:04:05+00'::timestamptz AS z, '2020-01-02'::date AS d, 0.1::float8 AS f,"
        r" '1 day 2 hours'::interval AS v, decode('00ff', 'hex') AS b, '€\' AS s, 1234.5::money AS m,"
        r" current_setting('idle_in_transaction_session_timeout') AS idle"
    )
    expected = read_all(postgres_database, query=query)
    for name, value in hostile.items():
        postgres_database.execute(f"ALTER DATABASE {postgres_database.name} SET {name} = '{value}'")

    assert read_all(postgres_database, query=query).equals(expected)
    assert expected.to_pylist() == [
        {
            "z": dt.datetime(2020, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
            "d": dt.date(2020, 1, 2),
            "f": 0.1,
            "v": "P1DT2H",
            "b": b"\x00\xff",
            "s": "€\\",
            "m": "$1,234.50",
            "idle": "0",
        }
    ]


def test_a_session_only_reads_and_leaves_nothing(postgres_database: Database) -> None:
    """Every statement that scans is a SELECT in a read-only transaction, and no connection stays behind."""
    postgres_database.execute("CREATE TABLE t AS SELECT current_date AS d")
    with postgres_database.recording() as statements, source_of(postgres_database).session() as session:
        relation = session.describe(Request("t"))
        column = column_of(relation, "d")
        session.probe(relation, column)
        read_scan(session, relation, column)
        states = postgres_database.fetch(f"SELECT count(*) {OURS}")
    assert states == [(2,)]
    planned = ("EXPLAIN", "SAVEPOINT", "SELECT * FROM")
    scans = [s for s in statements if '"t"' in s and not s.startswith(planned)]
    # Read twice: as the server sorts, and as it comes.
    assert [s.split("(")[0].split()[0] for s in scans] == ["SELECT", "COPY", "COPY"]
    begun = [s for s in statements if s.startswith("BEGIN")]
    assert sum("REPEATABLE READ READ ONLY" in s for s in begun) == 2
    wait_until_gone(postgres_database)


def test_a_server_that_cannot_look_after_clients_is_read_all_the_same(
    postgres_database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A platform that refuses `client_connection_check_interval` is read in one snapshot, read-only."""
    postgres_database.execute("CREATE TABLE t AS SELECT 1 AS i")
    setting = "SELECT i, current_setting('client_connection_check_interval') AS looks FROM t"
    assert read_all(postgres_database, query=setting).to_pylist() == [{"i": 1, "looks": "2s"}]

    refused = "SET LOCAL client_connection_check_interval = 'never'"  # with the SQLSTATE of such a platform
    monkeypatch.setattr("rivet.source.postgres.connecting._CLIENT_CHECK", refused)
    with postgres_database.recording() as statements, source_of(postgres_database).session() as session:
        relation = session.describe(Request(query=setting))
        postgres_database.execute("INSERT INTO t VALUES (2)")
        assert session.probe(relation, None).rows == 1
        assert read_scan(session, relation).to_pylist() == [{"i": 1, "looks": "0"}]
    # Twice each: the one that was refused, and the one that was not.
    assert sum("REPEATABLE READ READ ONLY" in s for s in statements if s.startswith("BEGIN")) == 4


def test_leaving_early_stops_the_query(postgres_database: Database) -> None:
    """A consumer that leaves, in the middle or before the first row, ends the server's work."""
    with source_of(postgres_database).session() as session:
        relation = session.describe(Request(query=LONG))
        with session.read(relation, relation.columns, None, EVERYTHING) as batches:
            next(iter(batches))
        assert postgres_database.fetch(f"SELECT count(*) {OURS} AND query LIKE 'COPY%'") == [(0,)]
        relation = session.describe(Request(query="SELECT pg_sleep(600)::text AS slow"))
        with session.read(relation, relation.columns, None, EVERYTHING):
            pass
    wait_until_gone(postgres_database)


def test_an_error_of_the_consumer_is_not_taken_for_the_sources(postgres_database: Database) -> None:
    """An `OSError` in the consumer's own code, such as a full disk, passes through as it is."""

    def consume(session: Session) -> None:
        relation = session.describe(Request(query=LONG))
        with session.read(relation, relation.columns, None, EVERYTHING) as batches:
            for _ in batches:
                raise OSError("no space left on device")

    with pytest.raises(OSError, match="no space left"):
        in_session(postgres_database, consume)
    wait_until_gone(postgres_database)


def test_a_killed_server_process_is_unavailable(postgres_database: Database) -> None:
    """A stream whose server process is killed half-way raises, and never ends as if it were whole."""
    with source_of(postgres_database).session() as session:
        relation = session.describe(Request(query=LONG))
        with session.read(relation, relation.columns, None, EVERYTHING) as batches:
            stream = iter(batches)
            next(stream)
            kill = f"SELECT pg_terminate_backend(pid) {OURS} AND query LIKE 'COPY%'"
            assert postgres_database.fetch(kill) == [(True,)]
            with pytest.raises(SourceUnavailable, match="while it was read"):
                list(stream)
            with pytest.raises(RuntimeError):
                _ = batches.server_rows


def test_a_query_that_fails_half_way_raises(postgres_database: Database) -> None:
    """An error that the server meets after millions of good bytes ends the stream with its message."""
    query = "SELECT i, repeat('x', 10000) AS s, 1 / (4000 - i) AS d FROM generate_series(1, 6000) i"
    with pytest.raises(SourceError, match="division by zero"):
        read_all(postgres_database, query=query)


def test_the_statement_timeout_is_bounded(postgres_database: Database) -> None:
    """A statement that takes longer than the setting is cancelled by the server, and may be tried again."""

    def sleep(session: Session) -> None:
        relation = session.describe(Request(query="SELECT pg_sleep(600)::text AS slow"))
        read_scan(session, relation)

    with pytest.raises(SourceUnavailable, match="statement timeout") as caught:
        in_session(postgres_database, sleep, statement_timeout_seconds=0.2)
    assert "statement_timeout_seconds" in (caught.value.hint or "")


def test_many_columns(postgres_database: Database) -> None:
    """A table of a thousand columns is read whole."""
    columns = ", ".join(f"{i} AS c{i}" for i in range(1000))
    table = read_all(postgres_database, query=f"SELECT {columns} FROM generate_series(1, 10)")
    assert table.to_pylist() == [{f"c{i}": i for i in range(1000)}] * 10


def test_the_label_holds_no_secret() -> None:
    """A source names its database, host and port, and neither shows nor needs a password."""
    source = PostgresSource(SourceSettings("postgres", host="db.example", user="app", database="shop"))
    assert source.label == "PostgreSQL database 'shop' at db.example:5432"
