"""The wheel that users install holds all of the package, and nothing else."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import rivet

HOME = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[zipfile.ZipFile]:
    """Build the wheel from a copy, so that nothing is left among the sources."""
    copy = tmp_path_factory.mktemp("sources")
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(HOME / name, copy)
    shutil.copytree(HOME / "rivet", copy / "rivet", ignore=shutil.ignore_patterns("__pycache__"))
    built = subprocess.run(
        [
            sys.executable, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check",
            "--no-deps", "--no-build-isolation", "--wheel-dir", copy / "dist", copy,
        ],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    (file,) = (copy / "dist").iterdir()
    with zipfile.ZipFile(file) as opened:
        yield opened


def test_the_wheel_holds_every_module(wheel: zipfile.ZipFile) -> None:
    """Each module of `rivet/` is in the wheel, with the mark that it is typed; no test is."""
    sources = {
        path.relative_to(HOME).as_posix()
        for path in (HOME / "rivet").rglob("*")
        if path.is_file() and path.suffix in (".py", ".typed", ".json", ".sql")
    }
    assert "rivet/py.typed" in sources
    assert {name for name in wheel.namelist() if ".dist-info/" not in name} == sources


def test_the_wheel_says_what_it_is(wheel: zipfile.ZipFile) -> None:
    """Name, version, licence and command are those of the project."""
    info = f"rivet_export-{rivet.__version__}.dist-info"
    assert wheel.read(f"{info}/licenses/LICENSE") == (HOME / "LICENSE").read_bytes()
    assert "rivet = rivet.cli.main:main" in wheel.read(f"{info}/entry_points.txt").decode()


def test_the_installed_command_knows_its_version(wheel: zipfile.ZipFile, tmp_path: Path) -> None:
    """`python -m rivet` runs from the wheel alone, in any directory, and tells the version."""
    wheel.extractall(tmp_path / "installed")
    told = subprocess.run(
        [sys.executable, "-m", "rivet", "--version"],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(tmp_path / "installed")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (told.returncode, told.stdout) == (0, f"rivet {rivet.__version__}\n"), told.stderr
