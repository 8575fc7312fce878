"""The benches of one question each, as a person starts them, small; no test looks at a time."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from benchmarks import partitions, shapes, sqlite, startup, validation
from benchmarks.shape import shapes as all_shapes


@pytest.fixture
def figures(tmp_path: Path) -> Path:
    """Name the file for a bench's figures."""
    return tmp_path / "figures.json"


def _read(figures: Path) -> dict[str, Any]:
    facts: dict[str, Any] = json.loads(figures.read_text(encoding="utf-8"))
    return facts


@pytest.mark.long
def test_sqlite_is_measured_beside_adbc(figures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Rivet, both ways to read and the encoding each have a time for every round."""
    assert sqlite.main(["--rows", "300", "--repeat", "1", "--json", str(figures)]) == 0
    facts = _read(figures)
    assert (facts["rows"], len(facts["rivet"]), len(facts["encoding_seconds"])) == (300, 1, 1)
    assert {name: len(each) for name, each in facts["readings"].items()} == dict.fromkeys(sqlite.READINGS, 1)
    assert "rivet / (adbc + encoding)" in capsys.readouterr().out


def test_start_up_is_measured(figures: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Help and the validation of one partition each have a time, and what they import is listed."""
    assert startup.main(["--repeat", "1", "--imports", "--json", str(figures)]) == 0
    assert set(_read(figures)["commands"]) == {"python", *startup.GOALS}
    assert "rivet.cli.main" in capsys.readouterr().out


@pytest.mark.parametrize(
    "engine", ["sqlite", *(pytest.param(name, marks=pytest.mark.long) for name in ("postgres", "mariadb"))]
)
def test_a_shape_is_made_counted_and_held_to_its_bound(
    request: pytest.FixtureRequest, figures: Path, capsys: pytest.CaptureFixture[str], engine: str
) -> None:
    """A table of rows of 20 MB has so many rows and partitions, and twelve times its row as its bound."""
    if engine != "sqlite":
        request.getfixturevalue(engine)  # skips where the server cannot be had
    words = ["--rows", "300", "--engine", engine, "--only", "20,000,000 bytes", "--json", str(figures)]
    assert shapes.main(words) == 0
    (shape,) = _read(figures)["shapes"]
    assert (shape["rows"], shape["partitions"]) == (2, 2)
    assert shape["row_bytes"] >= 20_000_000
    assert shape["peak_bytes"] > shape["row_bytes"]
    assert "1 of 1" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.parametrize("engine", ["sqlite", "postgres", "mariadb"])
def test_every_shape_is_made_and_counted(request: pytest.FixtureRequest, figures: Path, engine: str) -> None:
    """Each shape of the list is made by every engine, exported, and has all its rows."""
    if engine != "sqlite":
        request.getfixturevalue(engine)
    assert shapes.main(["--rows", "2000", "--engine", engine, "--json", str(figures)]) == 0
    made = {shape["name"]: shape for shape in _read(figures)["shapes"]}
    assert {name: shape["rows"] for name, shape in made.items()} == {
        shape.name: shape.rows for shape in all_shapes(2000, large=False)
    }
    assert made["10,000 partitions"]["partitions"] == 10_000
    assert made["1,000 partitions, 99 % in one"]["partitions"] == 1000


def test_a_shape_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """A word that no shape has in its name ends with code 2, by name."""
    with pytest.raises(SystemExit) as ended:
        shapes.main(["--only", "oblong"])
    assert ended.value.code == 2
    assert "oblong" in capsys.readouterr().err


def test_the_standard_table_may_grow_by_a_fifth_in_memory() -> None:
    """Its bound is 350 MB, and for ten times the rows 1.2 times what it took itself."""
    small = {"standard": True, "rows": 3_000_000, "peak_bytes": 300_000_000, "row_bytes": 144}
    large = {**small, "rows": 30_000_000}
    assert shapes.most_bytes(small, [small, large]) == 350_000_000
    assert shapes.most_bytes(large, [small, large]) == 360_000_000
    other = {**small, "standard": False, "row_bytes": 50_000_000}
    assert shapes.most_bytes(other, [small, large]) == 600_000_000


@pytest.mark.long
@pytest.mark.usefixtures("postgres")  # skips where it cannot be had
def test_validation_is_measured_as_a_share_of_the_export(
    figures: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both depths see all rows and partitions of the tree, and have a share of the export's time."""
    assert validation.main(["--rows", "300", "--repeat", "1", "--json", str(figures)]) == 0
    facts = _read(figures)
    assert facts["rows"] == 300
    assert all(each["share"] > 0 for each in facts["depths"].values())
    assert "of the export" in capsys.readouterr().out


@pytest.mark.long
@pytest.mark.usefixtures("postgres")  # skips where it cannot be had
def test_the_cost_of_a_partition_is_measured_beside_the_probe(
    figures: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The same rows lie in as many partitions as asked, and the probe makes as many."""
    monkeypatch.setattr(partitions, "COUNTS", (2, 5))
    assert partitions.main(["--rows", "100", "--repeat", "1", "--json", str(figures)]) == 0
    facts = _read(figures)
    assert {count: runs[0]["files"] for count, runs in facts["runs"].items()} == {"2": 2, "5": 5}
    (step,) = facts["steps"]
    assert step["beyond"] == pytest.approx(step["seconds"] - step["probe_seconds"])
    assert "rows of 1900 and 9999" in capsys.readouterr().out
