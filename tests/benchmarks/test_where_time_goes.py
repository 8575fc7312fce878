"""The benches that tell where time goes and what a server has to bear, small; no test looks at a time."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import pytest

from benchmarks import kindness, scaling, stages
from benchmarks.sampler import FILES, HOME, ROOMS, stage_of
from benchmarks.scaling import Machine, reckon

FACTS = {
    "server_seconds": 8.0,
    "csv_bytes": 1_000_000_000,
    "stages": {
        "start": 0.5, "ask": 0.25, "publish": 0.25, "other": 0.0,
        "wire": 2.0, "parse": 1.0, "split": 1.0, "encode": 6.0, "write": 0.0, "arrow": 0.0,
    },
}  # fmt: skip


def test_every_stage_has_files_that_are_there() -> None:
    """What is booked by file or room is a part of Rivet; one that has moved would be booked elsewhere."""
    assert [file for file in FILES if not (HOME / "rivet" / file).is_file()] == []
    assert [room for room in ROOMS if not (HOME / "rivet" / room).is_dir()] == []


@pytest.mark.parametrize(
    ("outer", "inner", "stage"),
    [
        ("export/stage.py", "export/parts.py", "encode"),
        ("export/parts.py", "destination/local_staged.py", "write"),
        ("publish/steps.py", "destination/local.py", "publish"),
        ("source/postgres/session.py", "source/pipe.py", "wire"),
        ("run.py", "export/split.py", "split"),
        ("export/split.py", "/usr/lib/python3/threading.py", "split"),
        ("source/opening.py", "<frozen importlib._bootstrap>", "start"),
        ("run.py", "outcome.py", "other"),
    ],
)
def test_the_frame_nearest_to_the_work_decides(outer: str, inner: str, stage: str) -> None:
    """A thread is booked where it stands, but all that publishing asks for is publishing."""

    def within(file: str, body: str, **names: object) -> FrameType:
        name = file if file[0] in "/<" else str(HOME / "rivet" / file)
        found: dict[str, Any] = {"sys": sys, **names}
        exec(compile(f"def here():\n return {body}\nframe = here()", name, "exec"), found)  # noqa: S102
        frame: FrameType = found["frame"]
        return frame

    frame = within(outer, "within(inner, 'sys._getframe()')", within=within, inner=inner)
    assert stage_of(frame) == stage


@pytest.mark.parametrize(
    ("where", "workers", "locked", "taken", "bound"),
    [
        (Machine(2, remote=False, network_bytes_per_second=1e9), 1, False, 1 + 18 / 2, "cores"),
        (Machine(16, remote=True, network_bytes_per_second=1e9), 1, False, 1 + 8, "server"),
        (Machine(16, remote=True, network_bytes_per_second=1e9), 4, False, 1 + 2, "server"),
        (Machine(16, remote=True, network_bytes_per_second=1e9), 4, True, 1 + 4, "the lock"),
        (Machine(64, remote=True, network_bytes_per_second=5e8), 64, False, 1 + 2, "network"),
    ],
)
def test_what_has_most_to_do_sets_the_time(
    where: Machine, workers: int, *, locked: bool, taken: float, bound: str
) -> None:
    """All that overlaps takes as long as the longest; starting, asking and publishing come on top."""
    reckoned = reckon(FACTS, where, workers, locked=locked)
    assert reckoned.seconds == pytest.approx(taken)
    assert reckoned.bound == bound


@pytest.mark.long
@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_stages_are_measured_and_reckoned_with(
    request: pytest.FixtureRequest, tmp_path: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    """Every stage has its time, and the figures serve the reckoning for other machines."""
    request.getfixturevalue(engine)  # skips where the server cannot be had
    file = tmp_path / "stages.json"
    words = ["--rows", "2000", "--repeat", "1", "--engine", engine]
    assert stages.main([*words, "--json", str(file)]) == 0
    facts = json.loads(file.read_text(encoding="utf-8"))
    assert min(facts["stages"][name] for name in ("start", "encode")) > 0
    assert scaling.main(["--figures", str(file)]) == 0
    assert "64 cores, remote database" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_what_a_server_bears_is_counted_by_itself(
    request: pytest.FixtureRequest, tmp_path: Path, engine: str
) -> None:
    """The floor is one statement of one connection, and a query for each day is as many statements."""
    request.getfixturevalue(engine)  # skips where the server cannot be had
    file = tmp_path / "kindness.json"
    words = ["--rows", "2000", "--engine", engine, "--no-rivet-cli", "--json", str(file)]
    assert kindness.main(words) == 0
    facts = json.loads(file.read_text(encoding="utf-8"))
    assert facts["refused"] == {}
    found = {each["name"]: each for each in facts["strategies"]}
    assert (found["the floor"]["statements"], found["the floor"]["connections"]) == (1, 1)
    assert found["the floor"]["rows_read"] >= 2000
    assert found["rivet"]["statements"] < found["rivet, scan: per_partition"]["statements"]
    assert found["rivet"]["rows_read"] >= 2000
