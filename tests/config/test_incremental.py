"""The keys of `mode: incremental` and of windows: what they become, and what is refused with the mend."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest

from rivet.config.read_settings import IncrementalSettings
from tests.config.conftest import ONE_EXPORT, SOURCE, Load, Refuse

EXPORT = "$.exports[0]"
PARTITIONED = (
    ONE_EXPORT.replace("./out/events", "'./out/events/{partition}/'") + "    partition_by: created_at\n"
)
CURSOR = "mode: incremental\ncursor_column: updated_at"
APPEND = f"{CURSOR}\nstrategy: append"


def _export(keys: str, export: str = PARTITIONED) -> str:
    return SOURCE + export + "".join(f"    {line}\n" for line in keys.splitlines())


def test_the_keys_say_how_changes_are_found(load: Load) -> None:
    """Lags are times or exact numbers; what is not stated decides nothing."""
    (least,) = load(_export(CURSOR)).exports
    assert least.incremental == IncrementalSettings("updated_at")
    assert least.refresh_windows is None
    more = "cursor_fallback_column: created_at\nlag: 15 minutes\nverify_counts: true\nrefresh_windows: 3"
    (most,) = load(_export(f"{CURSOR}\n{more}\nstrategy: rewrite")).exports
    expected = IncrementalSettings("updated_at", "created_at", timedelta(minutes=15), verify_counts=True)
    assert (most.mode, most.incremental, most.refresh_windows) == ("incremental", expected, 3)
    (counting,) = load(_export(f"{CURSOR}\nlag: 1000")).exports
    assert counting.incremental is not None
    assert counting.incremental.lag == Decimal(1000)
    (adding,) = load(_export(f"{APPEND}\nunique_key: [id, day]")).exports
    assert adding.adds_rows
    assert adding.incremental == IncrementalSettings(
        "updated_at", strategy="append", unique_key=("id", "day")
    )
    (full,) = load(_export("refresh_windows: 2")).exports
    assert (full.mode, full.incremental, full.refresh_windows) == ("full", None, 2)


CASES = {
    "no cursor": ("mode: incremental", "cursor_column", "is missing", "write `cursor_column: …`"),
    "a cursor alone": (
        "cursor_column: updated_at",
        "cursor_column",
        "stands without mode: incremental",
        "write mode: incremental, or remove it",
    ),
    "a lag alone": ("lag: 1 hour", "lag", "stands without mode: incremental", "write mode: incremental"),
    "counts alone": ("verify_counts: true", "verify_counts", "stands without", "write mode: incremental"),
    "itself": (
        f"{CURSOR}\ncursor_fallback_column: updated_at",
        "cursor_fallback_column",
        "is the cursor_column itself",
        "name another column",
    ),
    "left out": (
        f"{CURSOR}\nexclude: [updated_at]",
        "cursor_column",
        "is left out by exclude",
        "take it out of exclude",
    ),
    "kept": (
        f"{CURSOR}\nresume: reuse",
        "resume",
        "stands beside mode: incremental, whose next run goes on from the old",
        "remove it",
    ),
    "a key alone": (
        f"{CURSOR}\nunique_key: [id]",
        "unique_key",
        "stands without strategy: append",
        "write strategy: append",
    ),
    "counts of versions": (
        f"{APPEND}\nverify_counts: true",
        "verify_counts",
        "stands beside strategy: append, whose partitions may hold more rows",
        "write strategy: rewrite",
    ),
    "last windows anew": (
        f"{APPEND}\nrefresh_windows: 2",
        "refresh_windows",
        "stands beside strategy: append, which never writes anew",
        "write strategy: rewrite",
    ),
    "a key left out": (
        f"{APPEND}\nunique_key: [id]\nexclude: [id]",
        "unique_key",
        "names a column that is left out by exclude",
        "take it out of one of them",
    ),
    "no key": (f"{APPEND}\nunique_key: []", "unique_key", "at least 1", None),
    "a dropped cursor": (
        "mode: incremental\ncursor_column: created_at\nstrategy: append\npartition_column: drop",
        "partition_column",
        "leaves a column out of the files by which strategy: append knows rows again",
        "write partition_column: keep",
    ),
    "no lag": (f"{CURSOR}\nlag: soon", "lag", "expected a number above zero, or a time such as", None),
    "no windows": ("refresh_windows: 0", "refresh_windows", "expected", None),
}


@pytest.mark.parametrize("case", CASES)
def test_what_does_not_go_together_is_refused(refuse: Refuse, case: str) -> None:
    """Each with its path, what was found, and the mend."""
    keys, key, message, hint = CASES[case]

    (problem,) = refuse(_export(keys))

    assert problem.path == f"{EXPORT}.{key}"
    assert message in problem.message
    assert hint is None or hint in (problem.hint or "")


def test_without_partitions_there_are_no_windows(refuse: Refuse) -> None:
    """Neither changes nor last windows are known of an export that is one partition."""
    problems = refuse(_export(f"{CURSOR}\nrefresh_windows: 1", ONE_EXPORT))

    assert [(p.path, p.hint) for p in problems] == [
        (f"{EXPORT}.refresh_windows", "add partition_by, or remove it"),
        (f"{EXPORT}.mode", "add partition_by, or write mode: full"),
    ]


def test_what_defaults_say_of_cursors_is_for_those_that_have_one(load: Load) -> None:
    """Keys of `defaults` bother no export of another mode."""
    text = SOURCE + "defaults: {verify_counts: true, lag: 1 hour, unique_key: [id]}\n" + PARTITIONED
    (export,) = load(text).exports
    assert export.incremental is None
