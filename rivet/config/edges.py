"""The keys of the sections that say where rows come from and go to: a source, the state, a destination.

Pure; see `rivet.config.model`.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Field

from rivet.config.values import Section, Text, number

# Objects that must be restored first: neither readers nor the next run could read them.
_ARCHIVES = ("GLACIER", "DEEP_ARCHIVE")
_WORD = re.compile(r"[A-Za-z0-9_-]+")
_MAX_SECONDS = 2**31 // 1000 - 1  # PostgreSQL counts milliseconds in 31 bits


def _storage_class(value: str) -> str:
    if value.upper() in _ARCHIVES:
        raise ValueError(
            "{found} is an archive, whose objects cannot be read", "write GLACIER_IR, or remove it"
        )
    if not _WORD.fullmatch(value):
        raise ValueError("{found} is no storage class", "write a word such as STANDARD_IA")
    return value


class Tls(Section):
    """How the connection is secured; TLS parameters in the URL are refused."""

    mode: Literal["disable", "require", "verify-ca", "verify-full"] | None = Field(
        None,
        description="require encrypts, verify-ca also checks who signed, verify-full also the host's name",
    )
    ca_file: Text | None = Field(
        None, description="file of the certificates to trust; without it the system's own"
    )


class Source(Section):
    """The database: exactly one of url, url_env, url_file, or host and so on; for SQLite path or a url."""

    type: Literal["postgres", "mysql", "sqlite"] | None = Field(
        None, description="the engine; mysql is MySQL and MariaDB"
    )
    url: Text | None = Field(
        None, repr=False, description="postgresql://user:password@host:port/database, percent-encoded"
    )
    url_env: Text | None = Field(None, description="environment variable that holds the url")
    url_file: Text | None = Field(None, description="file that holds the url and nothing else")
    host: Text | None = Field(
        None,
        description="host or address; or the directory (PostgreSQL) or file (MySQL) of a Unix socket",
    )
    port: Annotated[int, Field(ge=1, le=65535), BeforeValidator(number)] | None = Field(
        None, description="port; without it the engine's own"
    )
    user: Text | None = Field(None, description="user; without it that of the operating system")
    password: str | None = Field(None, repr=False, description="password as it is; better is password_env")
    password_env: Text | None = Field(
        None, description="environment variable that holds the password as it is, not encoded"
    )
    database: Text | None = Field(None, description="database; required unless a url names it")
    path: Text | None = Field(None, description="file of a SQLite database")
    tls: Tls | None = Field(None, description="how the connection is secured")
    snapshot: Literal["export"] | None = Field(None, description="each export sees one moment of its own")
    consistency: Literal["snapshot", "statement"] | None = Field(
        None, description="what must be had; the run is refused where it cannot be"
    )
    connect_timeout_seconds: (
        Annotated[float, Field(gt=0, le=_MAX_SECONDS), BeforeValidator(number)] | None
    ) = Field(None, description="how long to wait for a connection")
    statement_timeout_seconds: (
        Annotated[float, Field(ge=0, le=_MAX_SECONDS), BeforeValidator(number)] | None
    ) = Field(None, description="how long one statement may take; 0 is the server's own limit")
    retries: Annotated[int, Field(ge=0, le=10), BeforeValidator(number)] | None = Field(
        None, description="how often an export is begun anew after the source failed in a way that may pass"
    )
    parallel: Annotated[int, Field(ge=1, le=64), BeforeValidator(number)] | None = Field(
        None, description="scans at once, each on a connection of its own; mysql: with consistency: statement"
    )


class State(Section):
    """The database that keeps the history of runs."""

    url_env: Text | None = Field(
        None, description="environment variable that holds the url of a PostgreSQL, MySQL or SQLite database"
    )
    tls: Tls | None = Field(None, description="how the connection is secured")


class Destination(Section):
    """Where the files go: a directory, or a prefix in a bucket."""

    type: Literal["local", "s3", "gcs"] | None = Field(
        None, description="a directory of this machine, or a bucket of S3 (or a store like it) or of GCS"
    )
    path: Text | None = Field(
        None, description="local: directory, from the config's folder; {partition} becomes key=value"
    )
    bucket: Text | None = Field(None, description="s3, gcs: its bare name")
    prefix: Text | None = Field(
        None, description="s3, gcs: where the tree lies in the bucket; {partition} becomes key=value"
    )
    endpoint_url: Text | None = Field(
        None, description="s3, gcs: the store, if it is not AWS or Google; then nothing goes to these"
    )
    region: Text | None = Field(None, description="s3: without it the SDK's own; with an endpoint us-east-1")
    addressing_style: Literal["auto", "path", "virtual"] | None = Field(
        None, description="s3: whether a URL has the bucket in its path or in its host"
    )
    profile: Text | None = Field(None, description="s3: section of the SDK's own files")
    access_key_env: Text | None = Field(
        None, description="s3: environment variable that holds the access key; without it the SDK's own chain"
    )
    secret_key_env: Text | None = Field(
        None, description="s3: environment variable that holds the secret key"
    )
    session_token_env: Text | None = Field(
        None, description="s3: environment variable that holds the token of temporary keys"
    )
    ca_file: Text | None = Field(
        None, description="s3: file of the certificates to trust; without it the SDK's own"
    )
    storage_class: Annotated[Text, AfterValidator(_storage_class)] | None = Field(
        None, description="s3: one whose objects can be read at once, such as STANDARD_IA"
    )
    server_side_encryption: Literal["AES256", "aws:kms", "aws:kms:dsse"] | None = Field(
        None, description="s3: without it as the bucket has it"
    )
    kms_key_id: Text | None = Field(None, description="s3: key of aws:kms; without it the account's own")
    acl: (
        Literal[
            "private",
            "public-read",
            "public-read-write",
            "authenticated-read",
            "aws-exec-read",
            "bucket-owner-read",
            "bucket-owner-full-control",
        ]
        | None
    ) = Field(None, description="s3: sent with each object; without it none")
    project: Text | None = Field(None, description="gcs: who is billed where the requester pays")
    credentials_file: Text | None = Field(
        None, description="gcs: credentials in JSON; without it the application's default ones"
    )
    anonymous: bool | None = Field(None, description="gcs: send no credentials")
    manifest_name: Literal["manifest.json", "_manifest.json"] | None = Field(
        None, description="_manifest.json suits readers that open whole folders"
    )
