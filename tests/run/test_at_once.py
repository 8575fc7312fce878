"""Several scans at once: the same tree, byte for byte, of one moment; and an orderly end where one fails."""

from __future__ import annotations

import hashlib
import json
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rivet.events import Event
from rivet.outcome import ExportOutcome
from rivet.run import plan
from tests.run.running import by_day, run_one, run_well, settings
from tests.run.trees import NULL, Rows, manifests, rows_by_manifest, snapshot
from tests.servers.database import Account, Database
from tests.servers.proxy import Proxy, run_proxy

ROWS = 4_000
# Days since 2024-02-26 on which row i falls, or NULL.
SHAPES = {
    "dense": "i * 40 / 4001",
    "sparse": "i * 9 / 4001 * 1000",
    "skewed": "CASE WHEN i <= 3960 THEN 3 ELSE i % 20 + 4 END",
    "some-null": "CASE WHEN i % 4 = 0 THEN NULL ELSE i * 30 / 4001 END",
    "all-null": "CASE WHEN i > 0 THEN NULL ELSE 1 END",
    "few-windows": "i / 2001",
}
PATIENCE_SECONDS = 60
_THREADS = ("rivet-worker", "rivet-reader", "rivet-sort", "rivet-order")


def _short_or_long(names: Iterable[str], *short: str) -> list[Any]:
    """Give parameters, of which all but a few take part in the long tests alone."""
    return [name if name in short else pytest.param(name, marks=pytest.mark.long) for name in names]


