"""The import law holds, covers every room and every library, and cannot be broken without notice."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

HOME = Path(__file__).parents[1]
PROJECT = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))
CONTRACTS = [c for c in PROJECT["tool"]["importlinter"]["contracts"] if c["type"] == "protected"]
PROTECTED = {module for contract in CONTRACTS for module in contract["protected_modules"]}

# Needed by what we use, and never imported by us.
UNSEEN = {
    "cryptography",  # by PyMySQL, for the password exchange of MySQL 8 and later
    "tzdata",  # by the standard library, where the system has no zones
}


def lint(place: Path) -> subprocess.CompletedProcess[str]:
    """Judge the package that lies in a folder."""
    linter = shutil.which("lint-imports", path=Path(sys.executable).parent)
    assert linter is not None
    return subprocess.run(
        [linter, "--no-cache", "--no-logo"],
        cwd=place,
        env={"PYTHONPATH": str(place), "PATH": ""},
        capture_output=True,
        text=True,
        check=False,
    )


def test_the_import_law_holds() -> None:
    """Every room imports only what the table of rooms allows it."""
    judged = lint(HOME)
    assert judged.returncode == 0, judged.stdout


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("plan/windows.py", "import pyarrow"),
        ("preparing/prepare.py", "import rivet.lock.turn"),
        ("plan/windows.py", "from rivet.config import settings"),
        ("manifest/model.py", "import rivet.destination.protocol"),
        ("export/parts.py", "import rivet.source.postgres"),
        ("destination/local.py", "import rivet.source"),
        ("destination/opening.py", "import botocore.exceptions"),
        ("destination/protocol.py", "import google.auth"),
        ("report/document.py", "import rich"),
        ("cli/main.py", "import sqlalchemy"),
        ("source/protocol.py", "from rivet import run"),
    ],
)
def test_a_forbidden_import_is_found(tmp_path: Path, module: str, line: str) -> None:
    """One import too many, in a room that must not have it, breaks the law."""
    shutil.copy(HOME / "pyproject.toml", tmp_path)
    shutil.copytree(HOME / "rivet", tmp_path / "rivet", ignore=shutil.ignore_patterns("__pycache__"))
    with (tmp_path / "rivet" / module).open("a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    judged = lint(tmp_path)
    assert judged.returncode == 1, judged.stdout
    assert "rivet." + module.removesuffix(".py").replace("/", ".") in judged.stdout


def test_every_room_stands_in_the_law() -> None:
    """No room escapes the law for not being named in it, but for those two that know no other."""
    rooms = {
        f"rivet.{path.stem}"
        for path in (HOME / "rivet").iterdir()
        if (path.suffix == ".py" or (path / "__init__.py").exists()) and not path.stem.startswith("__")
    }
    assert rooms - {"rivet.errors", "rivet.wording"} <= PROTECTED


def test_every_library_stands_in_the_law() -> None:
    """Each library that Rivet depends on has a room, and no other room knows it."""
    modules: dict[str, set[str]] = {}
    for module, distributions in packages_distributions().items():
        for distribution in distributions:
            modules.setdefault(_normal(distribution), set()).add(module)
    extras = PROJECT["project"]["optional-dependencies"]
    for requirement in (*PROJECT["project"]["dependencies"], *extras["s3"], *extras["gcs"]):
        name = _normal(re.split(r"[^\w.-]", requirement, maxsplit=1)[0])
        if name not in UNSEEN:
            assert modules[name] & PROTECTED, f"{requirement} stands in no contract"


def _normal(distribution: str) -> str:
    return re.sub(r"[-_.]+", "-", distribution).lower()
