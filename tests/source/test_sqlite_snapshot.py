"""One moment of a SQLite file, whoever writes to it meanwhile; and what happens where it cannot be opened."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rivet.errors import RivetError, SourceDenied, SourceError, SourceUnavailable
from rivet.plan.scans import Reach, Scan
from rivet.source.protocol import Session
from rivet.source.relation import Request
from tests.servers.sqlite import SqliteDatabase
from tests.source.reading import column_of, read_scan
from tests.source.sqlite_reading import in_session, probe_of, read_all, source_of, write_elsewhere

_HOLDER = """
import sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.executescript(sys.argv[2])
print("held", flush=True)
sys.stdin.read()
"""


@contextmanager
def _held(database: SqliteDatabase, sql: str) -> Iterator[subprocess.Popen[str]]:
    """Keep a connection of another process open, in the state that statements leave it in."""
    command = [sys.executable, "-c", _HOLDER, str(database.path), sql]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        try:
            yield process
        finally:
            process.kill()


def _filled(database: SqliteDatabase, journal: str) -> None:
    database.execute(
        f"PRAGMA journal_mode = {journal}; CREATE TABLE t(id INTEGER PRIMARY KEY, d DATE, x TEXT);"
        "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c LIMIT 20000) "
        "INSERT INTO t SELECT n, date('2023-01-01', (n % 50) || ' days'), printf('%0200d', n) FROM c"
    )


def test_snapshot_in_wal_mode(sqlite_database: SqliteDatabase) -> None:
    """A writer moves, inserts, deletes and checkpoints, and the session sees one moment."""
    _filled(sqlite_database, "wal")
    before = sqlite_database.fetch("SELECT * FROM t ORDER BY id")

    def ask(session: Session) -> None:
        relation = session.describe(Request("t"))
        column = column_of(relation, "d")
        moved = (
            "UPDATE t SET d = date(d, '1 day'); DELETE FROM t WHERE id % 3 = 0; INSERT INTO t(x) VALUES (1)"
        )
        assert write_elsewhere(sqlite_database, moved) == ""
        assert session.probe(relation, column).rows == len(before)
        checkpoint = "UPDATE t SET x = 'new'; ALTER TABLE t ADD COLUMN y; PRAGMA wal_checkpoint(TRUNCATE)"
        with session.read(relation, relation.columns, column, Scan(Reach.EVERYTHING)) as batches:
            read = list(next(iter(batches)).column("id").to_pylist())
            assert read
            assert write_elsewhere(sqlite_database, checkpoint) == ""
        rows = read_scan(session, relation, column).sort_by("id").to_pylist()
        assert [(r["id"], str(r["d"]), r["x"]) for r in rows] == before

    in_session(sqlite_database, ask)
    assert probe_of(sqlite_database, "t", "d").rows != len(before)


def test_snapshot_with_a_rollback_journal(sqlite_database: SqliteDatabase) -> None:
    """A writer waits while the session is open, whatever the session does, and goes on after it."""
    _filled(sqlite_database, "delete")
    delete = "DELETE FROM t WHERE id < 100"

    def ask(session: Session) -> None:
        assert write_elsewhere(sqlite_database, delete).endswith("database is locked")
        relation = session.describe(Request("t"))
        query = session.describe(Request(query="SELECT id, d FROM t"))
        assert write_elsewhere(sqlite_database, delete).endswith("database is locked")
        column = column_of(relation, "d")
        session.probe(relation, column)
        with session.read(relation, relation.columns, column, Scan(Reach.EVERYTHING)) as batches:
            next(iter(batches))
        assert write_elsewhere(sqlite_database, delete).endswith("database is locked")
        assert read_scan(session, query, query.columns[1]).num_rows == 20000
        assert write_elsewhere(sqlite_database, delete).endswith("database is locked")

    in_session(sqlite_database, ask)
    assert write_elsewhere(sqlite_database, delete) == ""


@pytest.mark.parametrize("may_owner_write", [True, False])
def test_two_sessions(
    sqlite_database: SqliteDatabase, monkeypatch: pytest.MonkeyPatch, may_owner_write: bool
) -> None:
    """A second session ends without taking the first one's snapshot away, by another account too."""
    monkeypatch.setattr("rivet.source.sqlite.left_behind._may_owner_write", lambda _: may_owner_write)
    _filled(sqlite_database, "delete")

    with source_of(sqlite_database).session() as session:
        in_session(sqlite_database, lambda other: other.probe(other.describe(Request("t")), None))
        assert write_elsewhere(sqlite_database, "DELETE FROM t").endswith("database is locked")
        assert session.probe(session.describe(Request("t")), None).rows == 20000


