"""Works out anew, from a manifest's own words, what its names, window and fingerprint must be.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet.errors import PlanError
from rivet.manifest.model import Manifest, PartitionFacts
from rivet.manifest.verify import Implied, Window
from rivet.plan.calendar import Granularity
from rivet.plan.names import partition_directory
from rivet.plan.schema import Kind, schema_fingerprint
from rivet.plan.windows import NULL_VALUE, Axis


def implied_by(manifest: Manifest) -> Implied:
    """Give what follows from a manifest, with a flaw where no window follows although one should."""
    fingerprint = schema_fingerprint(manifest.schema)
    facts = manifest.partition
    if facts is None:
        return Implied(fingerprint)
    directory = partition_directory(facts.key, facts.value)
    types = [c["type"] for c in manifest.schema if c["name"] == facts.column]
    try:
        axis = _axis(types, facts)
        window = _window(axis, facts)
    except (ValueError, PlanError) as flaw:
        return Implied(fingerprint, directory, flaw=str(flaw))
    return Implied(fingerprint, directory, window, axis.format, in_files=bool(types))


def _axis(types: Sequence[object], facts: PartitionFacts) -> Axis:
    # Only the days of a date are ever left out of the files, since the path tells them.
    is_dropped = not types and facts.granularity == Granularity.DAY
    kind = Kind.DATE if is_dropped else next((k for k in Kind if k.is_temporal and types == [k]), None)
    if kind is None:
        raise ValueError(f"the partition column {facts.column!r} has the types {types} in the schema")
    granularity = next((g for g in Granularity if g == facts.granularity), None)
    if granularity is None:
        raise ValueError(f"granularity is {facts.granularity!r}, expected {' or '.join(Granularity)}")
    axis = Axis(kind, granularity, facts.timezone or "UTC")
    if facts.timezone != axis.timezone:
        raise ValueError(f"timezone is {facts.timezone!r}, expected {axis.timezone!r} for {kind.value}")
    return axis


def _window(axis: Axis, facts: PartitionFacts) -> Window | None:
    if facts.is_null != (facts.value == NULL_VALUE):
        raise ValueError(f"is_null is {facts.is_null}, and the value is {facts.value!r}")
    if facts.is_null:
        return None
    window = axis.window_of_label(facts.value)
    if window is None:
        raise ValueError(f"the value is {facts.value!r}, which is no {axis.granularity.value}")
    return Window(window.start, window.end, axis.format(window.start), axis.format(window.end))
