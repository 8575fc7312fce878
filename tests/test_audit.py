"""The audit of `make check`: a known vulnerability fails, and what cannot be asked is said."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

HOME = Path(__file__).parents[1]
PROJECT = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ASKED = """
import json, os, pathlib, sys
listed = next(word.partition("=")[2] for word in sys.argv if word.startswith("--requirement="))
pins = pathlib.Path(listed).read_text().splitlines()
pathlib.Path(os.environ["ASKED"]).write_text(json.dumps(pins))
told = []
for pin in pins:
    name, version = pin.split("==")
    told.append({"name": name, "version": version, "vulns": []})
"""
CLEAN = 'print(json.dumps({"dependencies": told, "fixes": []}))'
VULNERABLE = """
told[0]["vulns"] = [{"id": "PYSEC-2020-1", "fix_versions": ["9.9"], "aliases": [], "description": ""}]
print(json.dumps({"dependencies": told, "fixes": []}))
raise SystemExit(1)
"""
UNKNOWN = """
told[0] = {"name": "odd", "skip_reason": "Dependency not found on PyPI and could not be audited"}
print(json.dumps({"dependencies": told, "fixes": []}))
"""
UNREACHABLE = 'raise SystemExit("ConnectionError: Could not connect to PyPI\'s vulnerability feed")'
BROKEN = 'raise SystemExit("error: unrecognized arguments: " + "--format " * 40 + "and its end")'


def _audit(directory: Path, answer: str) -> subprocess.CompletedProcess[str]:
    """Run the audit with a pip-audit that answers so, and with what pyproject.toml says of this checkout."""
    place = directory / "packages"
    about = place / "rivet_export-0.dist-info"
    (place / "pip_audit").mkdir(parents=True, exist_ok=True)
    about.mkdir(exist_ok=True)
    needs = [(need, "") for need in PROJECT["dependencies"]]
    for extra, listed in PROJECT["optional-dependencies"].items():
        needs += [(need, f"extra == '{extra}'") for need in listed]
    lines = [
        "Metadata-Version: 2.1",
        "Name: rivet-export",
        "Version: 0",
        *(f"Requires-Dist: {need}{'; ' if marker else ''}{marker}" for need, marker in needs),
    ]
    (about / "METADATA").write_text("\n".join(lines) + "\n")
    (place / "pip_audit" / "__init__.py").touch()  # without it, the real one would come first where it is
    (place / "pip_audit" / "__main__.py").write_text(ASKED + answer)
    return subprocess.run(
        [sys.executable, HOME / ".ci" / "audit", directory / "stamp"],
        env={**os.environ, "PYTHONPATH": str(place), "ASKED": str(directory / "asked")},
        capture_output=True,
        text=True,
        check=False,
    )


def test_what_users_get_is_audited_once_a_day(tmp_path: Path) -> None:
    """All that the package and its extras for stores bring, at their versions here, and no tool of ours."""
    done = _audit(tmp_path, CLEAN)
    assert (done.returncode, done.stderr) == (0, "")
    names = {pin.partition("==")[0] for pin in json.loads((tmp_path / "asked").read_text())}
    assert names >= {"asyncpg", "botocore", "gcsfs", "psycopg", "psycopg-binary", "pyarrow", "sqlalchemy"}
    assert names.isdisjoint({"pip", "pytest", "ruff", "duckdb", "rivet-export"})

    (tmp_path / "asked").unlink()
    assert _audit(tmp_path, VULNERABLE).returncode == 0
    assert not (tmp_path / "asked").exists()


def test_a_known_vulnerability_fails(tmp_path: Path) -> None:
    """Package, version, advisory and mend are told, each time anew."""
    for _ in range(2):
        done = _audit(tmp_path, VULNERABLE)
        assert done.returncode == 1
        assert "has the known vulnerability PYSEC-2020-1, fixed in 9.9" in done.stderr


@pytest.mark.parametrize(
    ("answer", "exit_code", "words"),
    [
        (UNREACHABLE, 0, "SKIPPED, the advisories cannot be had: ConnectionError"),
        (UNKNOWN, 0, "SKIPPED for 1 of"),
        (BROKEN, 2, "and its end\n"),
    ],
)
def test_what_cannot_be_audited_is_said(tmp_path: Path, answer: str, exit_code: int, words: str) -> None:
    """No network fails nothing, and passes for no audit: the next call tries again."""
    done = _audit(tmp_path, answer)
    assert (done.returncode, words in done.stderr) == (exit_code, True), done
    assert not (tmp_path / "stamp").exists()


def test_every_dependency_is_held_to_a_range() -> None:
    """From a version that was tried to the next break; two have no end, since their fixes must not wait."""
    optional = PROJECT["optional-dependencies"]
    needs = [Requirement(need) for need in (*PROJECT["dependencies"], *optional["s3"], *optional["gcs"])]
    bounds = {need.name: {bound.operator for bound in need.specifier} for need in needs}
    endless = {"cryptography", "tzdata"}
    assert {name for name, kinds in bounds.items() if kinds != {">=", "<"}} == endless
    assert all(bounds[name] == {">="} for name in endless)