@pytest.mark.parametrize("journal", ["delete", "wal"])
def test_file_is_not_changed(sqlite_database: SqliteDatabase, journal: str) -> None:
    """Not a byte of the file is another one after an export."""
    _filled(sqlite_database, journal)
    before = hashlib.sha256(sqlite_database.path.read_bytes()).digest()

    read_all(sqlite_database, table="t", order="d")
    read_all(sqlite_database, query="SELECT d, count(*) AS n FROM t GROUP BY d", order="d")

    assert hashlib.sha256(sqlite_database.path.read_bytes()).digest() == before


def test_writes_not_yet_checkpointed(sqlite_database: SqliteDatabase) -> None:
    """What another process has committed to its WAL is read, what it has not is not."""
    sqlite_database.execute("PRAGMA journal_mode = wal; CREATE TABLE t(a INT)")

    with _held(sqlite_database, "INSERT INTO t VALUES (1); BEGIN; INSERT INTO t VALUES (2)"):
        assert read_all(sqlite_database, table="t").to_pylist() == [{"a": 1}]


def test_locked_database(sqlite_database: SqliteDatabase) -> None:
    """A database that stays locked is unavailable after the timeout; one that is let go is read."""
    sqlite_database.execute("CREATE TABLE t(a INT)")

    with _held(sqlite_database, "BEGIN EXCLUSIVE") as holder:
        begun = time.monotonic()
        with pytest.raises(SourceUnavailable, match="database is locked") as caught:
            source_of(sqlite_database, connect_timeout_seconds=0.2).session().__enter__()
        assert time.monotonic() - begun >= 0.2
        assert "connect_timeout_seconds" in str(caught.value.hint)
        assert holder.stdin is not None
        holder.stdin.close()
        holder.wait()
        assert in_session(sqlite_database, lambda s: s.describe(Request("t"))).table == "main.t"


def _refusal(path: Path) -> RivetError:
    before = sorted(path.parent.iterdir())
    with pytest.raises(RivetError) as caught:
        in_session(SqliteDatabase(path), lambda s: s.probe(s.describe(Request("t")), None))
    assert sorted(path.parent.iterdir()) == before
    return caught.value


def test_no_such_file(tmp_path: Path) -> None:
    """A missing file is refused and not made; a directory is none, nor is a pipe, which is not waited for."""
    missing = _refusal(tmp_path / "no such.db")
    (tmp_path / "directory").mkdir()
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "loop.db").symlink_to(tmp_path / "loop.db")

    assert type(missing) is SourceError
    assert "no SQLite database" in str(missing)
    assert "is a directory" in str(_refusal(tmp_path / "directory"))
    assert "no SQLite database" in str(_refusal(tmp_path / "directory" / "x.db"))
    assert "is no file" in str(_refusal(tmp_path / "pipe"))
    assert "cannot be found" in str(_refusal(tmp_path / "loop.db"))
    assert "file name too long" in str(_refusal(tmp_path / f"{'x' * 300}.db"))


@pytest.mark.parametrize(
    "content", [b"id,name\n1,a\n" * 500, os.urandom(4096), b"SQLite format 3\0" + b"x" * 100]
)
def test_garbage(tmp_path: Path, content: bytes) -> None:
    """What is no database, an encrypted one included, is refused as such."""
    path = tmp_path / "garbage.db"
    path.write_bytes(content)

    error = _refusal(path)

    assert type(error) is SourceError
    assert "file is not a database" in str(error)
    assert "encrypted" in str(error.hint)


def test_empty_file(tmp_path: Path) -> None:
    """An empty file is a database without tables."""
    (tmp_path / "empty.db").touch()

    assert "no table 't'" in str(_refusal(tmp_path / "empty.db"))


