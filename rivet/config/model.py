"""The keys of a config, their types and their descriptions: what is checked, and what `rivet schema` prints.

Pure. Each key may be null, which means that it is not stated, but for `unrepresentable`, of which it is a
value. Defaults stand in `rivet.config.settings`, and what one key demands of another in `rivet.config.source`
and `rivet.config.exports`. A validator's ValueError holds a message, in which `{found}` is filled in, and a
mend.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    WithJsonSchema,
)

from rivet.config.columns import TYPE_PATTERN, WITH_UNIT, parse_type, type_hint
from rivet.config.units import parse_size

VARIABLE_PATTERN = r"\$\{env:[A-Za-z_][A-Za-z0-9_]*\}"


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("{found} is empty, expected text")
    if "\0" in value:
        raise ValueError("the text holds a zero character")
    return value


def _number(value: object) -> object:
    # Pydantic would take true for 1; what a variable gave is text.
    if isinstance(value, bool):
        raise ValueError("found {found}, expected a number")  # noqa: TRY004 - pydantic reports only ValueError
    return value


def _size(value: object) -> object:
    if not isinstance(value, str):
        return _number(value)
    size = parse_size(value)
    if size is None:
        raise ValueError("found {found}, expected bytes, or a size in KB, MB, GB, TB or KiB, MiB, GiB, TiB")
    return size


def _type(value: str) -> str:
    if parse_type(value) is None:
        raise ValueError("{found} is no type", type_hint(value))
    return value


def _by_column(value: object) -> object:
    if not isinstance(value, dict):
        message = "found {found}, expected types by column"  # pydantic reports only ValueError
        raise ValueError(message, "write {name: type}; columns are left out by exclude")  # noqa: TRY004
    return value


def _form(value: object) -> str | None:
    if isinstance(value, str):
        return "word"
    return "mapping" if isinstance(value, dict | Column) else None


Text = Annotated[str, AfterValidator(_text)]
TypeWord = Annotated[
    str,
    AfterValidator(_type),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": TYPE_PATTERN},
                {"type": "string", "pattern": VARIABLE_PATTERN},
            ]
        }
    ),
]
Count = Annotated[int, Field(ge=1, lt=2**63), BeforeValidator(_number)]
Size = Annotated[
    int,
    Field(ge=1, lt=2**63),
    BeforeValidator(_size),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 1},
                {"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)? ?([KMGTkmgt][Ii]?)?[Bb]?$"},
            ]
        }
    ),
]
_MAX_SECONDS = 2**31 // 1000 - 1  # PostgreSQL counts milliseconds in 31 bits


class _Keys(BaseModel):
    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


class Tls(_Keys):
    """How the connection is secured; TLS parameters in the URL are refused."""

    mode: Literal["disable", "require", "verify-ca", "verify-full"] | None = Field(
        None,
        description="require encrypts, verify-ca also checks who signed, verify-full also the host's name",
    )
    ca_file: Text | None = Field(
        None, description="file of the certificates to trust; without it the system's own"
    )


class Source(_Keys):
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
    port: Annotated[int, Field(ge=1, le=65535), BeforeValidator(_number)] | None = Field(
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
        Annotated[float, Field(gt=0, le=_MAX_SECONDS), BeforeValidator(_number)] | None
    ) = Field(None, description="how long to wait for a connection")
    statement_timeout_seconds: (
        Annotated[float, Field(ge=0, le=_MAX_SECONDS), BeforeValidator(_number)] | None
    ) = Field(None, description="how long one statement may take; 0 is the server's own limit")
    parallel: Annotated[int, Field(ge=1, le=1), BeforeValidator(_number)] | None = Field(
        None, description="scans at once"
    )


class Destination(_Keys):
    """Where the files go."""

    type: Literal["local"] | None = Field(None, description="a directory of this machine")
    path: Text | None = Field(
        None, description="directory, from the config's folder; {partition} becomes key=value"
    )
    manifest_name: Literal["manifest.json", "_manifest.json"] | None = Field(
        None, description="_manifest.json suits readers that open whole folders"
    )


class Column(_Keys):
    """The type that a column shall have; a text alone is the type."""

    type: TypeWord | None = Field(None, description="such as json, string or decimal(20,6)")
    unit: Literal["s", "ms", "us", "ns"] | None = Field(
        None, description=f"what numbers count since 1970-01-01 UTC, with {', '.join(WITH_UNIT)}"
    )


_Column = Annotated[
    Annotated[TypeWord, Tag("word")] | Annotated[Column, Tag("mapping")],
    Discriminator(_form, custom_error_type="column_type", custom_error_message="expected a type"),
]


class Export(_Keys):
    """One table or query, and where its partitions go."""

    name: Text | None = Field(None, description="unique; part of every file's name")
    table: Text | None = Field(None, description="table or view; exactly one of table, query, query_file")
    query: Text | None = Field(None, description="one SELECT, sent as it is")
    query_file: Text | None = Field(None, description="file that holds the query")
    exclude: list[Text] | None = Field(None, description="columns left out, with table")
    columns: Annotated[dict[str, _Column], BeforeValidator(_by_column)] | None = Field(
        None, description="types by column, in place of those that check shows; merged column by column"
    )
    mode: Literal["full"] | None = Field(None, description="read everything")
    partition_by: Text | None = Field(
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
    compression_level: Annotated[int, BeforeValidator(_number)] | None = Field(
        None, description="zstd 1 to 22, gzip 1 to 9, lz4 1 to 12; without it the codec's own"
    )
    max_file_size: Size | None = Field(
        None, description="a partition goes on in another file here; MB is decimal, MiB binary"
    )
    max_partitions: Count | None = Field(
        None, description="partitions that hold rows; planning stops above it"
    )
    max_sort_size: Size | None = Field(
        None, description="a sort that the server estimates above it is refused"
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
    destination: Destination | None = Field(None, description="where the files go")


class Config(_Keys):
    """A Rivet config. Top-level keys that begin with x- are ignored."""

    source: Source | None = Field(None, description="the database")
    defaults: Export | None = Field(
        None,
        description="any key of an export, for those that do not state it; destination and columns are merged"
        " key by key",
    )
    on_error: Literal["continue", "stop"] | None = Field(
        None, description="whether the other exports run after one has failed"
    )
    exports: list[Export] | None = Field(None, description="what to export")
