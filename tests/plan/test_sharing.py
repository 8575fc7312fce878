"""Windows and blocks are dealt out: each once, and as evenly as they can be."""

from __future__ import annotations

import random

import pytest

from rivet.plan.blocks import block_ranges
from rivet.plan.scans import Reach, WindowCount
from rivet.plan.sharing import at_once, jobs_of, shared_scans


@pytest.mark.parametrize("seed", range(20))
def test_each_window_is_read_by_one_scan_of_about_equal_rows(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whatever the windows hold; one with more rows than a share is a scan alone, as NULL rows are."""
    monkeypatch.setattr("rivet.plan.sharing.LEAST_ROWS", 1)
    chance = random.Random(seed)
    days = sorted(chance.sample(range(1000), chance.randint(1, 200)))
    counts = [WindowCount(day, day + 1, str(day), int(chance.paretovariate(0.7))) for day in days]
    nulls, workers = chance.choice([0, 1, 500]), chance.randint(1, 8)

    scans = shared_scans(counts, nulls, parallel=workers, max_scan_rows=10**9)

    rows = sum(count.rows for count in counts) + nulls
    share = -(-rows // (workers * 4))
    assert sum(scan.expected_rows or 0 for scan in scans) == rows
    ranges = [scan for scan in scans if scan.reach is Reach.RANGE]
    assert len(scans) - len(ranges) == (nulls > 0)
    for scan in ranges:
        held = [c for c in counts if (scan.start or 0) <= c.start < (scan.end or 0)]
        assert sum(c.rows for c in held) == scan.expected_rows
        assert len(held) == 1 or (scan.expected_rows or 0) <= share
    assert sum(len([c for c in counts if (s.start or 0) <= c.start < (s.end or 0)]) for s in ranges) == len(
        days
    )
    assert at_once(scans, workers) == min(workers, len(scans))
    largest = [sum(scan.expected_rows or 0 for scan in job) for job in jobs_of(scans)]
    assert largest == sorted(largest, reverse=True)


@pytest.mark.parametrize("number", range(2, 9))
def test_each_block_is_read_once(number: int) -> None:
    """The ranges follow each other, from the first block on, and the last has no end."""
    for blocks in range(40):
        ranges = block_ranges(blocks, number, least=3)
        assert len(ranges) == (0 if blocks < 6 else min(number, blocks // 3))
        ends = [r.end for r in ranges]
        assert [r.start for r in ranges] == [0, *ends[:-1]][: len(ranges)]
        assert ends[-1:] in ([], [None])
        sizes = {(end or blocks) - r.start for r, end in zip(ranges, ends, strict=True)}
        assert not sizes or max(sizes) - min(sizes) <= 1
