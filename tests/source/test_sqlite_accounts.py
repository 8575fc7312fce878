"""A database of SQLite that another account owns: a run leaves nothing that keeps its owner from writing."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.servers.sqlite import SqliteDatabase

pytestmark = pytest.mark.skipif(
    not hasattr(os, "geteuid") or os.geteuid() != 0, reason="only root can become another account"
)

OWNER, OTHER, ROOT = 65533, 65534, 0

# Becomes an account after everything is loaded: it may not be allowed to read this installation.
_READER = """
import os, sys
from pathlib import Path
from rivet.config.settings import SourceSettings
from rivet.errors import RivetError
from rivet.source.opening import open_source
from rivet.source.relation import Request

def open_twice(path):
    source = open_source(SourceSettings("sqlite", path=Path(path)))
    with source.session() as first, source.session() as second:
        rows = second.probe(second.describe(Request("t")), None).rows
    return rows

path, own, user = sys.argv[1], sys.argv[2], int(sys.argv[3])
open_twice(own)
if user:
    os.setgroups([])
    os.setgid(user)
    os.setuid(user)
try:
    print(open_twice(path), "rows")
except RivetError as error:
    print(type(error).__name__, error.exit_code, error, error.hint)
"""
_OWNER = """
import os, sqlite3, sys
os.setgid(int(sys.argv[2]))
os.setuid(int(sys.argv[2]))
connection = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=0)
connection.execute("INSERT INTO t VALUES (1)")
print("written", flush=True)
sys.stdin.read()
"""


@pytest.fixture
def path() -> Iterator[Path]:
    """Give the place of a database that its owner keeps where everybody may make files."""
    with tempfile.TemporaryDirectory() as directory:  # pytest's own is closed to other accounts
        Path(directory).chmod(0o777)
        yield Path(directory) / "their.db"


def _make(path: Path, journal: str = "wal", mode: int = 0o644) -> None:
    SqliteDatabase(path).execute(
        f"PRAGMA journal_mode = {journal}; CREATE TABLE t(a INT); INSERT INTO t VALUES (1)"
    )
    os.chown(path, OWNER, OWNER)
    path.chmod(mode)


def _read(path: Path, tmp_path: Path, user: int, *before: str) -> str:
    """Read the database as a user, and give the number of rows or what is wrong."""
    own = SqliteDatabase(tmp_path / "own.db")
    own.execute("CREATE TABLE IF NOT EXISTS t(a INT)")
    command = [*before, sys.executable, "-c", _READER, str(path), str(own.path), str(user)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=Path(__file__).parents[2])
    return done.stdout.strip() or done.stderr


def _writing(path: Path) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _OWNER, str(path), str(OWNER)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def _owner_writes(path: Path) -> bool:
    done = subprocess.run(
        [sys.executable, "-c", _OWNER, str(path), str(OWNER)],
        stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
    )  # fmt: skip
    return done.stdout == "written\n"


@pytest.mark.parametrize("sticky", [False, True])
def test_a_database_whose_owner_would_be_locked_out_is_refused(
    path: Path, tmp_path: Path, sticky: bool
) -> None:
    """A closed one in WAL mode is denied to another account with the mends; nothing is made beside it."""
    _make(path, mode=0o666 if sticky else 0o644)
    path.parent.chmod(0o1777 if sticky else 0o777)

    told = _read(path, tmp_path, OTHER)

    assert told.startswith("SourceDenied 2 reading SQLite database")
    assert "keep its owner from writing" in told
    assert "VACUUM INTO" in told
    assert list(path.parent.iterdir()) == [path]
    assert _owner_writes(path)


@pytest.mark.parametrize(
    ("journal", "mode", "user"),
    [("wal", 0o644, OWNER), ("wal", 0o666, OTHER), ("wal", 0o644, ROOT), ("delete", 0o644, OTHER)],
    ids=["its owner", "everybody may write", "root", "no WAL"],
)
def test_a_database_whose_owner_can_write_afterwards_is_read(
    path: Path, tmp_path: Path, journal: str, mode: int, user: int
) -> None:
    """Its rows are read, and its owner writes to it as before."""
    _make(path, journal, mode)

    assert _read(path, tmp_path, user) == "1 rows"

    assert _owner_writes(path)
    assert _read(path, tmp_path, user) == "2 rows"


def test_a_database_that_its_program_has_open_is_read(path: Path, tmp_path: Path) -> None:
    """The files beside it are the owner's then, and no others are made."""
    _make(path)
    with _writing(path) as program:
        assert program.stdout is not None
        assert program.stdout.readline() == "written\n"
        assert _read(path, tmp_path, OTHER) == "2 rows"
        program.kill()

    assert _owner_writes(path)


@pytest.mark.skipif(shutil.which("capsh") is None, reason="no capsh to drop capabilities with")
def test_a_root_that_may_not_give_files_away_is_another_account(path: Path, tmp_path: Path) -> None:
    """A container's root without CAP_CHOWN would lock the owner out as others do, and is refused."""
    _make(path)
    dropped = "--drop=cap_chown,cap_fowner,cap_dac_override,cap_dac_read_search"
    without = ["capsh", dropped, "--", "-c", 'exec "$0" "$@"']

    assert _read(path, tmp_path, ROOT, *without).startswith("SourceDenied 2 reading SQLite database")

    assert list(path.parent.iterdir()) == [path]
