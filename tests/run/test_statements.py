"""What the server sees: few statements, only reads, few connections, and no more for more partitions."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest

from rivet.events import Event
from tests.run.conftest import AnyDatabase
from tests.run.running import by_day, run_one, run_well, settings
from tests.servers.database import Account, Database, Server
from tests.servers.mariadb import quoted

ROWS = 600
SERVERS = ["postgres", "mariadb"]
CREATE = {
    "postgres": "CREATE TABLE ledger (id int PRIMARY KEY, created_at timestamp, note text); "
    "INSERT INTO ledger SELECT i, timestamp '2024-01-01' + i % {days} * interval '1 day', repeat('x', 50) "
    "FROM generate_series(1, {rows}) AS i",
    "mariadb": "CREATE TABLE ledger (id int PRIMARY KEY, created_at datetime(6), note varchar(50)); "
    "INSERT INTO ledger SELECT seq, '2024-01-01' + INTERVAL seq % {days} DAY, REPEAT('x', 50) "
    "FROM seq_1_to_{rows}",
}
READS = re.compile(
    r"SELECT|COPY \(SELECT|EXPLAIN|SHOW|SET|BEGIN|START TRANSACTION|ROLLBACK|COMMIT|DEALLOCATE"
    r"|SAVEPOINT|RELEASE SAVEPOINT"
    r"|WITH\b(?!.*\b(?:INSERT|UPDATE|DELETE|MERGE)\b)",
    re.IGNORECASE | re.DOTALL,
)
SCAN = re.compile(r'(?:SELECT|COPY \(SELECT)\b.*\bFROM \S*["`]ledger["`](?!.*\bLIMIT 0\b)', re.DOTALL)


def _create(database: AnyDatabase, engine: str, days: int) -> None:
    database.execute(CREATE[engine].format(days=days, rows=ROWS))


def _rows_read(server: Server, database: Database) -> int:
    """Ask for the server's own count of the rows that were read from the table."""
    if server.source_type == "postgres":
        # A backend hands its counts in before it disappears from the list.
        deadline = time.monotonic() + 30
        backends = f"SELECT application_name FROM pg_stat_activity WHERE datname = '{database.name}'"
        while ("rivet",) in server.fetch(backends):
            assert time.monotonic() < deadline, "connections stay open"
            time.sleep(0.01)
        counter = "SELECT seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables WHERE relname = 'ledger'"
        return int(database.fetch(counter)[0][0])
    counters = "SELECT table_schema, rows_read FROM information_schema.table_statistics"
    return int(dict(server.fetch(counters)).get(database.name, 0))


@pytest.fixture
def server(engine: str, request: pytest.FixtureRequest) -> Server:
    """Give the server of the engine, which counts the rows that it reads."""
    found: Server = request.getfixturevalue(engine)
    if engine == "mariadb":
        found.execute("SET GLOBAL userstat = ON; FLUSH TABLE_STATISTICS")
    return found


@pytest.mark.parametrize("engine", SERVERS)
def test_a_table_without_an_index_is_read_twice_however_many_partitions_it_has(
    tmp_path: Path, server: Server, database: Database, engine: str
) -> None:
    """For 3 partitions and for 300 the log holds as many statements, two of which scan the table."""
    sent: list[list[str]] = []
    for days in (3, 300):
        _create(database, engine, days)
        before = _rows_read(server, database)
        with database.recording() as statements:
            outcome = run_well(tmp_path, database.source, by_day(tmp_path / f"{days}", table="ledger"))
        assert (outcome.scans, outcome.partitions, outcome.rows) == (1, days, ROWS)
        assert _rows_read(server, database) - before <= 2 * ROWS
        sent.append(statements)
        database.execute("DROP TABLE ledger")

    scans = [[text for text in statements if SCAN.match(text)] for statements in sent]
    assert [len(texts) for texts in scans] == [2, 2]
    assert len(sent[0]) == len(sent[1])


NO_DAY = {
    "postgres": "UPDATE ledger SET created_at = 'infinity' WHERE id = 7",
    "mariadb": "SET sql_mode = ''; UPDATE ledger SET created_at = '0000-00-00' WHERE id = 7",
}


@pytest.mark.parametrize(
    ("engine", "policy", "scans"), [("postgres", "null", 2), ("mariadb", "null", 2), ("mariadb", "error", 1)]
)
def test_values_of_no_calendar_cost_no_scan_of_their_own(
    tmp_path: Path, server: Server, database: Database, engine: str, policy: str, scans: int
) -> None:
    """With them the table is still scanned once by the probe, and once by the read if there is one."""
    _create(database, engine, 3)
    database.execute(NO_DAY[engine])
    before = _rows_read(server, database)
    export = by_day(tmp_path / "tree", table="ledger", unrepresentable=policy)

    with database.recording() as statements:
        outcome = run_one(tmp_path, database.source, export)

    assert outcome.status == ("complete" if policy == "null" else "failed")
    assert len([text for text in statements if SCAN.match(text)]) == scans
    assert _rows_read(server, database) - before <= scans * ROWS


