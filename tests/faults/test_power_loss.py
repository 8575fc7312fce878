"""The power goes at any moment of a run, and takes with it whatever was not synced, in any combination."""

from __future__ import annotations

import copy
import hashlib
import random
import re
import shutil
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

import pytest

from rivet.attempt import attempt
from rivet.destination.local import LocalDestination
from rivet.manifest.codec import decode_export, decode_manifest, success_marker
from rivet.plan.names import EXPORT_FILE, SUCCESS_FILE, run_id_of_part
from rivet.validate import validate
from tests.faults.power import Choose, Directory, Disk, File, Operation, left_behind, recorded
from tests.run.running import by_day, run_well
from tests.run.trees import rows_by_glob, rows_by_manifest
from tests.servers.sqlite import SqliteDatabase

MANIFEST = "manifest.json"
STAGING = "_rivet_staging"
TABLE = """
    CREATE TABLE events (id INTEGER PRIMARY KEY, created_at DATETIME, note TEXT);
    INSERT INTO events VALUES (1, '2023-01-01 00:00:00', 'a'), (2, '2023-01-02 12:00:00', 'b'),
     (3, '2023-01-03 12:00:00', 'c'), (4, NULL, 'd');
"""
CHANGE = """
    UPDATE events SET note = 'changed' WHERE id IN (1, 4);
    DELETE FROM events WHERE id = 2;
    INSERT INTO events VALUES (5, '2023-01-04 00:00:00', 'new');
"""
ALL_ANEW = "UPDATE events SET note = 'anew'"
RUN_ID = re.compile(r"\d{8}T\d{6}Z-[0-9a-f]{8}")
SAMPLES, MANY = 8, 150


class Nights:
    """A table, and runs that export it into a tree whose operations are recorded."""

    def __init__(self, directory: Path, database: SqliteDatabase) -> None:
        self._directory = directory
        self._database = database
        self.settings = {"vanished": "remove"}
        self.jail = directory / "jail"
        self.jail.mkdir()
        self.root = self.jail / "tree"
        database.execute(TABLE)

    def change(self, statements: str = CHANGE) -> None:
        """Change the table."""
        self._database.execute(statements)

    def run(self) -> None:
        """Run to the end, and see that the tree is the table."""
        run_well(self._directory, self._database.source, by_day(self.root, **self.settings))
        rows = [(r[0], r[2]) for r in self._database.fetch("SELECT * FROM events")]
        read = [row for part in rows_by_manifest(self.root).values() for row in part]
        assert sorted((r[0], r[2]) for r in read) == sorted(rows)
        assert sorted((r[0], r[2]) for r in rows_by_glob(self.root)) == sorted(rows)
        verdict = validate(LocalDestination(self.root), depth="full", strict=True)
        assert verdict.findings == ()
        assert not (self.root / STAGING).exists()

    def record(self) -> Story:
        """Run to the end, and tell what was done and which manifests stood before and after."""
        before = _manifests(self.root)
        disk = Disk(self.jail)
        with recorded(self.jail) as operations:
            self.run()
        return Story(disk, operations, [before, _manifests(self.root)])

    def restore(self, directory: Directory, choose: Choose, rng: random.Random) -> None:
        """Put the tree there as a loss of power may have left it."""
        shutil.rmtree(self.jail)
        left_behind(directory, self.jail, choose, rng)


class Story:
    """What a run has done to a disk.

    Attributes:
        allowed: The manifests of trees, by partition, that readers may see while it runs.
    """

    def __init__(
        self, disk: Disk, operations: Sequence[Operation], allowed: Sequence[dict[str, bytes]]
    ) -> None:
        self._disk = disk
        self.operations = operations
        self.allowed = allowed

    def states(self, *, without: str = "") -> Iterator[tuple[int, Directory]]:
        """Give the disk before the first operation and after each, but for those of a kind."""
        disk = copy.deepcopy(self._disk)
        yield 0, disk.root
        for number, operation in enumerate(self.operations, 1):
            if operation.kind != without:
                disk.take(operation)
                yield number, disk.root


def _manifests(root: Path) -> dict[str, bytes]:
    return {path.parent.name: path.read_bytes() for path in root.rglob(MANIFEST)}


def _assert_all(states: Iterable[tuple[int, Directory]], allowed: Sequence[dict[str, bytes]]) -> None:
    for number, state in states:
        try:
            assert_old_or_new(state, allowed)
        except AssertionError as error:
            raise AssertionError(f"after operation {number}: {error}") from error


def assert_old_or_new(jail: Directory, allowed: Sequence[dict[str, bytes]]) -> None:
    """Assert, of all that a loss of power may leave, that each partition is one of those it may be.

    Args:
        allowed: Trees by their manifests: a partition may be as in any of them, or absent where one lacks it.
    """
    for tree in jail.may_be("tree"):
        if tree is None:
            assert {} in allowed
            continue
        assert isinstance(tree, Directory)
        known = _known_runs(tree)
        for name in {*tree.names, *(path for manifests in allowed for path in manifests)} - {STAGING}:
            wanted = [manifests.get(name) for manifests in allowed]
            for partition in tree.may_be(name):
                if partition is None:
                    assert None in wanted or not name.startswith("created_at="), name
                elif isinstance(partition, Directory):
                    _assert_partition(partition, wanted, known)
        for staging in tree.may_be(STAGING):
            assert staging is None or isinstance(staging, Directory)
            names = {} if staging is None else staging.names
            for run in (n for n, may_be in names.items() if RUN_ID.fullmatch(n) and _may_be_there(may_be)):
                assert all(run in ids for ids in known), f"nobody would take away what {run} has staged"


