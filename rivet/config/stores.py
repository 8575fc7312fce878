"""Destinations in buckets of S3 and GCS: which bucket, by whose rights, and what is sent with each object.

Pure but for looking whether files that a destination names are there.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

from rivet.config import paths
from rivet.config.edges import Destination
from rivet.config.environment import variable
from rivet.config.files import lack_of_file
from rivet.config.place import Keys, Place
from rivet.config.settings import GcsDestinationSettings, S3DestinationSettings, Secret
from rivet.errors import Problem

# Wider than what AWS and Google allow today: old buckets and stores of one's own have other names.
_BUCKET = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,254}")
_REGION = re.compile(r"[A-Za-z0-9-]{1,63}")
_NO_URL = re.compile(r"[\x00-\x20\x7f]")
# What stands in a header of each request; the secret key does not, and some stores take any text for one.
_SENT = re.compile(r"[\x21-\x7e]+")
_SECRET = re.compile(r"(?!\s)[^\x00-\x1f\x7f]+(?<!\s)")
_KEYS = ("access_key_env", "secret_key_env")
_TOKEN = "session_token_env"  # noqa: S105 - the name of a key
_S3_SAME_NAMES = {
    "manifest_name",
    "region",
    "endpoint_url",
    "addressing_style",
    "profile",
    "storage_class",
    "server_side_encryption",
    "kms_key_id",
    "acl",
}
_GCS_SAME_NAMES = {"manifest_name", "project", "endpoint_url", "anonymous"}


def s3_settings(
    destination: Destination, place: Place, directory: Path, environ: Mapping[str, str]
) -> tuple[S3DestinationSettings | None, list[Problem]]:
    """Resolve a prefix in a bucket of S3, with the secrets that its variables hold.

    Args:
        directory: The config's folder, from which relative paths are meant.
    """
    root, template, problems = _root(destination, place)
    secrets, more = _secrets(destination, place, environ)
    problems += more
    ca_file, more = _file(destination.ca_file, "ca_file", place, directory)
    problems += more
    if destination.region is not None and not _REGION.fullmatch(destination.region):
        problems.append(place.problem(_at("region"), "{found} is no region", "write it like eu-west-1"))
    if ca_file is not None and (destination.endpoint_url or "").lower().startswith("http:"):
        message = "is not used by an endpoint without TLS"
        problems.append(place.problem(_at("ca_file"), message, "write https:// in endpoint_url"))
    encryption = destination.server_side_encryption or ""
    if destination.kms_key_id is not None and not encryption.startswith("aws:kms"):
        hint = "write `server_side_encryption: aws:kms` beside it"
        problems.append(place.problem(_at("kms_key_id"), "is used by aws:kms only", hint))
    if problems or destination.bucket is None:
        return None, problems
    stated = destination.model_dump(include=_S3_SAME_NAMES, exclude_none=True)
    return S3DestinationSettings(
        destination.bucket,
        root,
        template,
        access_key=secrets.get("access_key_env"),
        secret_key=secrets.get("secret_key_env"),
        session_token=secrets.get(_TOKEN),
        ca_file=ca_file,
        **stated,
    ), []


def gcs_settings(
    destination: Destination, place: Place, directory: Path
) -> tuple[GcsDestinationSettings | None, list[Problem]]:
    """Resolve a prefix in a bucket of GCS.

    Args:
        directory: The config's folder, from which relative paths are meant.
    """
    root, template, problems = _root(destination, place)
    credentials_file, more = _file(destination.credentials_file, "credentials_file", place, directory)
    problems += more
    if destination.anonymous and place.states(*_at("credentials_file")):
        message = "stands beside credentials_file, and one is enough"
        problems.append(place.problem(_at("anonymous"), message, "remove one of them"))
    if problems or destination.bucket is None:
        return None, problems
    stated = destination.model_dump(include=_GCS_SAME_NAMES, exclude_none=True)
    return GcsDestinationSettings(
        destination.bucket, root, template, credentials_file=credentials_file, **stated
    ), []


def bucket_fault(bucket: str) -> tuple[str, str] | None:
    """Say why a text cannot be the name of a bucket, with the mend, or give None.

    >>> bucket_fault("s3://lake/events")
    ('it is no name of a bucket', 'write its bare name, and what follows it as `prefix`')
    """
    if _BUCKET.fullmatch(bucket):
        return None
    return "it is no name of a bucket", "write its bare name, and what follows it as `prefix`"


def _at(key: str) -> Keys:
    return ("destination", key)


def _root(destination: Destination, place: Place) -> tuple[str, str, list[Problem]]:
    """Give the prefix of the root and the template below it, and all that stands against where they lie."""
    problems = []
    if not place.states(*_at("bucket")):
        problems.append(place.problem(_at("bucket"), "is missing", "write the bucket's bare name"))
    fault = None if destination.bucket is None else bucket_fault(destination.bucket)
    if fault is not None:
        problems.append(place.problem(_at("bucket"), f"{{found}}: {fault[0]}", fault[1]))
    fault = None if destination.endpoint_url is None else _endpoint_fault(destination.endpoint_url)
    if fault is not None:
        problems.append(place.problem(_at("endpoint_url"), *fault))
    if not place.states(*_at("prefix")):
        problems.append(place.problem(_at("prefix"), "is missing", paths.PREFIX_EXAMPLE))
    if destination.prefix is None:
        return "", "", problems
    partitioned = place.states("partition_by")
    root, template = paths.split_prefix(destination.prefix)
    fault = paths.prefix_fault(destination.prefix, partitioned=partitioned)
    if fault is not None:
        problems.append(place.problem(_at("prefix"), f"{{found}}: {fault[0]}", fault[1]))
    elif partitioned and not template:
        message = "{found} needs {partition} in the prefix of the destination, as a whole segment"
        problems.append(place.clash(("partition_by",), message, paths.PREFIX_EXAMPLE))
    return root, template, problems


def _endpoint_fault(url: str) -> tuple[str, str] | None:
    hint = "write it like http://127.0.0.1:9000 or https://s3.example"
    try:
        parts = urlsplit(url)
        is_whole = parts.scheme.lower() in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return "is no URL of a store", hint
    if not is_whole or _NO_URL.search(url):
        return "is no URL of a store", hint
    if "@" in parts.netloc:
        return "holds a user or a password", "write the store alone, and name its keys under `destination`"
    if parts.query or parts.fragment:
        return "holds parameters, which no endpoint has", hint
    return None


def _secrets(
    destination: Destination, place: Place, environ: Mapping[str, str]
) -> tuple[dict[str, Secret], list[Problem]]:
    """Look up the keys of an identity, by the names of the variables that hold them."""
    problems = []
    stated = [key for key in (*_KEYS, _TOKEN) if place.states(*_at(key))]
    if stated:
        problems += [
            place.problem(_at(key), f"is missing beside {stated[0]}", "name the variable that holds it")
            for key in _KEYS
            if key not in stated
        ]
        if place.states(*_at("profile")):
            message = f"stands beside {stated[0]}, and one is enough"
            problems.append(place.problem(_at("profile"), message, "remove one of them"))
    secrets = {}
    for key in stated:
        name = getattr(destination, key)
        if name is None:
            continue
        value, problem = variable(name, place.at(*_at(key)), environ)
        if problem is None and not (_SECRET if key == "secret_key_env" else _SENT).fullmatch(value):
            message = "the environment variable that it names holds no key: it is empty, or holds a blank"
            problem = place.problem(_at(key), message, "set it to the key and nothing else")
        if problem is not None:
            problems.append(problem)
        secrets[key] = Secret(value)
    return secrets, problems


def _file(name: str | None, key: str, place: Place, directory: Path) -> tuple[Path | None, list[Problem]]:
    file = None if name is None else paths.tidied(directory / name)
    lack = None if file is None else lack_of_file(file)
    if lack is not None:
        return None, [place.problem(_at(key), f"{{found}} {lack}")]
    return file, []
