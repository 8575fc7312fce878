"""Gathers what is found while a tree is looked at."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from rivet.manifest.claimed import Claimed
from rivet.manifest.verdict import Finding, Level
from rivet.validate.partition import Looked

_MAX_FINDINGS_OF_A_KIND = 1000


@dataclass(slots=True)
class Tally:
    """What was found so far; of a kind of finding only so many are kept, and the others counted.

    Attributes:
        claimed: What the tree says it holds; None where nothing of that can be read.
    """

    findings: list[Finding] = field(default_factory=list)
    counts: Counter[tuple[Level, str]] = field(default_factory=Counter)
    partitions: int = 0
    parts: int = 0
    rows: int = 0
    size_bytes: int = 0
    claimed: Claimed | None = None

    @property
    def passed(self) -> bool:
        """Tell whether nothing found so far is an error."""
        return all(level is not Level.ERROR for level, _ in self.counts)

    def add(self, findings: Iterable[Finding]) -> None:
        """Add findings."""
        for finding in findings:
            kind = (finding.level, finding.code)
            self.counts[kind] += 1
            if self.counts[kind] <= _MAX_FINDINGS_OF_A_KIND:
                self.findings.append(finding)

    def add_partition(self, looked: Looked) -> None:
        """Add a partition that was looked at, and what was found there."""
        self.add(looked.findings)
        self.partitions += looked.readable
        self.parts += looked.parts
        self.rows += looked.rows
        self.size_bytes += looked.size_bytes

    def add_others(self, others: Tally) -> None:
        """Add the findings of another tally after these."""
        self.add(others.findings)
        for kind, count in others.counts.items():
            self.counts[kind] += max(0, count - _MAX_FINDINGS_OF_A_KIND)

    def all_findings(self) -> list[Finding]:
        """Give all that was kept, and of each kind one that counts those that were too many."""
        more = {kind: count - _MAX_FINDINGS_OF_A_KIND for kind, count in self.counts.items()}
        return self.findings + [
            Finding(level, code, "", f"{count} more findings of this kind", count)
            for (level, code), count in more.items()
            if count > 0
        ]