def _known_runs(tree: Directory) -> list[set[str]]:
    """Give, for all that the export file may be, the runs whose files the next run knows for its own."""
    known = []
    for file in tree.may_be(EXPORT_FILE):
        ids: set[str] = set()
        if file is not None:
            assert isinstance(file, File)
            assert file.data is not None, "an export file that was not synced"
            export = decode_export(file.data)
            ids = {export.run_id, *(e.run_id for e in export.partitions)}
            ids |= {export.pending.run_id} if export.pending else set()
        known.append(ids)
    return known


def _assert_partition(partition: Directory, wanted: list[bytes | None], known: list[set[str]]) -> None:
    """Assert that each manifest that may stand there is a known one, with all its parts whole."""
    for file in partition.may_be(MANIFEST):
        assert isinstance(file, File | None)
        data = None if file is None else file.data
        assert data in wanted, "neither the old nor the new manifest"
        if data is None:
            continue
        for part in decode_manifest(data).parts:
            for content in partition.may_be(part.path):
                assert isinstance(content, File), f"{part.path} may be missing under its manifest"
                assert content.data is not None, f"{part.path} may be torn under its manifest"
                assert hashlib.sha256(content.data).hexdigest() == part.sha256
    markers = [success_marker(data) for data in wanted if data is not None]
    for marker in partition.may_be(SUCCESS_FILE):
        assert isinstance(marker, File | None)
        assert marker is None or marker.data in markers
    for name, may_be in partition.names.items():
        if name.endswith(".parquet") and _may_be_there(may_be):
            # Else nobody would ever take it away, and readers that glob would count its rows.
            assert all(run_id_of_part(name) in ids for ids in known), f"{name} would be foreign"


def _may_be_there(may_be: list[File | Directory | None]) -> bool:
    return any(what is not None for what in may_be)


def _oldest(may_be: list[File | Directory | None]) -> File | Directory | None:
    return may_be[0]


def _newest(may_be: list[File | Directory | None]) -> File | Directory | None:
    return may_be[-1]


@pytest.fixture
def nights(tmp_path: Path, sqlite_database: SqliteDatabase) -> Nights:
    """Give a table that was never exported."""
    return Nights(tmp_path, sqlite_database)


def _recovering(nights: Nights, *, committed: int) -> Story:
    """Record a run after one that lost power when it had committed so many partitions, half the others."""
    nights.run()
    nights.change()
    story = nights.record()
    commits = [
        number
        for number, operation in enumerate(story.operations)
        if operation.kind == "rename" and operation.target.endswith(MANIFEST)
    ]
    state = next(state for number, state in story.states() if number == commits[committed])
    nights.restore(state, _newest, random.Random(1))
    again = nights.record()
    again.allowed = [*story.allowed, *again.allowed]
    return again


@pytest.mark.parametrize("which", ["first", "second", "all anew", "eager", "undoing", "finishing"])
def test_no_loss_leaves_a_partition_that_is_neither_old_nor_new(
    nights: Nights, which: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After each operation of a run, and whatever of the unsynced is lost, each manifest has its parts.

    A marker stands for one of the two, and every part that may be left is known for Rivet's own.
    """
    if which in {"undoing", "finishing"}:
        story = _recovering(nights, committed=0 if which == "undoing" else 2)
    else:
        if which == "eager":  # each partition by itself, as it is passed
            nights.settings["publish"] = "eager"
            monkeypatch.setattr(attempt, "_EAGER_GROUP_PARTITIONS", 1)
        if which != "first":
            nights.run()
            nights.change(ALL_ANEW if which == "all anew" else CHANGE)
        story = nights.record()
    kinds = {operation.kind for operation in story.operations}
    assert kinds >= {"create", "rename", "unlink", "mkdir", "rmdir", "sync", "sync directory"}
    _assert_all(story.states(), story.allowed)
    *_, (_, state) = story.states()
    (tree,) = state.may_be("tree")
    assert isinstance(tree, Directory)
    for path, data in story.allowed[-1].items():  # and when the run has ended it is the new one for good
        (partition,) = tree.may_be(path)
        assert isinstance(partition, Directory)
        assert partition.may_be(MANIFEST) == [File(data)]
        assert partition.may_be(SUCCESS_FILE) == [File(success_marker(data))]


@pytest.mark.parametrize(
    ("which", "samples"),
    [
        ("first", SAMPLES),
        ("second", SAMPLES),
        pytest.param("first", MANY, marks=pytest.mark.long),
        pytest.param("second", MANY, marks=pytest.mark.long),
    ],
)
def test_the_next_run_ends_right_whatever_was_lost(nights: Nights, which: str, samples: int) -> None:
    """A disk with the least, the most or anything of what may be left is run into, and ends right."""
    if which == "second":
        nights.run()
        nights.change()
    story = nights.record()
    rng = random.Random(samples)
    choices: list[Choose] = [_oldest, _newest, rng.choice, rng.choice]
    moments = set(rng.sample(range(len(story.operations) + 1), min(samples, len(story.operations) + 1)))
    for number, state in story.states():
        if number in moments:
            nights.restore(state, rng.choice(choices), rng)
            try:
                nights.run()
            except AssertionError as error:
                raise AssertionError(f"after operation {number}: {story.operations[:number][-5:]}") from error


@pytest.mark.parametrize("left_out", ["sync", "sync directory"])
def test_the_checker_finds_what_is_not_synced(nights: Nights, left_out: str) -> None:
    """Without one kind of sync, a loss that breaks a promise is there and is found."""
    nights.run()
    nights.change()
    story = nights.record()
    states = story.states(without=left_out)
    with pytest.raises(AssertionError):
        _assert_all(states, story.allowed)
