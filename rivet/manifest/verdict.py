"""Findings of a validation, as values; nothing here is raised."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Level(StrEnum):
    """How bad a finding is: an error changes what a reader gets, a note does not."""

    ERROR = "error"
    NOTE = "note"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that a validation found.

    Attributes:
        level: ERROR or NOTE.
        code: A stable word for machines, such as `part_missing`.
        path: The object or partition, from the validated prefix; empty for the prefix itself.
        message: What was seen and what was expected.
    """

    level: Level
    code: str
    path: str
    message: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """The outcome of a validation of one partition or one root."""

    prefix: str
    depth: str
    partitions: int
    parts: int
    rows: int
    size_bytes: int
    findings: tuple[Finding, ...] = ()

    @property
    def passed(self) -> bool:
        """Tell whether no finding is an error."""
        return all(f.level is not Level.ERROR for f in self.findings)
