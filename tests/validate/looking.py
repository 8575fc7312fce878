"""Validates local trees, and gives findings in a form that tests compare."""

from __future__ import annotations

from pathlib import Path

from rivet.destination.local import LocalDestination
from rivet.manifest.verdict import Verdict
from rivet.validate import Depth, validate

DEPTHS: list[Depth] = ["quick", "full"]


def found(verdict: Verdict) -> list[tuple[str, str, str]]:
    """Give level, code and path of each finding."""
    return [(f.level.value, str(f.code), f.path) for f in verdict.findings]


def check(root: Path, prefix: str = "", depth: Depth = "full", *, strict: bool = False) -> Verdict:
    """Validate a local prefix."""
    return validate(LocalDestination(root), prefix, depth=depth, strict=strict)
