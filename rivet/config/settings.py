"""What a config means once it is checked: frozen values with defaults applied and paths made absolute."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from rivet.config.read_settings import (
    EVERY_WINDOW,
    AskedWindows,
    ChunkSettings,
    ColumnSettings,
    IncrementalSettings,
)

Engine = Literal["postgres", "mysql", "sqlite"]
TlsMode = Literal["disable", "require", "verify-ca", "verify-full"]


@dataclass(frozen=True, slots=True)
class Tls:
    """How a connection is secured; `ca_file` is an absolute path, or None for the system's own store."""

    mode: TlsMode
    ca_file: Path | None = None


@dataclass(frozen=True, slots=True, repr=False)
class Secret:
    """A text that no repr, log or message shows; `reveal` gives it to a driver."""

    value: str

    def reveal(self) -> str:
        """Give the text itself."""
        return self.value

    def __repr__(self) -> str:
        return "Secret('***')"

    __str__ = __repr__


@dataclass(frozen=True, slots=True)
class SourceSettings:
    """A database and how to connect to it.

    Attributes:
        type: The engine.
        host: Host name or address; or an absolute path, for PostgreSQL the directory of a Unix socket, for
            MySQL the socket itself; None: the engine's default.
        password: Already resolved and decoded; `repr` does not show it.
        path: The file of a SQLite database, absolute.
        tls: None: not stated; the driver's own habit, which may be clear text.
        statement_timeout_seconds: 0 keeps the server's own.
        retries: How often an export is begun anew after a failure that may pass.
        consistency: What the user insists on, or None.
        parallel: Scans that are read at once, each on a connection of its own.
    """

    type: Engine
    host: str | None = None
    port: int | None = None
    user: str | None = None
    password: Secret | None = None
    database: str | None = None
    path: Path | None = None
    tls: Tls | None = None
    snapshot: Literal["export", "run"] = "export"
    consistency: Literal["snapshot", "statement"] | None = None
    connect_timeout_seconds: float = 10.0
    statement_timeout_seconds: float = 0.0
    retries: int = 3
    parallel: int = 1


@dataclass(frozen=True, slots=True)
class StateSettings:
    """Where the history of runs is kept.

    Attributes:
        kept: Whether it is kept at all.
        database: The database that keeps it; None: a file of SQLite in the user's state directory.
    """

    kept: bool = True
    database: SourceSettings | None = None


@dataclass(frozen=True, slots=True)
class LocalDestinationSettings:
    """A directory tree.

    Attributes:
        root: The directory that holds the partitions and the export file, absolute, links not followed.
        template: What follows the root, with `{partition}`, no final slash; empty without `partition_by`.
    """

    root: Path
    template: str
    manifest_name: str = "manifest.json"

    @property
    def label(self) -> str:
        """Give the root for people."""
        return str(self.root)


@dataclass(frozen=True, slots=True)
class S3DestinationSettings:
    """A prefix in a bucket of S3, or of a store that speaks its protocol.

    Attributes:
        prefix: What the keys of the root begin with: no leading `/`, one final `/`; empty is the bare bucket,
            which no config gives, but which may be validated.
        template: As for a local tree.
        region: None: the SDK's own, and us-east-1 with an endpoint.
        endpoint_url: None: AWS. Where it is given nothing goes to AWS, and checksum headers are sent only
            where they are required.
        addressing_style: Whether the bucket stands in the path or in the host name of a URL.
        profile: A section of the SDK's own files, or None.
        access_key: Already resolved, together with `secret_key`; None: the SDK's own chain.
        ca_file: Authorities to trust, an absolute path; None: the SDK's own.
        server_side_encryption: As the header has it, such as `AES256` or `aws:kms`; None: the bucket's own.
        acl: A canned one; None: none is sent.
    """

    bucket: str
    prefix: str
    template: str
    manifest_name: str = "manifest.json"
    region: str | None = None
    endpoint_url: str | None = None
    addressing_style: Literal["auto", "path", "virtual"] = "auto"
    profile: str | None = None
    access_key: Secret | None = None
    secret_key: Secret | None = None
    session_token: Secret | None = None
    ca_file: Path | None = None
    storage_class: str | None = None
    server_side_encryption: str | None = None
    kms_key_id: str | None = None
    acl: str | None = None

    @property
    def label(self) -> str:
        """Give the root for people."""
        return f"s3://{self.bucket}/{self.prefix}"


