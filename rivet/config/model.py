"""The keys of a config, their types and their descriptions: what is checked, and what `rivet schema` prints.

Pure. Each key may be null, which means that it is not stated, but for `unrepresentable`, of which it is a
value. Defaults stand in `rivet.config.settings`; what one key demands of another is checked where a section
is resolved, as in `rivet.config.source`.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag

from rivet.config.columns import WITH_UNIT
from rivet.config.edges import Destination, Source, State
from rivet.config.values import Count, Name, Section, Size, Text, TypeWord, Width, number

MAX_CHUNKS = 10_000  # as `rivet.plan.cutting` has it, which configs do not know


def _by_column(value: object) -> object:
    if not isinstance(value, dict):
        message = "found {found}, expected types by column"  # pydantic reports only ValueError
        raise ValueError(message, "write {name: type}; columns are left out by exclude")  # noqa: TRY004
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
        None,
        description="incremental: rewrite writes partitions anew in which rows have changed; append adds new"
        " rows to them, and changed ones as further versions",
    )
    unique_key: Annotated[list[Name], Field(min_length=1)] | None = Field(
        None,
        description="append: columns that no two rows share, by which with the cursor a row is known again;"
        " without it whole rows are compared",
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
        None,
        description="the source is not asked to sort more, by its own estimate: Rivet does, or the run stops",
    )
    max_scan_rows: Count | None = Field(None, description="rows of one of several scans")
    max_scan_seconds: Annotated[float, Field(gt=0, le=1_000_000), BeforeValidator(number)] | None = Field(
        None,
        description="advice: scans of so many rows as are read in this time, at the pace of the last run",
    )
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
