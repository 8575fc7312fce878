"""The bench as a person starts it, small, and what it refuses."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from benchmarks.__main__ import main
from benchmarks.race import Contestant, check_tree, race
from benchmarks.timing import BenchFailed, own_environment

HOME = Path(__file__).parents[2]
ROWS = 2000


@pytest.fixture
def temporary() -> Iterator[Path]:
    """Give a directory for temporary files, open to the accounts of the servers too."""
    with tempfile.TemporaryDirectory() as directory:
        Path(directory).chmod(0o1777)
        yield Path(directory)


@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_a_small_bench_measures_every_contestant_and_leaves_nothing(
    request: pytest.FixtureRequest, temporary: Path, tmp_path: Path, engine: str
) -> None:
    """Floor, Rivet and DuckDB read all rows of a table, two of them by an index too, and no file stays."""
    request.getfixturevalue(engine)  # skips where the server cannot be had
    file = tmp_path / "figures.json"
    words = ["--rows", str(ROWS), "--repeat", "1", "--engine", engine, "--json", str(file)]
    words += ["--rivet-cli-rounds", "0"]  # it takes a minute, however few rows there are
    done = _run(words, temporary)
    assert done.returncode == 0, done.stdout + done.stderr
    (measured,) = json.loads(file.read_text(encoding="utf-8"))["engines"]
    assert (measured["rows"], measured["null_rows"], measured["rounds"]) == (ROWS, 2, 1)
    runs = {each["name"]: each["runs"] for each in measured["contestants"]}
    listed = ("floor", "rivet", "duckdb", "floor-index", "rivet-index")
    assert {name: len(each) for name, each in runs.items()} == dict.fromkeys(listed, 1)
    assert runs["rivet"][0]["files"] == measured["partitions"]
    assert all(run["peak_bytes"] > 0 and run["wall_seconds"] > 0 for (run,) in runs.values())
    against, peer = (ratio["against"] for ratio in measured["ratios"])
    faster = min(("floor", "floor-index"), key=lambda name: runs[name][0]["wall_seconds"])
    assert (against, peer) == (faster, "duckdb")
    assert "rivet / floor" in done.stdout
    assert not list(temporary.iterdir())


@pytest.mark.usefixtures("s3", "postgres")  # skips where one cannot be had
def test_a_small_bench_of_s3_measures_both_places(temporary: Path, tmp_path: Path) -> None:
    """Rivet to local disk and to an S3 server leave the same rows, and their ratio is told."""
    file = tmp_path / "figures.json"
    words = ["--s3", "--rows", str(ROWS), "--repeat", "1", "--engine", "postgres", "--json", str(file)]
    done = _run(words, temporary)
    assert done.returncode == 0, done.stdout + done.stderr
    (measured,) = json.loads(file.read_text(encoding="utf-8"))["engines"]
    runs = {each["name"]: each["runs"] for each in measured["contestants"]}
    assert {name: len(each) for name, each in runs.items()} == {"rivet": 1, "rivet-s3": 1}
    assert runs["rivet-s3"][0]["files"] == runs["rivet"][0]["files"] == measured["partitions"]
    assert [(ratio["of"], ratio["against"]) for ratio in measured["ratios"]] == [("rivet-s3", "rivet")]
    assert "rivet-s3 / rivet" in done.stdout
    assert not list(temporary.iterdir())


def _run(words: list[str], temporary: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks", *words],
        cwd=HOME,
        env=os.environ | {"TMPDIR": str(temporary)},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("rows", "told"),
    [
        ({"2023-01-01": 2, "2023-01-02": 1}, "'2023-01-02' has 1, expected 2"),
        ({"2023-01-01": 2}, "'2023-01-02' has 0, expected 2"),
        ({"2023-01-01": 2, "2023-01-02": 2, "2023-01-03": 1}, "'2023-01-03' has 1, expected 0"),
    ],
)
def test_a_tree_with_other_rows_than_the_table_is_refused(
    tmp_path: Path, rows: dict[str, int], told: str
) -> None:
    """A day with too few rows, a missing day and one too many each end the bench, by name."""
    for day, count in rows.items():
        (tmp_path / f"day={day}").mkdir()
        pq.write_table(pa.table({"id": range(count)}), tmp_path / f"day={day}" / "part.parquet")
    with pytest.raises(BenchFailed, match=told):
        check_tree("rivet", tmp_path, {"2023-01-01": 2, "2023-01-02": 2})


def test_a_contestant_that_fails_ends_the_bench(tmp_path: Path) -> None:
    """What a failed program said is told, with its exit code; it is never a time."""
    program = [sys.executable, "-c", "import sys; sys.exit('no such server')"]
    failing = Contestant("rivet", lambda _: program)
    with pytest.raises(BenchFailed, match=r"rivet ended with code 1\nno such server"):
        race([failing], os.environ, 1, tmp_path, {}, tell=lambda _: None)


def test_a_contestant_may_keep_what_python_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that is timed has none of Python's settings of whoever starts the bench."""
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    command = [sys.executable, "-c", "import sys; print(sys.dont_write_bytecode)"]
    shown = subprocess.run(command, env=own_environment(), capture_output=True, text=True, check=True)
    assert shown.stdout == "False\n"


def test_the_peak_is_the_programs_own(tmp_path: Path) -> None:
    """A small program has a small peak, however much memory the process of the bench holds."""
    held = bytearray(256 * 1024**2)
    held[::4096] = b"\1" * len(held[::4096])
    listed = [Contestant("small", lambda _: ["true"], writes=False)]
    runs = race(listed, os.environ, 1, tmp_path, {}, tell=lambda _: None)
    assert runs["small"][0].peak_bytes < len(held) // 4


@pytest.mark.parametrize(
    "words",
    [
        ("--rows", "0"),
        ("--repeat", "-1"),
        ("--engine", "oracle"),
        ("--keep", str(HOME)),
        ("--json", str(HOME)),
        ("--rivet-cli", str(HOME)),
    ],
)
def test_words_that_make_no_bench_are_refused(
    capsys: pytest.CaptureFixture[str], words: tuple[str, str]
) -> None:
    """Nonsense on the command line ends with code 2, by name, before anything is measured."""
    with pytest.raises(SystemExit) as ended:
        main(list(words))
    told = capsys.readouterr()
    assert (ended.value.code, told.out) == (2, "")
    assert words[0] in told.err
