"""Works out anew, from a manifest's own words, what its names, window and fingerprint must be.

Pure. When a zone's days begin is law, which changes, and the zone database with it: so of a window in a zone
the manifest's own bounds count, if any zone could have them, and that this machine has others is a doubt.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet.errors import PlanError
from rivet.manifest.model import Manifest, PartitionFacts
from rivet.manifest.verify import Implied, Window
from rivet.plan.calendar import MICROSECONDS_PER_DAY, Granularity, parse_timestamp
from rivet.plan.names import partition_directory
from rivet.plan.schema import Kind, schema_fingerprint
from rivet.plan.windows import NULL_VALUE, Axis

# By their names in a manifest.
_KINDS: dict[object, Kind] = {kind.value: kind for kind in Kind if kind.is_temporal}
_GRANULARITIES = {granularity.value: granularity for granularity in Granularity}


def implied_by(manifest: Manifest) -> Implied:
    """Give what follows from a manifest, with a flaw where no window follows although one should."""
    fingerprint = schema_fingerprint(manifest.schema)
    facts = manifest.partition
    if facts is None:
        return Implied(fingerprint)
    directory = partition_directory(facts.key, facts.value)
    types = [c["type"] for c in manifest.schema if c["name"] == facts.column]
    try:
        in_utc = _axis_in_utc(types, facts)
        window, doubt = _window(in_utc, facts)
    except ValueError as flaw:
        return Implied(fingerprint, directory, flaw=str(flaw))
    return Implied(fingerprint, directory, window, in_utc.format, in_files=bool(types), doubt=doubt)


def _axis_in_utc(types: Sequence[object], facts: PartitionFacts) -> Axis:
    # Only the days of a date are ever left out of the files, since the path tells them.
    is_dropped = not types and facts.granularity == Granularity.DAY
    kind = Kind.DATE if is_dropped else _KINDS.get(types[0]) if len(types) == 1 else None
    if kind is None:
        raise ValueError(f"the partition column {facts.column!r} has the types {types} in the schema")
    granularity = _GRANULARITIES.get(facts.granularity)
    if granularity is None:
        raise ValueError(f"granularity is {facts.granularity!r}, expected {' or '.join(Granularity)}")
    axis = Axis(kind, granularity)
    if (facts.timezone is None) != (axis.timezone is None):
        raise ValueError(f"timezone is {facts.timezone!r}, expected {axis.timezone!r} for {kind.value}")
    return axis


def _window(in_utc: Axis, facts: PartitionFacts) -> tuple[Window | None, str | None]:
    """Give the window of a partition, and why it is no more than the manifest's claim, or None."""
    if facts.is_null != (facts.value == NULL_VALUE):
        raise ValueError(f"is_null is {facts.is_null}, and the value is {facts.value!r}")
    if facts.is_null:
        return None, None
    expected = in_utc.window_of_label(facts.value)
    if expected is None:
        raise ValueError(f"the value is {facts.value!r}, which is no {in_utc.granularity.value}")
    try:
        own = _own_window(Axis(in_utc.kind, in_utc.granularity, facts.timezone or "UTC"), facts)
        doubt = f"this machine's time zone database has another window for it in {facts.timezone!r}"
    except PlanError as unknown:
        own, doubt = None, str(unknown)
    if own is not None and (own.start_text, own.end_text) == (facts.start, facts.end):
        return own, None
    claimed = _claimed_window(expected.start, expected.end, facts)
    if claimed is not None and facts.timezone not in (None, in_utc.timezone):
        return claimed, doubt
    if own is None:
        raise ValueError(f"in no zone is [{facts.start}, {facts.end}) the window of {facts.value!r}")
    return own, None


def _own_window(axis: Axis, facts: PartitionFacts) -> Window | None:
    window = axis.window_of_label(facts.value)
    if window is None:
        return None
    return Window(window.start, window.end, axis.format(window.start), axis.format(window.end))


def _claimed_window(start_in_utc: int, end_in_utc: int, facts: PartitionFacts) -> Window | None:
    """Read the window that a manifest claims, if some zone could have it: none is a day away from UTC."""
    texts = facts.start or "", facts.end or ""
    start, end = (parse_timestamp(text, utc=True) for text in texts)
    if start is None or end is None or start >= end:
        return None
    if max(abs(start - start_in_utc), abs(end - end_in_utc)) >= MICROSECONDS_PER_DAY:
        return None
    return Window(start, end, *texts)
