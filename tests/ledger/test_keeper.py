"""A ledger that fails costs one warning and a bounded wait."""

from __future__ import annotations

import gc
import socket
import sqlite3
import subprocess
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest

from rivet.config.settings import Secret, SourceSettings, StateSettings
from rivet.ledger.keeper import Keeper
from rivet.ledger.store import Ledger
from tests.ledger.entries import export, run
from tests.servers.postgres import PostgresServer

PASSWORD = "p@ss/w?rd#1%"


def keep(state: StateSettings, home: Path, **options: float) -> str | None:
    """Tell a ledger of a whole run, and give the warning."""
    keeper = Keeper(state, {"XDG_STATE_HOME": str(home)}, **options)  # type: ignore[arg-type]
    keeper.put(run(1), export(status="unfinished"), make=True)
    keeper.put(run(1, finished_at=run(1).started_at, exit_code=0), export(), make=True)
    return keeper.close()


def test_a_run_is_kept_without_a_word(tmp_path: Path) -> None:
    """All that was told stands in the ledger when the keeper is closed."""
    assert keep(StateSettings(), tmp_path) is None

    (entry,) = Ledger(StateSettings(), {"XDG_STATE_HOME": str(tmp_path)}).recent(9) or []
    assert (entry.run.exit_code, entry.export) == (0, export())


def test_no_ledger_is_wanted(tmp_path: Path) -> None:
    """With `state: off` nothing is made, and nobody warned."""
    assert keep(StateSettings(kept=False), tmp_path) is None
    assert list(tmp_path.iterdir()) == []


@contextmanager
def _locked(path: Path) -> Iterator[None]:
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        yield


def test_a_locked_file(tmp_path: Path) -> None:
    """A file that another process holds is waited for, for a bounded time, and the warning says so."""
    keep(StateSettings(), tmp_path)

    with _locked(tmp_path / "rivet" / "ledger.sqlite"):
        warning = keep(StateSettings(), tmp_path, wait_seconds=0.2)

    assert warning is not None
    assert "database is locked" in warning


def test_a_damaged_file(tmp_path: Path) -> None:
    """A file that is no database is named and left as it is; without it the next run makes a new one."""
    (tmp_path / "rivet").mkdir()
    file = tmp_path / "rivet" / "ledger.sqlite"
    file.write_bytes(b"not a database" * 999)

    warning = keep(StateSettings(), tmp_path)

    assert warning is not None
    assert "file is not a database" in warning
    assert str(file) in warning
    assert file.read_bytes() == b"not a database" * 999
    file.unlink()
    assert keep(StateSettings(), tmp_path) is None


def test_a_file_that_was_cut(tmp_path: Path) -> None:
    """A database whose end is missing is a warning, whatever SQLite says of it."""
    keep(StateSettings(), tmp_path)
    file = tmp_path / "rivet" / "ledger.sqlite"
    file.write_bytes(file.read_bytes()[:5000])

    warning = keep(StateSettings(), tmp_path)

    assert warning is not None
    assert "malformed" in warning


@pytest.mark.parametrize("home", ["/proc", "/dev/null"])
def test_a_place_where_nothing_can_be_made(home: str) -> None:
    """A home that is read-only, or none, is a warning that names the file and the way out."""
    warning = keep(StateSettings(), Path(home))

    assert warning is not None
    assert f"'{home}/rivet/ledger.sqlite': cannot" in warning
    assert "`state: off`" in warning


def test_a_full_disk(tmp_path: Path) -> None:
    """No room for the ledger is a warning."""
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=16k", "tmpfs", disk], check=False, capture_output=True
    )
    if mounted.returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        warning = keep(StateSettings(), disk)
    finally:
        subprocess.run(["umount", disk], check=True)

    assert warning is not None
    assert "full" in warning


def _elsewhere(port: int) -> StateSettings:
    password = Secret(PASSWORD)
    return StateSettings(
        database=SourceSettings(
            "postgres", host="127.0.0.1", port=port, user="me", password=password, database="ledger"
        )
    )


def test_a_server_that_is_down(tmp_path: Path) -> None:
    """A server that nobody listens for is named without user and password."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        warning = keep(_elsewhere(unused.getsockname()[1]), tmp_path)

    assert warning is not None
    assert "PostgreSQL database 'ledger' at '127.0.0.1'" in warning
    assert "refused" in warning
    assert PASSWORD not in warning


@pytest.mark.parametrize("engine", ["postgres", "mysql"])
def test_a_server_that_never_answers(tmp_path: Path, engine: str) -> None:
    """A server that takes the connection and says nothing is waited for no longer than was said."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        database = SourceSettings(
            engine,  # type: ignore[arg-type]
            host="127.0.0.1",
            port=silent.getsockname()[1],
            user="me",
            password=Secret(PASSWORD),
            database="ledger",
        )

        warning = keep(StateSettings(database=database), tmp_path, close_seconds=0.2)

    assert warning is not None
    assert "did not answer within 0.2 seconds" in warning


def test_a_wrong_password(tmp_path: Path, postgres: PostgresServer) -> None:
    """The server's reason is told, and the password is not."""
    with postgres.fresh_database() as database:
        state = StateSettings(
            database=SourceSettings(
                "postgres",
                host="127.0.0.1",
                port=postgres.port,
                user="nobody",
                password=Secret(PASSWORD),
                database=database.name,
            )
        )

        warning = keep(state, tmp_path)

    assert warning is not None
    assert "nobody" in warning
    assert PASSWORD not in warning


def test_a_bug_in_the_ledger(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even that ends a run; its words, which may hold a secret, are not told."""

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError(PASSWORD)

    monkeypatch.setattr(Ledger, "put", broken)

    warning = keep(StateSettings(), tmp_path)

    assert warning is not None
    assert "ZeroDivisionError" in warning
    assert PASSWORD not in warning


def test_no_thread_and_no_file_stays_open(tmp_path: Path) -> None:
    """Many runs in one process leave neither threads nor descriptors behind, and the file does not grow."""
    keep(StateSettings(), tmp_path)
    gc.collect()  # what earlier tests have left open is not to be closed meanwhile
    threads, files = threading.active_count(), len(list(Path("/proc/self/fd").iterdir()))
    size = (tmp_path / "rivet" / "ledger.sqlite").stat().st_size

    for _ in range(20):
        assert keep(StateSettings(), tmp_path) is None

    assert threading.active_count() == threads
    assert len(list(Path("/proc/self/fd").iterdir())) == files
    assert (tmp_path / "rivet" / "ledger.sqlite").stat().st_size == size
