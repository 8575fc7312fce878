"""Finds what stands in the way of a partition and is not of its export."""

from __future__ import annotations

from collections.abc import Collection

from rivet.destination.protocol import Destination
from rivet.errors import PlanError
from rivet.plan.layout import Layout, Partition
from rivet.plan.names import SUCCESS_FILE


def refuse_foreign(
    destination: Destination,
    layout: Layout,
    names: Collection[str],
    paths: Collection[str],
    partition: Partition,
) -> None:
    """Raise `PlanError` where something foreign stands where a partition goes.

    Args:
        names: Of all objects in the tree.
        paths: Of the partitions that are the export's own.
    """
    files = [partition.child(name) for name in (layout.manifest_name, SUCCESS_FILE)]
    in_the_way = [] if partition.path in paths else [name for name in files if name in names]
    # In a file system a file keeps a directory from being made.
    in_the_way += [name for name in _with_parents(partition.path) if name in names]
    if in_the_way:
        raise PlanError(
            f"{destination.uri}{in_the_way[0]} is not of this export and stands in its way",
            hint="move it away, or give the export a root of its own",
        )


def _with_parents(path: str) -> list[str]:
    """List a directory and those above it, below the root.

    >>> _with_parents("a/b"), _with_parents("")
    (['a/b', 'a'], [])
    """
    ends = [i for i, character in enumerate(path) if character == "/"]
    return [path, *(path[:end] for end in reversed(ends))] if path else []