def test_damaged_file(sqlite_database: SqliteDatabase) -> None:
    """A file that was cut off, or has a torn page, fails as damaged."""
    _filled(sqlite_database, "delete")
    whole = sqlite_database.path.read_bytes()

    sqlite_database.path.write_bytes(whole[:50_000])
    assert "malformed" in str(_refusal(sqlite_database.path))

    sqlite_database.path.write_bytes(whole[:409_600] + b"\xff" * 4096 + whole[413_696:])
    error = _refusal(sqlite_database.path)
    assert "malformed" in str(error)
    assert "integrity_check" in str(error.hint)


_KILLED = """
import os, sqlite3, sys
connection = sqlite3.connect(sys.argv[1], isolation_level=None)
connection.executescript("PRAGMA cache_size = 5; BEGIN; UPDATE t SET x = 'half'")
os._exit(1)
"""


def test_writer_that_was_killed(sqlite_database: SqliteDatabase) -> None:
    """A transaction left half-way is neither read nor rolled back; its own program must do that first."""
    _filled(sqlite_database, "delete")
    subprocess.run([sys.executable, "-c", _KILLED, str(sqlite_database.path)], check=False)
    before = sqlite_database.path.read_bytes()

    error = _refusal(sqlite_database.path)

    assert "let its own program open the database once" in str(error.hint)
    assert sqlite_database.path.read_bytes() == before
    assert sqlite_database.fetch("SELECT count(*) FROM t WHERE x = 'half'") == [(0,)]
    assert probe_of(sqlite_database, "t", "d").rows == 20000


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_file_that_may_not_be_read(sqlite_database: SqliteDatabase) -> None:
    """A file without the right to read is denied."""
    sqlite_database.execute("CREATE TABLE t(a INT)")
    sqlite_database.path.chmod(0)

    assert isinstance(_refusal(sqlite_database.path), SourceDenied)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_wal_database_where_no_file_may_be_made(sqlite_database: SqliteDatabase) -> None:
    """A database in WAL mode that nobody has open wants files beside it, which the error says."""
    _filled(sqlite_database, "wal")
    directory = sqlite_database.path.parent
    directory.chmod(0o555)
    try:
        error = _refusal(sqlite_database.path)
    finally:
        directory.chmod(0o755)

    assert "WAL" in str(error.hint)


def test_odd_path(tmp_path: Path) -> None:
    """A path with any signs is that file, and no other is made."""
    for name in ["a b?c#d%20e&mode=rw.db", "é'\".db", ":memory:", "file:x.db"]:
        database = SqliteDatabase(tmp_path / name)
        database.execute("CREATE TABLE t(a INT); INSERT INTO t VALUES (1)")
        assert read_all(database, table="t").num_rows == 1
        assert repr(str(database.path)) in source_of(database).label

    assert len(list(tmp_path.iterdir())) == 4


def test_leaving_early(sqlite_database: SqliteDatabase) -> None:
    """A scan that is left before its end makes way for the next one, and has no count."""
    _filled(sqlite_database, "delete")

    def ask(session: Session) -> None:
        relation = session.describe(Request("t"))
        column = column_of(relation, "d")
        for _ in range(3):
            with session.read(relation, relation.columns, column, Scan(Reach.EVERYTHING)) as batches:
                next(iter(batches))
                with pytest.raises(RuntimeError):
                    _ = batches.server_rows
        with session.read(relation, relation.columns, column, Scan(Reach.EVERYTHING)):
            pass
        assert read_scan(session, relation, column).num_rows == 20000

    in_session(sqlite_database, ask)
    assert write_elsewhere(sqlite_database, "DELETE FROM t") == ""


_INTERRUPTED = """
import os, signal, sys, threading
from pathlib import Path
from rivet.config.settings import SourceSettings
from rivet.source.opening import open_source
from rivet.source.relation import Request

endless = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) AS n FROM c"
with open_source(SourceSettings("sqlite", path=Path(sys.argv[1]))).session() as session:
    session.describe(Request("t"))
    threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()
    session.describe(Request(query=endless))
"""


def test_interrupt(sqlite_database: SqliteDatabase) -> None:
    """An interrupt ends a process whose statement would never end."""
    sqlite_database.execute("CREATE TABLE t(a INT)")

    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED, str(sqlite_database.path)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=Path(__file__).parents[2],
    )

    assert done.stderr.strip().endswith("KeyboardInterrupt")
    assert write_elsewhere(sqlite_database, "DELETE FROM t") == ""