@dataclass(frozen=True, slots=True)
class GcsDestinationSettings:
    """A prefix in a bucket of Google Cloud Storage.

    Attributes:
        prefix: As for S3.
        template: As for a local tree.
        project: Who is billed where the bucket's requester pays; told to no other bucket.
        credentials_file: A service account's or other credentials in JSON, an absolute path; None: the
            application's default ones.
        endpoint_url: None: STORAGE_EMULATOR_HOST, or else Google. Where one is given nothing goes to Google.
        anonymous: Send no credentials at all.
    """

    bucket: str
    prefix: str
    template: str
    manifest_name: str = "manifest.json"
    project: str | None = None
    credentials_file: Path | None = None
    endpoint_url: str | None = None
    anonymous: bool = False

    @property
    def label(self) -> str:
        """Give the root for people."""
        return f"gs://{self.bucket}/{self.prefix}"


DestinationSettings = LocalDestinationSettings | S3DestinationSettings | GcsDestinationSettings


@dataclass(frozen=True, slots=True)
class ExportSettings:
    """One export.

    Attributes:
        where: Its place in the config, such as `$.exports[0]`, for messages.
        query: The text of `query` or of the file that `query_file` names.
        variables: What `${env:…}` has put into the query, which no message shows.
        columns: Types that the user wants, by column name.
        chunks: How partitions are cut into chunks; None unless the mode is chunked.
        incremental: How changed rows are found; None unless the mode is incremental.
        refresh_windows: How many of the last windows of the tree are read, with all that come after; None:
            that decides nothing.
        asked: What the command line selects, and alone is read then.
        partition_timezone: IANA name of the zone that windows of instants follow.
        partition_key: Name in the path; None: the column's own name.
        partition_column: Whether the partition column stands in the files too.
        max_file_size_bytes: A partition rolls over to the next part here.
        sort: Who puts the rows of the one scan in order.
        max_sort_size_bytes: The source is not asked to sort more than this, by its own estimate.
        max_scan_rows: Rows that one of several scans may read.
        max_scan_seconds: How long one of several scans had better take; None: that decides nothing.
        resume: Whether what a failed run has published is read again.
    """

    where: str
    name: str
    destination: DestinationSettings
    table: str | None = None
    query: str | None = None
    variables: tuple[Secret, ...] = ()
    exclude: tuple[str, ...] = ()
    columns: Mapping[str, ColumnSettings] = field(default_factory=dict)
    mode: Literal["full", "chunked", "incremental"] = "full"
    chunks: ChunkSettings | None = None
    incremental: IncrementalSettings | None = None
    refresh_windows: int | None = None
    asked: AskedWindows = EVERY_WINDOW
    partition_by: str | None = None
    partition_granularity: Literal["day", "month", "year"] = "day"
    partition_timezone: str = "UTC"
    partition_key: str | None = None
    partition_column: Literal["keep", "drop"] = "keep"
    compression: Literal["zstd", "snappy", "gzip", "lz4", "none"] = "zstd"
    compression_level: int | None = None
    max_file_size_bytes: int = 256 * 1024**2
    max_partitions: int = 10_000
    sort: Literal["auto", "source", "rivet"] = "auto"
    max_sort_size_bytes: int = 20 * 1000**3
    scan: Literal["auto", "single", "per_partition"] = "auto"
    max_scan_rows: int = 50_000_000
    max_scan_seconds: float | None = None
    skip_empty: bool = True
    unrepresentable: Literal["error", "null"] = "error"
    vanished: Literal["remove", "keep", "error"] | None = None
    publish: Literal["proved", "eager"] = "proved"
    resume: Literal["redo", "reuse"] = "redo"
    lock: Literal["auto", "off"] = "auto"

    @property
    def adds_rows(self) -> bool:
        """Tell whether new rows are added to partitions, and none is written anew."""
        return self.incremental is not None and self.incremental.strategy == "append"


@dataclass(frozen=True, slots=True)
class Settings:
    """A whole config."""

    source: SourceSettings
    exports: tuple[ExportSettings, ...]
    on_error: Literal["continue", "stop"] = "continue"
    state: StateSettings = field(default_factory=StateSettings)
