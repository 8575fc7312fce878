"""Two runs at once, as processes of two hosts: one wins, the other says so, and the tree is right."""

from __future__ import annotations

import json
import random
import signal
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from rivet.destination.local import LocalDestination
from rivet.lock.timing import Timing
from rivet.validate import validate
from tests.run.buckets import PREFIX, Bucket, copied, export
from tests.run.hosts import Ended, Host, Run, two_hosts
from tests.run.running import by_day, settings
from tests.run.trees import rows_by_glob, rows_by_manifest
from tests.servers.sqlite import SqliteDatabase

LOCK = "_rivet_lock.json"
DAYS, ROWS = 40, 200
# A store tells times in whole seconds.
TIMING = {"local": Timing(0.2, 2.0), "s3": Timing(0.4, 4.0), "gcs": Timing(0.4, 4.0)}
# Where a lock must be respected while it is renewed: a busy machine may keep its holder from it.
LIVE_SECONDS = 8.0
NEVER_STALE = Timing(0.2, 3600.0)
ROUNDS, LONG_ROUNDS = 5, 50


@dataclass
class Place:
    """One of two hosts that export a table into the same tree."""

    host: Host
    config: Path
    environ: Mapping[str, str]
    timing: Timing

    def begin(self, *arguments: str, timing: Timing | None = None, **task: object) -> Run:
        """Begin a run there."""
        timing = timing or self.timing
        return self.host.begin(self.config, *arguments, environ=self.environ, timing=timing, **task)

    def run(self, *arguments: str, timing: Timing | None = None, **task: object) -> Ended:
        """Begin a run there, and wait for its end."""
        return self.begin(*arguments, timing=timing, **task).ended()


@dataclass
class Field:
    """A tree, its source, and two hosts that export the one into the other.

    Attributes:
        bucket: Where the tree is, or None for a directory.
    """

    directory: Path
    database: SqliteDatabase
    hosts: tuple[Place, Place]
    bucket: Bucket | None

    def change(self, word: str) -> None:
        """Change every row of the source."""
        self.database.execute(f"UPDATE events SET note = '{word}'")

    def lock(self) -> dict[str, Any] | None:
        """Read the lock, as anybody may who reads the tree."""
        if self.bucket is None:
            path = self.directory / "tree" / LOCK
            return json.loads(path.read_text()) if path.exists() else None
        key = PREFIX + LOCK
        return json.loads(self.bucket.read(key)) if key in self.bucket.keys(key) else None

    def await_lock(self) -> None:
        """Wait until a run has the lock."""
        end = time.monotonic() + 120
        while self.lock() is None:
            assert time.monotonic() < end
            time.sleep(0.01)

    def tree(self, number: int = 0) -> Path:
        """Give the tree, or a copy of what is in the bucket."""
        if self.bucket is None:
            return self.directory / "tree"
        return copied(self.bucket, self.directory / f"copy{number}")

    def assert_right(self, number: int = 0, *, is_alone: bool = True) -> None:
        """Assert that the tree is the table, and with nothing beside it unless a stopped run may go on.

        In a store requests may be under way when a run is stopped, and arrive while it is.
        """
        root = self.tree(number)
        rows = [r[:1] + r[2:] for r in self.database.fetch("SELECT * FROM events")]
        read = rows_by_manifest(root)
        assert sorted((r[0], *r[2:]) for part in read.values() for r in part) == sorted(rows)
        if not is_alone and self.bucket is not None:
            return
        assert sorted((r[0], *r[2:]) for r in rows_by_glob(root)) == sorted(rows)
        verdict = validate(LocalDestination(root), depth="full", strict=True)
        assert (verdict.findings, verdict.rows) == ((), ROWS)
        assert not (root / LOCK).exists()
        assert not (root / "_rivet_staging").exists()


@pytest.fixture(scope="module")
def hosts(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Host, Host]]:
    """Run two hosts for all tests."""
    with two_hosts(tmp_path_factory.mktemp("hosts")) as hosts:
        yield hosts


@pytest.fixture(params=TIMING)
def field(
    request: pytest.FixtureRequest,
    tmp_path: Path,
    sqlite_database: SqliteDatabase,
    hosts: tuple[Host, Host],
) -> Field:
    """Give a field of each store."""
    sqlite_database.execute(
        f"""
        CREATE TABLE events (id INTEGER PRIMARY KEY, created_at DATETIME, note TEXT);
        WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
        INSERT INTO events SELECT i, date('2023-01-01', '+' || (i % {DAYS}) || ' days') || ' 00:00:00', 'old'
        FROM n;
        """
    )
    bucket: Bucket | None = None
    environ: Mapping[str, str] = {}
    if request.param == "local":
        config = by_day(tmp_path / "tree")
    else:
        bucket = request.getfixturevalue(f"{request.param}_bucket")
        assert bucket is not None
        config, environ = export(bucket), bucket.environment
    settings(tmp_path, sqlite_database.source, config, environ=environ)
    first, second = (Place(h, tmp_path / "rivet.yaml", environ, TIMING[request.param]) for h in hosts)
    return Field(tmp_path, sqlite_database, (first, second), bucket)


