"""The destination of an export: where its root lies, and what stands below it.

Pure but for following symbolic links, to see whether two roots are one, and for looking whether files that
a destination names are there.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from rivet.config import paths
from rivet.config.edges import Destination
from rivet.config.model import Export
from rivet.config.place import Keys, Place
from rivet.config.settings import DestinationSettings, LocalDestinationSettings
from rivet.config.stores import gcs_settings, s3_settings
from rivet.errors import Problem

_PATH: Keys = ("destination", "path")
_PREFIX: Keys = ("destination", "prefix")
_BUCKET = ("bucket", "prefix", "endpoint_url")
_KEYS = {
    "local": ("path",),
    "s3": (
        *_BUCKET,
        "region",
        "addressing_style",
        "profile",
        "access_key_env",
        "secret_key_env",
        "session_token_env",
        "ca_file",
        "storage_class",
        "server_side_encryption",
        "kms_key_id",
        "acl",
    ),
    "gcs": (*_BUCKET, "project", "credentials_file", "anonymous"),
}


def destination_settings(
    export: Export, place: Place, directory: Path, environ: Mapping[str, str]
) -> tuple[DestinationSettings | None, list[Problem]]:
    """Resolve the destination of an export; None where problems stand against it.

    Args:
        directory: The config's folder, from which relative paths are meant.
    """
    if not place.states("destination"):
        hint = "write `destination: {type: local, path: …}`, or {type: s3, bucket: …, prefix: …}"
        return None, [place.problem(("destination",), "is missing", hint)]
    destination = export.destination
    if destination is None or (place.states("destination", "type") and destination.type is None):
        return None, []
    if destination.type is None:
        return None, [place.problem(("destination", "type"), "is missing", "write local, s3 or gcs")]
    problems = _strangers(destination, place)
    settings: DestinationSettings | None = None
    if destination.type == "local":
        settings, more = _local_settings(destination, place, directory)
    elif destination.type == "s3":
        settings, more = s3_settings(destination, place, directory, environ)
    else:
        settings, more = gcs_settings(destination, place, directory)
    problems += more
    return (None, problems) if problems else (settings, [])


def overlap_problems(roots: Sequence[tuple[Place, DestinationSettings]]) -> list[Problem]:
    """List the exports whose root is another's, or lies inside it."""
    return [
        roots[inner][0].clash(
            _PATH if isinstance(roots[inner][1], LocalDestinationSettings) else _PREFIX,
            f"the root of {{found}} is that of {roots[outer][0].path}, or lies inside it",
            "give each export a root of its own, none inside another's",
        )
        for outer, inner in paths.overlaps([_segments(settings) for _, settings in roots])
    ]


def _strangers(destination: Destination, place: Place) -> list[Problem]:
    """Refuse the keys of other types than the one that is stated."""
    problems = []
    own = _KEYS[destination.type or ""]
    for key in dict.fromkeys(key for keys in _KEYS.values() for key in keys if key not in own):
        if place.states("destination", key):
            homes = " or ".join(f"`type: {kind}`" for kind, keys in _KEYS.items() if key in keys)
            hint = "write `bucket` and `prefix`" if key == "path" else f"remove it, or write {homes}"
            message = f"has no meaning for type {destination.type}"
            problems.append(place.problem(("destination", key), message, hint))
    return problems


def _local_settings(
    destination: Destination, place: Place, directory: Path
) -> tuple[LocalDestinationSettings | None, list[Problem]]:
    if not place.states(*_PATH):
        return None, [place.problem(_PATH, "is missing", paths.PATH_EXAMPLE)]
    if destination.path is None:
        return None, []
    partitioned = place.states("partition_by")
    root, template = paths.split_path(destination.path, directory)
    fault = paths.path_fault(destination.path, partitioned=partitioned)
    if fault is not None:
        return None, [place.problem(_PATH, f"{{found}}: {fault[0]}", fault[1])]
    if partitioned and not template:
        message = "{found} needs {partition} in the path of the destination, as a whole segment"
        return None, [place.clash(("partition_by",), message, paths.PATH_EXAMPLE)]
    if os.path.realpath(root) == "/":
        message = "{found}: the root would be /"
        return None, [place.problem(_PATH, message, "write a directory of its own")]
    stated = destination.model_dump(include={"manifest_name"}, exclude_none=True)
    return LocalDestinationSettings(root, template, **stated), []


def _segments(settings: DestinationSettings) -> tuple[str, ...]:
    """Give a root as its segments, its store's first: it lies in another if it begins with the other's."""
    if isinstance(settings, LocalDestinationSettings):
        return Path(os.path.realpath(settings.root)).parts
    store = (settings.endpoint_url or settings.label.partition("://")[0]).rstrip("/").lower()
    return (store, settings.bucket, *settings.prefix.split("/")[:-1])