@pytest.mark.parametrize("engine", SERVERS)
def test_with_an_index_scans_are_as_many_as_rows_ask_for(
    tmp_path: Path, database: Database, engine: str
) -> None:
    """300 partitions in scans of at most 250 rows: a probe, a count and three scans, not one for each day."""
    _create(database, engine, 300)
    database.execute("CREATE INDEX by_date ON ledger (created_at)")
    export = by_day(tmp_path / "tree", table="ledger", max_scan_rows=250)

    with database.recording() as statements:
        outcome = run_well(tmp_path, database.source, export)

    assert (outcome.scans, outcome.partitions, outcome.rows) == (3, 300, ROWS)
    assert len([text for text in statements if SCAN.match(text)]) == 5


@pytest.mark.parametrize("engine", SERVERS)
@pytest.mark.parametrize("scan", ["single", "per_partition"])
def test_nothing_but_reads_is_sent(
    tmp_path: Path, server: Server, database: Database, engine: str, scan: str
) -> None:
    """Each statement only reads or sets the session, and an account that may only read the table suffices."""
    _create(database, engine, 3)
    reader = Account("reader", server.password)
    if engine == "postgres":
        password = reader.password.replace("'", "''")
        server.execute(f"CREATE ROLE reader LOGIN PASSWORD '{password}'")
        server.execute(f"REVOKE ALL ON DATABASE {database.name} FROM PUBLIC")
        server.execute(f"GRANT CONNECT ON DATABASE {database.name} TO reader")
        database.execute("GRANT SELECT ON ledger TO reader")
    else:
        server.execute(f"CREATE USER reader IDENTIFIED BY '{quoted(reader.password)}'")
        server.execute(f"GRANT SELECT ON {database.name}.ledger TO reader")
    source = {"type": server.source_type, "url": server.url(database.name, account=reader)}

    try:
        with database.recording() as statements:
            run_well(tmp_path, source, by_day(tmp_path / "tree", table="ledger", scan=scan))
    finally:
        if engine == "postgres":
            database.execute("REVOKE ALL ON ledger FROM reader")
            server.execute(f"REVOKE ALL ON DATABASE {database.name} FROM reader; DROP ROLE reader")
        else:
            server.execute("DROP USER reader")

    assert statements
    each = [statement.strip() for text in statements for statement in text.split(";")]
    assert [statement for statement in each if statement and not READS.match(statement)] == []
    assert any("READ ONLY" in text.upper() for text in statements)


@pytest.mark.parametrize("engine", SERVERS)
def test_two_connections_suffice(tmp_path: Path, server: Server, database: Database, engine: str) -> None:
    """Through 40 scans a run never holds more than two connections, and none while it publishes."""
    _create(database, engine, 40)
    held: list[int] = []
    held_publishing: list[int] = []
    count = {
        "postgres": f"SELECT count(*) FROM pg_stat_activity WHERE datname = '{database.name}'",
        "mariadb": f"SELECT count(*) FROM information_schema.processlist WHERE db = '{database.name}'",
    }[engine]

    def look(event: Event) -> None:
        if event.kind in ("planned", "progress"):
            (held_publishing if "published" in event.facts else held).append(server.fetch(count)[0][0])

    export = by_day(tmp_path / "tree", table="ledger", scan="per_partition")
    outcome = run_well(tmp_path, database.source, export, listener=look)

    assert outcome.scans == 40
    assert len(held) > 40
    assert 1 <= min(held) <= max(held) <= 2
    assert held_publishing == [0, 0]


@pytest.mark.parametrize("engine", SERVERS)
def test_the_run_says_one_scan(tmp_path: Path, database: Database, engine: str) -> None:
    """People read `1 scan` on standard error, before the rows come and at the end; machines read 1."""
    _create(database, engine, 3)
    settings(tmp_path, database.source, by_day(tmp_path / "tree", table="ledger"))

    command = [sys.executable, "-m", "rivet", "run", "--config", str(tmp_path / "rivet.yaml"), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)

    assert json.loads(done.stdout)["exports"][0]["scans"] == 1
    assert len(re.findall(r"\b1 scan\b", done.stderr)) == 2
    assert database.server.password not in done.stdout + done.stderr
