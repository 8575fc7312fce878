"""The keys of a config, their types and their descriptions: what is checked, and what `rivet schema` prints.

Pure. Each key may be null, which means that it is not stated, but for `unrepresentable`, of which it is a
value. Defaults stand in `rivet.config.settings`; what one key demands of another is checked where a section
is resolved, as in `rivet.config.source`.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from rivet.config.columns import WITH_UNIT
from rivet.config.values import Count, Name, Section, Size, Text, TypeWord, Width, number

# Objects that must be restored first: neither readers nor the next run could read them.
_ARCHIVES = ("GLACIER", "DEEP_ARCHIVE")
MAX_CHUNKS = 10_000  # as `rivet.plan.cutting` has it, which configs do not know
_WORD = re.compile(r"[A-Za-z0-9_-]+")
_MAX_SECONDS = 2**31 // 1000 - 1  # PostgreSQL counts milliseconds in 31 bits


def _by_column(value: object) -> object:
    if not isinstance(value, dict):
        message = "found {found}, expected types by column"  # pydantic reports only ValueError
        raise ValueError(message, "write {name: type}; columns are left out by exclude")  # noqa: TRY004
    return value


def _storage_class(value: str) -> str:
    if value.upper() in _ARCHIVES:
        raise ValueError(
            "{found} is an archive, whose objects cannot be read", "write GLACIER_IR, or remove it"
        )
    if not _WORD.fullmatch(value):
        raise ValueError("{found} is no storage class", "write a word such as STANDARD_IA")
    return value


def _chunk_count(value: int) -> int:
    if value > MAX_CHUNKS:
        raise ValueError(
            f"found {{found}}, expected at most {MAX_CHUNKS} chunks of a partition",
            "write chunk_by_key: [columns of an index], whose pages cost no plan, or partition more finely",
        )
    return value


def _form(value: object) -> str | None:
    if isinstance(value, str):
        return "word"
    return "mapping" if isinstance(value, dict | Column) else None


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
    parallel: Annotated[int, Field(ge=1, le=1), BeforeValidator(number)] | None = Field(
        None, description="scans at once"
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


class Column(Section):
    """The type that a column shall have; a text alone is the type."""

    type: TypeWord | None = Field(None, description="such as json, string or decimal(20,6)")
    unit: Literal["s", "ms", "us", "ns"] | None = Field(
        None, description=f"what numbers count since 1970-01-01 UTC, with {', '.join(WITH_UNIT)}"
    )


_Column = Annotated[
    Annotated[TypeWord, Tag("word")] | Annotated[Column, Tag("mapping")],
    Discriminator(_form, custom_error_type="column_type", custom_error_message="expected a type"),
]


class Export(Section):
    """One table or query, and where its partitions go."""

    name: Text | None = Field(None, description="unique; part of every file's name")
    table: Text | None = Field(None, description="table or view; exactly one of table, query, query_file")
    query: Text | None = Field(None, description="one SELECT, sent as it is")
    query_file: Text | None = Field(None, description="file that holds the query")
    exclude: list[Name] | None = Field(None, description="columns left out, with table")
    columns: Annotated[dict[str, _Column], BeforeValidator(_by_column)] | None = Field(
        None, description="types by column, in place of those that check shows; merged column by column"
    )
    mode: Literal["full", "chunked", "incremental"] | None = Field(
        None,
        description="chunked reads each partition in many short queries; incremental reads the partitions in"
        " which rows have changed",
    )
    chunk_column: Name | None = Field(
        None, description="chunked: column whose ranges are read, an integer, decimal, date or timestamp"
    )
    chunk_size: Width | None = Field(
        None,
        description="chunked: width of a range of chunk_column, such as 50000 or 6 hours; rows of a page of"
        " chunk_by_key",
    )
    chunk_count: Annotated[Count, AfterValidator(_chunk_count)] | None = Field(
        None, description="chunked: ranges of chunk_column in a partition, of about equal rows"
    )
    chunk_by_key: Annotated[list[Name], Field(min_length=1)] | None = Field(
        None, description="chunked: columns of a unique index, in whose order pages are read; with table"
    )
    cursor_column: Name | None = Field(
        None, description="incremental: timestamp or number that every insert and update advances"
    )
    cursor_fallback_column: Name | None = Field(
        None, description="incremental: column of the same type that counts where cursor_column is NULL"
    )
    lag: Width | None = Field(
        None,
        description="incremental: how far below the watermark rows are looked for, such as 15 minutes or"
        " 1000, for transactions that are committed late",
    )
    strategy: Literal["rewrite", "append"] | None = Field(
        None, description="incremental: rewrite writes partitions anew in which rows have changed"
    )
    verify_counts: bool | None = Field(
        None,
        description="incremental: count the rows of every window at the source, in one query, and read those"
        " whose count is not the partition's",
    )
    refresh_windows: Count | None = Field(
        None, description="read the last windows of the tree, so many, and all that come after; no others"
    )
    partition_by: Name | None = Field(
        None, description="date or timestamp column; without it the export is one partition"
    )
    partition_granularity: Literal["day", "month", "year"] | None = Field(
        None, description="width of a partition"
    )
    partition_timezone: Text | None = Field(
        None, description="IANA name of the zone whose days are partitions, for a column that holds instants"
    )
    partition_key: Text | None = Field(None, description="name in the path; without it the column's own")
    partition_column: Literal["keep", "drop"] | None = Field(
        None, description="drop leaves the column out of the files: only a date by day, which the path tells"
    )
    format: Literal["parquet"] | None = Field(None, description="format of the files")
    compression: Literal["zstd", "snappy", "gzip", "lz4", "none"] | None = Field(
        None, description="codec of the files"
    )
    compression_level: Annotated[int, BeforeValidator(number)] | None = Field(
        None, description="zstd 1 to 22, gzip 1 to 9, lz4 1 to 12; without it the codec's own"
    )
    max_file_size: Size | None = Field(
        None, description="a partition goes on in another file here; MB is decimal, MiB binary"
    )
    max_partitions: Count | None = Field(
        None, description="partitions that hold rows; planning stops above it"
    )
    sort: Literal["auto", "source", "rivet"] | None = Field(
        None, description="who sorts the rows of the one scan: the source, or Rivet, in temporary files"
    )
    max_sort_size: Size | None = Field(
        None, description="a sort that the server estimates above it is refused, whoever would do it"
    )
    max_scan_rows: Count | None = Field(None, description="rows of one of several scans")
    scan: Literal["auto", "single", "per_partition"] | None = Field(
        None, description="how many queries read the source"
    )
    skip_empty: bool | None = Field(
        None, description="false: an empty partition gets a manifest and _SUCCESS"
    )
    unrepresentable: Literal["error", "null"] | None = Field(
        None,
        description="infinity, zero dates, BC, years above 9999, NaN in a decimal: stop, or write NULL and"
        " count it in the manifest",
    )
    vanished: Literal["remove", "keep", "error"] | None = Field(
        None,
        description="what to do with a partition that has no rows any more; without it, it is removed inside"
        " the span that the source still has, and an error outside",
    )
    publish: Literal["proved", "eager"] | None = Field(
        None, description="eager publishes before all rows are counted, for trees too large to stage"
    )
    resume: Literal["redo", "reuse"] | None = Field(
        None,
        description="after a run that failed: redo reads everything again in one new snapshot, reuse keeps"
        " what it has published",
    )
    lock: Literal["auto", "off"] | None = Field(
        None, description="whether a lock at the destination keeps other runs of the export out"
    )
    destination: Destination | None = Field(None, description="where the files go")


class Config(Section):
    """A Rivet config. Top-level keys that begin with x- are ignored."""

    source: Source | None = Field(None, description="the database")
    defaults: Export | None = Field(
        None,
        description="any key of an export, for those that do not state it; destination and columns are merged"
        " key by key",
    )
    on_error: Literal["continue", "stop"] | None = Field(
        None,
        description="whether the other exports run, and the other partitions are published, after one has"
        " failed",
    )
    state: Literal["off"] | State | None = Field(
        None,
        description="where the history of runs is kept: without it in a file of the user's, with off nowhere",
    )
    exports: list[Export] | None = Field(None, description="what to export")
