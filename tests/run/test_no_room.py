"""A place that takes no more: which exit code, which words, and a tree that the next run makes right."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.run.running import by_day, run_one, run_well
from tests.run.trees import rows_by_glob, rows_by_manifest, snapshot
from tests.servers.sqlite import SqliteDatabase

TABLE = """
    CREATE TABLE events (id INTEGER PRIMARY KEY, created_at DATETIME, note TEXT);
    INSERT INTO events VALUES (1, '2023-01-01 00:00:00', 'a'), (2, '2023-01-02 12:00:00', 'b'),
     (3, NULL, 'c');
"""
# The one table of what the system refuses: exit code, and what the mend must name.
REFUSALS = {
    "ENOSPC": (3, "free space on that file system"),
    "EDQUOT": (3, "raise the quota"),
    "EIO": (3, "look for disk errors"),
    "EMFILE": (3, "ulimit -n"),
    "ENFILE": (3, "out of open files"),
    "EROFS": (2, "mount the file system for writing"),
    "EACCES": (2, "the rights to read and write there"),
}
# Where each may strike: a directory is made; a file is opened, made durable, and given its name.
CALLS = ("mkdir", "open", "fsync", "replace")


def _refusing(number: int, act: Callable[..., Any], left: list[int], root: Path) -> Callable[..., Any]:
    """Let a function of the system fail below a root once its calls there are used up."""

    def refused(first: Any, *arguments: Any, **options: Any) -> Any:
        where = str(Path(f"/proc/self/fd/{first}").readlink()) if isinstance(first, int) else str(first)
        if where.startswith(str(root)):
            left[0] -= 1
            if left[0] < 0:
                raise OSError(number, os.strerror(number), where)
        return act(first, *arguments, **options)

    return refused


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_of_the_system(
    tmp_path: Path, sqlite_database: SqliteDatabase, name: str, call: str
) -> None:
    """At the first call and later: exit code, place and mend are told, and the next run ends right."""
    sqlite_database.execute(TABLE)
    root = tmp_path / "tree"
    run_well(tmp_path, sqlite_database.source, by_day(root))
    sqlite_database.execute("UPDATE events SET note = 'newer'")
    exit_code, mend = REFUSALS[name]
    before = snapshot(root)
    for calls in (0, 2):
        with pytest.MonkeyPatch.context() as patch:
            refused = _refusing(getattr(errno, name), getattr(os, call), [calls], root)
            patch.setattr(os, call, refused)
            outcome = run_one(tmp_path, sqlite_database.source, by_day(root))
        assert outcome.exit_code == exit_code, outcome
        assert f"'{root}/" in str(outcome.error) or f"'{root}'" in str(outcome.error)
        assert os.strerror(getattr(errno, name)) in str(outcome.error)
        assert mend in str(outcome.hint)
        read = [row for part in rows_by_manifest(root).values() for row in part]
        assert sorted(row[0] for row in read) == [1, 2, 3]
        if calls == 0 and call != "fsync":  # nothing could be done, not even begun
            assert snapshot(root) == before

    run_well(tmp_path, sqlite_database.source, by_day(root), validate=True)
    assert {row[2] for row in rows_by_glob(root)} == {"newer"}
