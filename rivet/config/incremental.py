"""What the keys of `mode: incremental` demand of each other, and what they mean.

Pure.
"""

from __future__ import annotations

from rivet.config.model import Export
from rivet.config.place import Place
from rivet.config.read_settings import IncrementalSettings
from rivet.errors import Problem

CURSOR_KEYS = ("cursor_column", "cursor_fallback_column", "lag", "strategy", "unique_key", "verify_counts")
_CURSOR = "write `cursor_column: …`, a timestamp or number that every insert and update advances"


def incremental_settings(export: Export, place: Place) -> tuple[IncrementalSettings | None, list[Problem]]:
    """Say how changed rows are found; None in another mode."""
    problems = _window_problems(place)
    if export.mode != "incremental":
        stray = [key for key in CURSOR_KEYS if place.states(key) and (key,) not in place.inherited]
        return None, problems + [
            place.problem((key,), "stands without mode: incremental", "write mode: incremental, or remove it")
            for key in stray
        ]
    if not place.states("partition_by"):
        hint = "add partition_by, or write mode: full"
        message = "incremental stands without partition_by: what has changed is written by partition"
        problems.append(place.problem(("mode",), message, hint))
    if export.cursor_column is None:
        if not place.states("cursor_column"):
            problems.append(place.problem(("cursor_column",), "is missing in mode: incremental", _CURSOR))
        return None, problems
    fallback = export.cursor_fallback_column
    if fallback == export.cursor_column:
        hint = "name another column, or remove it"
        problems.append(place.clash(("cursor_fallback_column",), "is the cursor_column itself", hint))
    for key in CURSOR_KEYS[:2]:
        if getattr(export, key) in (export.exclude or ()):
            message = "is left out by exclude, and a cursor must be among the columns"
            problems.append(place.clash((key,), message, "take it out of exclude"))
    if export.resume == "reuse" and ("resume",) not in place.inherited:
        message = "stands beside mode: incremental, whose next run goes on from the old watermark anyway"
        problems.append(place.clash(("resume",), message, "remove it"))
    problems += _strategy_problems(export, place)
    settings = IncrementalSettings(
        export.cursor_column,
        fallback,
        export.lag,
        verify_counts=export.verify_counts is True and export.strategy != "append",
        strategy=export.strategy or "rewrite",
        unique_key=tuple(export.unique_key or ()),
    )
    return settings, problems


def _strategy_problems(export: Export, place: Place) -> list[Problem]:
    """List what stands against adding rows, or, where partitions are written anew, against a key."""
    if export.strategy != "append":
        if not place.states("unique_key") or ("unique_key",) in place.inherited:
            return []
        hint = "write strategy: append, or remove it"
        return [place.problem(("unique_key",), "stands without strategy: append", hint)]
    problems = []
    messages = {
        "verify_counts": "whose partitions may hold more rows than the source has",
        "refresh_windows": "which never writes anew what is there",
    }
    for key, why in messages.items():
        if getattr(export, key) and (key,) not in place.inherited:
            message = f"stands beside strategy: append, {why}"
            problems.append(place.clash((key,), message, "remove it, or write strategy: rewrite"))
    for name in export.unique_key or ():
        if name in (export.exclude or ()):
            message = "names a column that is left out by exclude"
            problems.append(place.clash(("unique_key",), message, "take it out of one of them"))
    told_by = (export.cursor_column, export.cursor_fallback_column, *(export.unique_key or ()))
    if export.partition_column == "drop" and export.partition_by in told_by:
        message = "leaves a column out of the files by which strategy: append knows rows again"
        problems.append(place.clash(("partition_column",), message, "write partition_column: keep"))
    return problems


def _window_problems(place: Place) -> list[Problem]:
    key = ("refresh_windows",)
    if not place.states(*key) or key in place.inherited or place.states("partition_by"):
        return []
    return [place.problem(key, "stands without partition_by", "add partition_by, or remove it")]