@pytest.fixture(autouse=True)
def small_shares(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let few rows be worth a connection."""
    for module in ("rivet.plan.sharing", "rivet.preparing.shared"):
        monkeypatch.setattr(f"{module}.LEAST_ROWS", 50)


def _create(database: Database, days: str = SHAPES["dense"], *, order: str = "days", index: str = "") -> None:
    """Make the table `events`, in an order of its rows, with an index on the day unless told otherwise."""
    database.execute(
        "CREATE TABLE events (id int PRIMARY KEY, created_at timestamp, note text);"
        "INSERT INTO events SELECT i, timestamp '2024-02-26' + days * interval '1 d' + i % 7 * interval '1 h'"
        f", repeat(md5(i::text), 20) FROM (SELECT i, {days} AS days FROM generate_series(1, {ROWS}) i) AS r"
        f" ORDER BY {order}, i;"
        f"{index or 'CREATE INDEX by_day ON events (created_at)'}; ANALYZE events"
    )


def _create_in_mariadb(database: Database) -> None:
    """Make the table `events` in the order of its days."""
    database.execute(
        "CREATE TABLE events (id int, created_at datetime, note text, PRIMARY KEY (created_at, id));"
        "INSERT INTO events SELECT seq, '2024-02-26' + INTERVAL seq * 40 DIV 4001 DAY, REPEAT(MD5(seq), 20)"
        f" FROM seq_1_to_{ROWS}; ANALYZE TABLE events"
    )


def _rows_by_day(database: Database) -> dict[str, Rows]:
    days: dict[str, Rows] = {}
    for key, moment, note in database.fetch("SELECT id, created_at, note FROM events"):
        days.setdefault(NULL if moment is None else f"{moment:%Y-%m-%d}", []).append((key, moment, note))
    return {day: sorted(rows, key=repr) for day, rows in days.items()}


def _at_once(database: Database, number: int) -> dict[str, Any]:
    return database.source | {"parallel": number}


def _digests(root: Path) -> dict[str, list[str]]:
    """Digest the parts of each partition."""
    digests: dict[str, list[str]] = {}
    for part in sorted(root.rglob("*.parquet")):
        digests.setdefault(part.parent.name, []).append(hashlib.sha256(part.read_bytes()).hexdigest())
    return digests


def _await_no_connection(database: Database) -> None:
    """Wait until nobody but who asks is connected."""
    deadline = time.monotonic() + PATIENCE_SECONDS
    ask = {
        "postgres": f"SELECT 1 FROM pg_stat_activity WHERE datname = '{database.name}'",
        "mysql": f"SELECT 1 FROM information_schema.processlist WHERE db = '{database.name}'",
    }
    while database.server.fetch(ask[database.server.source_type]):
        assert time.monotonic() < deadline, "a connection of the run stays open"
        time.sleep(0.01)


def _workers() -> list[str]:
    return [t.name for t in threading.enumerate() if t.name.startswith(_THREADS)]


@pytest.mark.parametrize("engine", ["postgres"])
@pytest.mark.parametrize("shape", _short_or_long(SHAPES, "skewed", "some-null"))
def test_the_tree_does_not_depend_on_how_many_read(tmp_path: Path, database: Database, shape: str) -> None:
    """Each row is there once, in the same bytes as one scan gives, so that another number changes nothing."""
    _create(database, SHAPES[shape])
    root = tmp_path / "one"
    run_well(tmp_path, _at_once(database, 1), by_day(root))
    before = _digests(root)

    beside = run_well(tmp_path, _at_once(database, 2), by_day(tmp_path / "two"), validate=True)
    again = run_well(tmp_path, _at_once(database, 5), by_day(root))

    assert _digests(tmp_path / "two") == before
    assert (again.partitions_unchanged, again.partitions_written) == (len(before), 0)
    assert beside.scans_at_once == min(2, beside.scans)
    assert again.scans_at_once == min(5, again.scans)
    assert again.scans > 1 or shape == "all-null"
    assert rows_by_manifest(root) == _rows_by_day(database)


@pytest.mark.parametrize("engine", ["postgres"])
@pytest.mark.parametrize(
    ("made", "rows", "more", "why"),
    [
        ({"index": "SELECT 1"}, ROWS, {"sort": "source"}, "no index leads with 'created_at'"),
        ({"order": "md5(i::text)"}, ROWS, {"sort": "source"}, "would read it about"),
        ({}, 60, {}, "60 rows are not worth a second connection"),
        ({}, ROWS, {"scan": "single"}, "`scan: single`"),
        ({}, ROWS, {"partition_by": None}, "one partition"),
    ],
    ids=["no-index", "no-order", "tiny", "single", "no-partition"],
)
def test_one_scan_reads_where_several_would_cost_more(
    tmp_path: Path, database: Database, made: dict[str, str], rows: int, more: dict[str, object], why: str
) -> None:
    """The table is then read as often as ever, by one connection beside the other, and the run says why."""
    _create(database, **made)
    database.execute(f"DELETE FROM events WHERE id > {rows}; ANALYZE events")
    export = by_day(tmp_path / "tree", **more)
    if export["partition_by"] is None:
        del export["partition_by"], export["partition_granularity"]
        export["destination"]["path"] = str(tmp_path / "tree")

    with database.recording() as statements:
        outcome = run_well(tmp_path, _at_once(database, 4), export)

    (planned,) = plan(settings(tmp_path, _at_once(database, 4), export), listener=lambda _: None)
    assert (outcome.scans, outcome.scans_at_once, planned.scans_at_once) == (1, 1, 1)
    assert sum("COPY" in statement for statement in statements) == 1
    for warnings in (outcome.warnings, planned.warnings):
        assert sum("one scan at once, and 4 were asked for" in line and why in line for line in warnings) == 1


KEYS = {"by key": "SELECT 1", "without a key": "ALTER TABLE events DROP CONSTRAINT events_pkey"}


@pytest.mark.parametrize("engine", ["postgres"])
@pytest.mark.parametrize(
    ("order", "key"),
    [
        ("md5(i::text)", "by key"),
        ("md5(i::text)", "without a key"),
        pytest.param("days", "by key", marks=pytest.mark.long),
        pytest.param("days", "without a key", marks=pytest.mark.long),
    ],
)
def test_one_pass_over_a_table_is_shared(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch, key: str, order: str
) -> None:
    """Without an index each connection reads blocks of its own, into the files that one alone makes."""
    monkeypatch.setattr("rivet.source.postgres.session.LEAST_BLOCKS", 20)
    for size in ("RUN_BYTES", "MEMORY_BYTES"):
        monkeypatch.setattr(f"rivet.export.sorter.{size}", 256 * 1024)  # so that there are many runs
    _create(database, "i * 9 / 4001 / 2 * 2", order=order, index="SELECT 1")
    database.execute(f"{KEYS[key]}; UPDATE events SET note = 'newer' WHERE id % 5 = 0")
    run_well(tmp_path, _at_once(database, 1), by_day(tmp_path / "one"))
    source, export = _at_once(database, 3), by_day(tmp_path / "three")
    (planned,) = plan(settings(tmp_path, source, export), listener=lambda _: None)

    with database.recording() as statements:
        outcome = run_well(tmp_path, source, export, validate=True)

    read = [s for s in statements if "COPY" in s]
    assert (len(read), sum("ctid >=" in s for s in read), sum("ctid <" in s for s in read)) == (3, 3, 2)
    assert (outcome.scans, outcome.block_ranges, planned.block_ranges) == (1, 3, 3)
    assert not any("at once" in line for line in outcome.warnings)
    assert _digests(tmp_path / "three") == _digests(tmp_path / "one")
    assert rows_by_manifest(tmp_path / "three") == _rows_by_day(database)


@pytest.mark.parametrize("engine", ["postgres"])
@pytest.mark.parametrize(
    ("more", "free", "why"),
    [({"sort": "source"}, 10**12, "`sort: source`"), ({}, 0, "temporary files lack room")],
)
def test_it_is_said_why_blocks_are_not_shared(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch, more: Any, free: int, why: str
) -> None:
    """Where the source sorts, though the table could be shared: what keeps Rivet from it."""
    monkeypatch.setattr("rivet.source.postgres.session.LEAST_BLOCKS", 20)
    monkeypatch.setattr("rivet.plan.sorting._IN_MEMORY_BYTES", 0)
    monkeypatch.setattr("rivet.preparing.ordering.free_bytes", lambda: free)
    _create(database, index="SELECT 1")

    told = settings(tmp_path, _at_once(database, 3), by_day(tmp_path / "tree", **more))
    (planned,) = plan(told, listener=lambda _: None)

    assert planned.block_ranges == 1
    assert [line for line in planned.warnings if f"shared only where Rivet sorts: {why}" in line]


@pytest.mark.parametrize("engine", ["postgres"])
@pytest.mark.parametrize(
    "made",
    [
        pytest.param("CREATE VIEW v AS SELECT * FROM events", marks=pytest.mark.long),
        pytest.param(
            """CREATE TABLE v (LIKE events) PARTITION BY HASH (id);
            CREATE TABLE v1 PARTITION OF v FOR VALUES WITH (MODULUS 1, REMAINDER 0);
            INSERT INTO v SELECT * FROM events""",
            marks=pytest.mark.long,
        ),
        "CREATE TABLE v (LIKE events); CREATE TABLE w () INHERITS (v); INSERT INTO w SELECT * FROM events",
    ],
    ids=["view", "partitioned", "inherited"],
)
def test_what_is_no_plain_table_is_read_by_one(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch, made: str
) -> None:
    """Its rows lie in the blocks of others."""
    monkeypatch.setattr("rivet.source.postgres.session.LEAST_BLOCKS", 1)
    _create(database, order="md5(i::text)", index="SELECT 1")
    database.execute(made)

    outcome = run_well(tmp_path, _at_once(database, 3), by_day(tmp_path / "tree", table="v"))

    assert (outcome.scans, outcome.block_ranges) == (1, 1)
    assert rows_by_manifest(tmp_path / "tree") == _rows_by_day(database)


@pytest.mark.parametrize("engine", ["postgres"])
def test_a_plan_says_what_a_run_takes(tmp_path: Path, database: Database) -> None:
    """Scans and their rows, and connections: each joins the one snapshot, with the same settings."""
    _create(database)
    source, export = _at_once(database, 3) | {"statement_timeout_seconds": 77}, by_day(tmp_path / "tree")
    (planned,) = plan(settings(tmp_path, source, export), listener=lambda _: None)

    with database.recording() as statements:
        outcome = run_well(tmp_path, source, export)

    assert planned.scans is not None
    rows = [scan.expected_rows or 0 for scan in planned.scans]
    assert (sum(rows), len(rows), planned.scans_at_once) == (ROWS, outcome.scans, outcome.scans_at_once)
    assert (outcome.scans_at_once, outcome.scan_rows) == (3, (min(rows), max(rows)))
    assert max(rows) * 3 <= ROWS
    joined = [s for s in statements if "SET TRANSACTION SNAPSHOT" in s]
    pinned = [s for s in statements if "TimeZone" in s]
    assert (len(joined), len(pinned), len(set(pinned))) == (3, 4, 1)  # one of four has begun it
    assert "77000" in pinned[0]


@pytest.mark.parametrize("engine", ["postgres"])
def test_all_workers_see_one_moment(tmp_path: Path, database: Database) -> None:
    """Rows that others move, make and delete while several scans are read are where they were before."""
    _create(database)
    before = _rows_by_day(database)
    written = 0

    def write(event: Event) -> None:
        nonlocal written
        if event.kind in ("planned", "progress"):
            written += 1
            database.execute(
                f"UPDATE events SET created_at = created_at + interval '1 day' WHERE id % 5 = {written % 5};"
                f"UPDATE events SET created_at = NULL WHERE id % 13 = {written % 13};"
                f"DELETE FROM events WHERE id % 11 = {written % 11};"
                f"INSERT INTO events VALUES ({10_000 + written}, '2024-02-27', 'new')"
            )

    run_well(tmp_path, _at_once(database, 3), by_day(tmp_path / "tree"), listener=write)

    assert written > 1
    assert rows_by_manifest(tmp_path / "tree") == before


@pytest.mark.parametrize("engine", ["postgres"])
@pytest.mark.parametrize("publish", [pytest.param("proved", marks=pytest.mark.long), "eager"])
def test_many_partitions_are_published_once_each(tmp_path: Path, database: Database, publish: str) -> None:
    """So they are where groups of them go live while others are still read."""
    _create(database, "i * 200 / 4001")

    outcome = run_well(
        tmp_path, _at_once(database, 3), by_day(tmp_path / "tree", publish=publish), validate=True
    )

    assert (outcome.partitions_written, outcome.scans_at_once) == (200, 3)
    assert rows_by_manifest(tmp_path / "tree") == _rows_by_day(database)


@pytest.mark.parametrize("engine", ["postgres"])
def test_chunks_of_a_partition_stay_in_order(tmp_path: Path, database: Database) -> None:
    """Of several partitions in chunks, each is read by one worker, and its files are as ever."""
    _create(database, "i * 6 / 4001")
    more = {"mode": "chunked", "chunk_by_key": ["id"], "chunk_size": 150}
    database.execute("CREATE UNIQUE INDEX by_day_and_id ON events (created_at, id)")
    more["chunk_by_key"] = ["created_at", "id"]
    run_well(tmp_path, _at_once(database, 1), by_day(tmp_path / "one", **more))

    outcome = run_well(tmp_path, _at_once(database, 4), by_day(tmp_path / "four", **more), validate=True)

    assert (outcome.scans_at_once, outcome.scans > 20) == (4, True)
    assert _digests(tmp_path / "four") == _digests(tmp_path / "one")


@pytest.mark.parametrize("engine", ["postgres"])
def test_a_partition_with_a_value_that_does_not_fit_fails_alone(tmp_path: Path, database: Database) -> None:
    """The others of its scan, and of all others, are published."""
    _create(database)
    database.execute("ALTER TABLE events ADD price text; UPDATE events SET price = '1.5'; ANALYZE events")
    database.execute("UPDATE events SET price = 'much' WHERE id = 1000")
    export = by_day(tmp_path / "tree", columns={"price": "decimal(5,1)"})

    outcome = run_one(tmp_path, _at_once(database, 3), export)

    assert (outcome.status, outcome.exit_code, outcome.partitions_written) == ("failed", 2, 39)
    assert "price" in (outcome.error or "")


@pytest.fixture
def proxy(database: Database) -> Iterator[Proxy]:
    """Run a proxy before the database's server."""
    with run_proxy(database.server.host, database.server.port) as running:
        yield running


def _run_bounded(directory: Path, source: dict[str, Any], export: dict[str, Any]) -> ExportOutcome:
    """Run one export on a thread that is given up where it hangs."""
    outcomes: list[ExportOutcome] = []
    thread = threading.Thread(target=lambda: outcomes.append(run_one(directory, source, export)), daemon=True)
    thread.start()
    thread.join(PATIENCE_SECONDS)
    assert not thread.is_alive(), "the run hangs"
    (outcome,) = outcomes
    return outcome


@pytest.mark.parametrize("engine", ["postgres"])
@pytest.mark.parametrize("index", ["", "SELECT 1"], ids=["scans", "blocks"])
def test_a_worker_that_is_cut_off_stops_the_others(
    tmp_path: Path, database: Database, proxy: Proxy, monkeypatch: pytest.MonkeyPatch, index: str
) -> None:
    """Wherever it is cut, nothing is published, no thread and no connection stays, and the end is soon."""
    monkeypatch.setattr("rivet.source.pipe.BLOCK_BYTES", 16 * 1024)
    monkeypatch.setattr("rivet.source.postgres.session.LEAST_BLOCKS", 20)
    _create(database, index=index)
    source = replace(database, server=replace(database.server, port=proxy.port)).source | {"parallel": 3}
    root = tmp_path / "tree"
    outcome = run_well(tmp_path, source, by_day(root))
    assert max(outcome.scans_at_once, outcome.block_ranges) == 3
    total, before = proxy.passed, snapshot(root)
    database.execute("UPDATE events SET note = repeat('x', 640)")

    for tenth in (5, 8, 9):
        proxy.limit(total * tenth // 10, "reset" if tenth in (5, 9) else "end")
        outcome = _run_bounded(tmp_path, source, by_day(root))
        assert (outcome.status, outcome.exit_code) == ("failed", 3), (tenth, outcome.error)
        assert snapshot(root) == before
        _await_no_connection(database)
        assert _workers() == []


@pytest.mark.parametrize(
    ("engine", "index"), [("postgres", ""), ("postgres", "SELECT 1"), ("mariadb", "")], ids=str
)
def test_an_interruption_ends_all_workers(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch, engine: str, index: str
) -> None:
    """Nothing is published, and neither a thread nor a connection stays."""
    monkeypatch.setattr("rivet.source.postgres.session.LEAST_BLOCKS", 20)
    if engine == "postgres":
        _create(database, index=index)
    else:
        _create_in_mariadb(database)
    source = _at_once(database, 3) | ({} if engine == "postgres" else {"consistency": "statement"})

    def interrupt(event: Event) -> None:
        if event.kind == "progress":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_one(tmp_path, source, by_day(tmp_path / "tree"), listener=interrupt)

    assert not list((tmp_path / "tree").rglob("*.parquet"))
    _await_no_connection(database)
    assert _workers() == []


@pytest.mark.parametrize("engine", ["postgres"])
def test_too_few_connections_are_told(tmp_path: Path, database: Database) -> None:
    """As many as the plan says must be free: with one less the run fails as for any that may come free."""
    _create(database)
    few = Account("few_connections", "of few")
    database.server.execute(
        f"DROP ROLE IF EXISTS {few.user};"
        f"CREATE ROLE {few.user} LOGIN PASSWORD '{few.password}' CONNECTION LIMIT 3"
    )
    database.execute(f"GRANT SELECT ON events TO {few.user}")
    source = database.source | {"url": database.server.url(database.name, account=few), "parallel": 3}

    outcome = run_one(tmp_path, source, by_day(tmp_path / "tree"))

    assert (outcome.status, outcome.exit_code) == ("failed", 3)
    assert "too many connections" in (outcome.error or "")
    _await_no_connection(database)
    database.server.execute(f"ALTER ROLE {few.user} CONNECTION LIMIT 4")
    run_well(tmp_path, source, by_day(tmp_path / "tree"))


@pytest.mark.parametrize("engine", ["mariadb"])
def test_scans_of_several_moments_are_called_so(tmp_path: Path, database: Database) -> None:
    """Where the user accepts it, MariaDB is read at once, too: into the same files, of no one moment."""
    _create_in_mariadb(database)
    accepted = {"consistency": "statement"}
    run_well(tmp_path, database.source, by_day(tmp_path / "one"))
    source, export = _at_once(database, 3) | accepted, by_day(tmp_path / "many")

    (planned,) = plan(settings(tmp_path, source, export), listener=lambda _: None)
    outcome = run_well(tmp_path, source, export, validate=True)

    for told in (planned, outcome):
        assert (told.scans_at_once, told.consistency) == (3, "none")
    for warnings in (planned.warnings, outcome.warnings):
        assert sum("each with a snapshot of its own" in line for line in warnings) == 1
    assert {m["source"]["consistency"] for m in manifests(tmp_path / "many").values()} == {"statement"}
    file = json.loads((tmp_path / "many" / "_rivet_export.json").read_text())
    assert (file["source"]["consistency"], file["row_count"], file["source_rows"]) == ("none", ROWS, ROWS)
    assert _digests(tmp_path / "many") == _digests(tmp_path / "one")


@pytest.mark.parametrize("engine", ["mariadb"])
def test_rows_written_meanwhile_do_not_fail_scans_of_several_moments(
    tmp_path: Path, database: Database
) -> None:
    """Each scan is held to the count of its own snapshot, and not to that of the plan."""
    _create_in_mariadb(database)

    def write(event: Event) -> None:
        if event.kind == "planned":  # before any scan has begun
            database.execute(
                "DELETE FROM events WHERE id % 3 = 0; INSERT INTO events VALUES (0, '2024-03-01', '')"
            )

    source = _at_once(database, 3) | {"consistency": "statement"}
    outcome = run_well(tmp_path, source, by_day(tmp_path / "tree"), validate=True, listener=write)

    assert outcome.scans_at_once == 3
    assert rows_by_manifest(tmp_path / "tree") == _rows_by_day(database)


@pytest.mark.parametrize("engine", ["mariadb"])
def test_a_scan_that_is_not_what_was_counted_fails(
    tmp_path: Path, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The count in a scan's own snapshot is a proof: where it differs, nothing is published."""
    _create_in_mariadb(database)
    counting = "rivet.source.mysql.session.scan_count_statement"
    monkeypatch.setattr(counting, lambda *_: "SELECT COUNT(*) FROM events WHERE id < 5")

    outcome = run_one(
        tmp_path, _at_once(database, 3) | {"consistency": "statement"}, by_day(tmp_path / "tree")
    )

    assert (outcome.status, outcome.exit_code) == ("failed", 4)
    assert "were counted in its own snapshot" in (outcome.error or "")
    assert not list((tmp_path / "tree").rglob("*.parquet"))