local = pytest.mark.parametrize("field", ["local"], indirect=True)


def assert_says_so(ended: Ended) -> None:
    """Assert that a run ended because another was there, and said so."""
    assert ended.code == 5, ended.errors
    assert "Error: events: " in ended.errors
    assert "is locked by run" in ended.errors or "another run" in ended.errors


def test_a_live_lock_is_not_taken_and_one_that_a_kill_left_is(field: Field, tmp_path: Path) -> None:
    """While the holder's heart beats nobody gets in; after SIGKILL the next run does, and mends the tree."""
    first, second = field.hosts
    gate = tmp_path / "gate"
    live = replace(first.timing, stale_seconds=LIVE_SECONDS)
    holder = first.begin(at=5, do="block", gate=str(gate), timing=live)
    field.await_lock()
    refused = second.run("--wait", str(round(LIVE_SECONDS) + 1), timing=live)
    assert_says_so(refused)
    assert "on host 'db1', process" in refused.errors
    assert f"process {holder.pid}," in refused.errors
    gate.touch()
    assert holder.ended().code == 0

    field.change("newer")
    assert first.run(at=5, do="kill").code is None
    lock = field.lock()
    assert lock is not None
    assert lock["host"] == "db1"
    assert_says_so(second.run(timing=NEVER_STALE))
    assert second.run("--wait", "60").code == 0
    field.assert_right()


@pytest.mark.parametrize(
    ("field", "step"), [("local", 4), ("local", 60), ("s3", 60), ("gcs", 60)], indirect=["field"]
)
def test_a_run_that_was_stopped_past_its_heartbeat_publishes_nothing_more(
    field: Field, step: int, tmp_path: Path
) -> None:
    """Stopped in the middle of publishing and continued when another has the tree, it ends with 5."""
    first, second = field.hosts
    assert first.run().code == 0
    field.change("newer")
    gate = tmp_path / "gate"
    stopped = first.begin(at=step, do="stop", gate=str(gate))
    stopped.await_state("T")
    winner = second.run("--wait", "60")
    assert winner.code == 0, winner.errors
    field.assert_right(1, is_alone=False)

    gate.touch()
    assert_says_so(stopped.continued())
    field.assert_right(2)


def test_a_signal_ends_a_run_in_order_and_releases_its_lock(field: Field, tmp_path: Path) -> None:
    """SIGTERM ends who holds the lock and who waits for it with 130, and leaves neither lock nor tree."""
    first, second = field.hosts
    holder = first.begin(at=0, do="block", gate=str(tmp_path / "none"), timing=NEVER_STALE)
    field.await_lock()
    waiting = second.begin("--wait", "60", "--log-format", "json", timing=NEVER_STALE)
    waiting.await_text('"waiting"')
    waiting.send(signal.SIGTERM)
    assert waiting.ended().code == 130
    assert field.lock() is not None
    holder.send(signal.SIGTERM)
    assert holder.ended().code == 130

    assert field.lock() is None
    if field.bucket is None:
        assert not (field.directory / "tree").exists()
    else:
        assert field.bucket.keys(PREFIX) == []
    assert second.run().code == 0
    field.assert_right()


def play(field: Field, rounds: int) -> list[tuple[int | None, int | None]]:
    """Let two runs meet at random, the first of them stopped at times, and give how each round ended."""
    seed = random.randrange(2**32)
    print(f"seed {seed}")  # noqa: T201 - shown where the test fails
    dice = random.Random(seed)
    codes = []
    for number in range(rounds):
        first, second = dice.sample(field.hosts, 2)
        field.change(f"round {number}")
        is_stopped = number % 5 == 4
        one = first.begin()
        time.sleep(dice.uniform(0, 0.5))
        if is_stopped:
            one.send(signal.SIGSTOP)
        other = second.begin(*(["--wait", "60"] if is_stopped else []))
        ended = other.ended()
        one.send(signal.SIGCONT)
        both = (one.ended(), ended)
        for each in both:
            if each.code != 0:
                assert_says_so(each)
        assert 0 in {each.code for each in both}, (number, both)
        field.assert_right(number)
        codes.append((both[0].code, both[1].code))
    return codes


@local
def test_of_two_runs_at_once_one_wins(field: Field) -> None:
    """Whenever they meet, one of them wins, the other says so, and the tree is right after each round."""
    play(field, ROUNDS)


@pytest.mark.long
def test_of_two_runs_at_once_one_wins_fifty_times(field: Field) -> None:
    """The same on every store, at length; they do meet."""
    codes = play(field, LONG_ROUNDS)

    assert sum(5 in pair for pair in codes) > LONG_ROUNDS // 5
