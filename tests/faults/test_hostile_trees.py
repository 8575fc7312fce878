"""Trees that a stranger has had his hands on: an error or a verdict, and nothing outside the tree."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.faults.mutating import ESCAPES, mutated_bytes, mutated_json
from tests.faults.planted import assert_no_secret
from tests.run.command import run_command, write_config
from tests.run.running import by_day, run_well
from tests.run.trees import snapshot
from tests.servers.sqlite import SqliteDatabase

FOLDER = Path(__file__).parents[2]
PATIENCE_SECONDS = 120
MOST_BYTES = 900 * 1024**2
LIGHT_BYTES = 450 * 1024**2
GIB = 1024**3
TABLE = """
    CREATE TABLE events (id INTEGER PRIMARY KEY, created_at DATETIME, note TEXT);
    INSERT INTO events VALUES (1, '2023-01-01 00:00:00', 'a'), (2, '2023-01-02 12:00:00', 'b'),
     (3, NULL, 'c');
"""
DAY = "created_at=2023-01-02"
LOCK = b'{"lock_version": 1, "run_id": "20230101T000000Z-00000000", "host": "db1", "pid": 1, "token": "x"}\n'
TOLD = {0, 2, 3, 4, 5}
"""Every exit code but that of a bug and that of an interruption."""


class Hostile:
    """A tree between two files that nobody may touch, damaged anew for each example."""

    def __init__(self, directory: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys
        self._directory = directory
        self.root = directory / "jail" / "tree"
        database = SqliteDatabase(directory / "source.db")
        database.execute(TABLE)
        run_well(directory, database.source, by_day(self.root))
        self.config = write_config(directory, {**database.source, "retries": 0}, by_day(self.root))
        (directory / "outside").write_text("untouched")
        (directory / "jail" / "outside").write_text("untouched")
        part = next(self.root.glob(f"{DAY}/*.parquet"))
        self.names = [
            "_rivet_export.json", "_rivet_lock.json", f"{DAY}/manifest.json", f"{DAY}/_SUCCESS",
            str(part.relative_to(self.root)),
        ]  # fmt: skip
        (self.root / "_rivet_lock.json").write_bytes(LOCK)
        self._good = snapshot(self.root)

    def good(self, name: str) -> bytes:
        """Give what stood in a file before anybody had his hands on it."""
        return self._good[name]

    def examine(self, changes: dict[str, bytes]) -> None:
        """Put the tree there with changed files, validate it, and run into it."""
        for name, data in {**self._good, **changes}.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)
        before = self._around()
        commands: list[list[str | Path]] = [
            ["validate", "--prefix", self.root, "--json"],
            ["validate", "--prefix", self.root, "--depth", "quick", "--strict"],
            ["validate", "--config", self.config, "--prefix", self.root / DAY],
            ["run", "--config", self.config],
        ]
        for arguments in commands:
            told = run_command(self._capsys, *arguments)
            assert told.exit_code in TOLD, (told.lines, changes)
            text = "\n".join(told.lines) + json.dumps(told.document, ensure_ascii=False)
            assert_no_escape("\n".join(told.lines))
            assert_no_secret(text)
        assert self._around() == before
        for path in sorted(self.root.rglob("*"), reverse=True):
            path.rmdir() if path.is_dir() else path.unlink()

    def _around(self) -> dict[str, bytes]:
        inside = f"{self.root.relative_to(self._directory)}/"
        return {n: data for n, data in snapshot(self._directory).items() if not n.startswith(inside)}


def assert_no_escape(text: str) -> None:
    """Assert that there is nothing in a text that a terminal obeys, but for line ends."""
    assert text.replace("\n", "").isprintable(), [c for c in text if c != "\n" and not c.isprintable()]


@pytest.fixture
def hostile(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Hostile:
    """Give a tree to damage."""
    return Hostile(tmp_path, capsys)


@pytest.mark.parametrize(
    ("seed", "examples"), [(1, 25), *(pytest.param(seed, 400, marks=pytest.mark.long) for seed in (2, 3, 4))]
)
def test_any_file_of_a_tree_may_be_damaged(hostile: Hostile, seed: int, examples: int) -> None:
    """Bytes or values changed in one to three files end in a verdict or an error, and touch nothing else."""
    rng = random.Random(seed)
    for _ in range(examples):
        changes: dict[str, bytes] = {}
        for name in rng.sample(hostile.names, rng.randint(1, 3)):
            good = hostile.good(name)
            mutate: Callable[[random.Random, bytes], bytes] = mutated_bytes
            if name.endswith(".json") and rng.random() < 0.7:
                mutate = mutated_json
            changes[name] = mutate(rng, good)
        manifest = f"{DAY}/manifest.json"
        if manifest in changes and rng.random() < 0.7:
            # The marker agrees, and so does the export file: what is in the manifest is then believed.
            digest = f"sha256:{hashlib.sha256(changes[manifest]).hexdigest()}".encode()
            old = hostile.good(f"{DAY}/_SUCCESS").strip()
            changes[f"{DAY}/_SUCCESS"] = digest + b"\n"
            export = changes.get("_rivet_export.json", hostile.good("_rivet_export.json"))
            changes["_rivet_export.json"] = export.replace(old, digest)
        hostile.examine(changes)


def test_names_of_files_that_a_terminal_would_obey(hostile: Hostile) -> None:
    """They are told by their escapes, by every command, for people and for machines."""
    odd = hostile.root / DAY / f"{ESCAPES}.parquet"
    odd.write_bytes(b"PAR1")
    (hostile.root / f"created_at={ESCAPES}").mkdir()
    (hostile.root / f"created_at={ESCAPES}" / "manifest.json").write_bytes(b"{}")
    export = json.loads((hostile.root / "_rivet_export.json").read_text())
    export["tool"] = export["partitions"][0]["value"] = export["run_id"] = ESCAPES
    (hostile.root / "_rivet_export.json").write_text(json.dumps(export))
    for more in ([], ["--json"]):
        command = [sys.executable, "-m", "rivet", "validate", "--prefix", str(hostile.root), *more]
        done = subprocess.run(command, capture_output=True, cwd=FOLDER, check=False, timeout=PATIENCE_SECONDS)
        assert done.returncode == 4
        assert_no_escape((done.stdout + done.stderr).decode())


def _spaces(path: Path) -> None:
    path.write_bytes(b" " * 1024)
    os.truncate(path, 2 * GIB)


def _bomb(path: Path) -> None:
    path.write_bytes(b'{"a": [' + b"[]," * (80 * 1024**2) + b"[]]}")


@pytest.mark.parametrize(
    ("name", "make"),
    [
        (f"{DAY}/manifest.json", _spaces),
        pytest.param("_rivet_export.json", _spaces, marks=pytest.mark.long),
        pytest.param("_rivet_lock.json", _spaces, marks=pytest.mark.long),
        pytest.param(f"{DAY}/_SUCCESS", _spaces, marks=pytest.mark.long),
        pytest.param("_rivet_export.json", _bomb, marks=pytest.mark.long),
        pytest.param(f"{DAY}/manifest.json", _bomb, marks=pytest.mark.long),
    ],
)
def test_files_that_are_far_too_large(hostile: Hostile, name: str, make: Callable[[Path], object]) -> None:
    """Validation says that they are too large, or ignores them, in a memory that they do not set.

    So does a run; a manifest that it cannot read is written anew, with its marker.
    """
    make(hostile.root / name)
    peak, code, told = _validated(hostile.root)
    assert code == (0 if name == "_rivet_lock.json" else 4), told
    assert peak < LIGHT_BYTES
    if name == "_rivet_lock.json":
        return  # somebody's whose lock cannot be read, until it is old
    (hostile.root / "_rivet_lock.json").unlink()
    is_export_file = name == "_rivet_export.json"
    refusal = re.search(rb"the file (is larger|has more) than \d+ \w+", told)
    for command in ("plan", "run"):
        peak, code, told = _measured(command, "--config", str(hostile.config))
        assert code == (4 if is_export_file else 0), told
        assert not is_export_file or (refusal is not None and refusal[0] in told)
        assert peak < MOST_BYTES
    if not is_export_file:
        assert _validated(hostile.root)[1] == 0


@pytest.mark.long
def test_many_files_that_are_too_large(hostile: Hostile) -> None:
    """Partitions that are looked at side by side do not add up in memory."""
    days = [path.parent for path in hostile.root.rglob("manifest.json")]
    for number in range(20):
        days.append(hostile.root / DAY / f"copy{number}")
        days[-1].mkdir()
    export = json.loads((hostile.root / "_rivet_export.json").read_text())
    entry = export["partitions"][0]
    export["partitions"] = [{**entry, "path": str(day.relative_to(hostile.root))} for day in days]
    (hostile.root / "_rivet_export.json").write_text(json.dumps(export))
    for day in days:
        (day / "manifest.json").write_bytes(b'{"a": [' + b"[]," * (5 * 1024**2) + b"[]]}")
    peak, code, told = _validated(hostile.root)
    assert code == 4, told
    assert peak < MOST_BYTES


@pytest.mark.parametrize("depth", ["quick", pytest.param("full", marks=pytest.mark.long)])
def test_a_footer_that_claims_to_be_far_too_large(hostile: Hostile, depth: str) -> None:
    """A part whose last bytes make a gigabyte of zeros its footer is unreadable, and is not read."""
    path = hostile.root / hostile.names[-1]
    with path.open("wb") as file:
        file.write(b"PAR1")
        file.truncate(GIB)
        file.seek(GIB - 8)
        file.write((GIB - 12).to_bytes(4, "little") + b"PAR1")
    manifest = json.loads((hostile.root / DAY / "manifest.json").read_text())
    with path.open("rb") as file:  # which only the full depth looks at
        digest = hashlib.file_digest(file, "sha256").hexdigest() if depth == "full" else "0" * 64
    manifest["parts"][0].update(size_bytes=GIB, sha256=digest)
    (hostile.root / DAY / "manifest.json").write_text(json.dumps(manifest))
    peak, code, told = _validated(hostile.root / DAY, "--depth", depth)
    assert code == 4, told
    assert b"footer" in told
    assert peak < LIGHT_BYTES


@pytest.mark.parametrize(
    ("kind", "whose"),
    [
        ("a pipe", "the partition's"),
        ("a device", "the root's"),
        *(
            pytest.param(kind, whose, marks=pytest.mark.long)
            for kind in ("a pipe", "a device", "a loop of links", "a directory")
            for whose in ("the partition's", "the root's")
        ),
    ],
)
def test_files_that_are_none(hostile: Hostile, kind: str, whose: str) -> None:
    """Whatever stands in place of a file keeps nobody waiting, and ends in a verdict."""
    make: dict[str, Callable[[Path], object]] = {
        "a pipe": os.mkfifo,
        "a device": lambda path: path.symlink_to("/dev/zero"),
        "a loop of links": lambda path: path.symlink_to(path),
        "a directory": Path.mkdir,
    }
    for name in hostile.names:
        if name.startswith("_rivet") == (whose == "the root's"):
            (hostile.root / name).unlink()
            make[kind](hostile.root / name)
    _, code, told = _validated(hostile.root)
    assert code in TOLD, told
    assert b"Traceback" not in told


def _validated(root: Path, *arguments: str) -> tuple[int, int, bytes]:
    """Validate in a process of its own; give the most memory that it took, its exit code and what it said."""
    return _measured("validate", "--prefix", str(root), *arguments)


def _measured(*arguments: str) -> tuple[int, int, bytes]:
    command = [sys.executable, "-m", "tests.run.memory_driver", *arguments]
    done = subprocess.run(command, capture_output=True, cwd=FOLDER, check=False, timeout=PATIENCE_SECONDS)
    peak = int(done.stdout.splitlines()[-1])
    return peak, done.returncode, done.stderr
