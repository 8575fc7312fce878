"""The destination of an export: where its root lies, and what stands below it.

Pure but for following symbolic links, to see whether two roots are one.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

from rivet.config import paths
from rivet.config.model import Export
from rivet.config.place import Keys, Place
from rivet.config.settings import LocalDestinationSettings
from rivet.errors import Problem

_PATH: Keys = ("destination", "path")
_EXAMPLE = "write it like `path: './out/events/{partition}/'`"


def destination_settings(
    export: Export, place: Place, directory: Path
) -> tuple[LocalDestinationSettings | None, list[Problem]]:
    """Resolve the destination of an export; None where problems stand against it.

    Args:
        directory: The config's folder, from which relative paths are meant.
    """
    if not place.states("destination"):
        hint = "write `destination: {type: local, path: …}`"
        return None, [place.problem(("destination",), "is missing", hint)]
    destination = export.destination
    if destination is None or (place.states("destination", "type") and destination.type is None):
        return None, []
    problems = []
    if destination.type is None:
        problems.append(place.problem(("destination", "type"), "is missing", "write local"))
    if not place.states(*_PATH):
        problems.append(place.problem(_PATH, "is missing", _EXAMPLE))
    if destination.path is None:
        return None, problems
    partitioned = place.states("partition_by")
    root, template = paths.split_path(destination.path, directory)
    fault = paths.path_fault(destination.path, partitioned=partitioned)
    if fault is not None:
        problems.append(place.problem(_PATH, f"{{found}}: {fault[0]}", fault[1]))
    elif partitioned and not template:
        message = "{found} needs {partition} in the path of the destination, as a whole segment"
        problems.append(place.clash(("partition_by",), message, _EXAMPLE))
    elif os.path.realpath(root) == "/":
        problems.append(place.problem(_PATH, "{found}: the root would be /", "write a directory of its own"))
    if problems:
        return None, problems
    stated = destination.model_dump(include={"manifest_name"}, exclude_none=True)
    return LocalDestinationSettings(root, template, **stated), []


def overlap_problems(roots: Sequence[tuple[Place, Path]]) -> list[Problem]:
    """List the exports whose root is another's, or lies inside it."""
    return [
        roots[inner][0].clash(
            _PATH,
            f"the root of {{found}} is that of {roots[outer][0].path}, or lies inside it",
            "give each export a directory of its own, none inside another's",
        )
        for outer, inner in paths.overlaps([root for _, root in roots])
    ]
