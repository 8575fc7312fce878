"""Says what each reader makes of a tree by its own defaults, and which option mends that.

Pure. `docs/readers.md` has the rule behind each line, and says which were tried and which only read up.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence

from rivet.plan.calendar import MICROSECONDS_PER_DAY, Granularity, days_from_civil
from rivet.plan.layout import Layout, Partitioning
from rivet.plan.names import escape
from rivet.plan.schema import Column, ColumnType, Kind
from rivet.plan.windows import Axis

READERS = ("DuckDB", "pyarrow", "Polars", "Spark", "Athena", "BigQuery", "Snowflake")

_Told = Iterator[tuple[str, str]]

_RENAME = "set partition_key to another name"
# Where Spark 3 cannot know by which calendar a value was written (its migration guide, 2.4 to 3.0).
_FIRST_CERTAIN = {
    Kind.DATE: days_from_civil(1582, 10, 15),
    Kind.INSTANT: days_from_civil(1900, 1) * MICROSECONDS_PER_DAY,
}
_ASK_TEXT = "{names}: ask for string in columns"
# Who, at which kinds of columns, does what.
_BY_KIND = (
    (("Spark",), {Kind.UUID, Kind.TIME}, f"refuses {_ASK_TEXT}"),
    (("Athena",), {Kind.UUID, Kind.TIME}, f"has no type for {_ASK_TEXT}"),
    (("Polars",), {Kind.UUID}, "shows {names} as 16 bytes"),
    (
        ("DuckDB", "Spark", "Athena", "BigQuery", "Snowflake"),
        {Kind.DURATION},
        "shows {names} as a number of microseconds",
    ),
    (("Athena", "BigQuery"), {Kind.UINT64}, "has no type for {names}: ask for decimal(20,0) in columns"),
    (("Athena",), {Kind.TIMESTAMP, Kind.INSTANT}, "cuts {names} to milliseconds"),
    (
        ("Spark",),
        set(_FIRST_CERTAIN),
        "before 4.0 wants datetimeRebaseMode = CORRECTED for dates before 1582-10-15, instants before 1900",
    ),
    (("BigQuery",), {Kind.LIST}, "wants enable_list_inference = true for {names}"),
)


def readers(columns: Sequence[Column], layout: Layout) -> dict[str, list[str]]:
    """List for each reader what would mislead it or needs an option; none: it reads the tree as it is.

    Args:
        columns: Those of the files.
    """
    told: dict[str, list[str]] = {reader: [] for reader in READERS}
    lines = [*_of_folder(layout), *_of_columns(columns)]
    if layout.partitioning is not None:
        lines = [*_of_doubled(layout.partitioning), *_of_key(layout.partitioning), *lines]
    for reader, line in lines:
        told[reader].append(line)
    return told


def hides_values(partitioning: Partitioning) -> bool:
    """Tell whether the key has the column's name and says less than the column does.

    Readers that let the path win then show the label where the value should be. They do not mind case.
    """
    p = partitioning
    says_all = p.axis.kind is Kind.DATE and p.axis.granularity is Granularity.DAY
    return _is_doubled(p) and not says_all


def old_values(axis: Axis, minimum: int | None) -> list[str]:
    """Warn of a column whose values begin before those that every Spark reads without being asked."""
    first = _FIRST_CERTAIN.get(axis.kind)
    if first is None or minimum is None or minimum >= first:
        return []
    return [
        f"values begin at {axis.format(minimum)}: Spark 3 refuses them unless datetimeRebaseMode is CORRECTED"
    ]


def _is_doubled(p: Partitioning) -> bool:
    return p.in_files and p.key.casefold() == p.column.casefold()


def _of_doubled(p: Partitioning) -> _Told:
    """Tell who minds a column that is in the path and in the files."""
    if not _is_doubled(p):
        return
    name, is_same, is_plain = repr(p.column), p.key == p.column, escape(p.key) == p.key
    if hides_values(p) and is_plain:
        yield (
            "DuckDB",
            f"shows the label instead of {name}: {_RENAME}, or read with hive_partitioning = false",
        )
    if hides_values(p) and is_plain and is_same:
        fault = "loses the time of" if p.axis.granularity is Granularity.DAY else "fails at"
        yield "Polars", f"with hive_partitioning=True {fault} {name}: {_RENAME}"
    if hides_values(p):
        yield "Spark", f"shows the label instead of {name}: {_RENAME}, or read with recursiveFileLookup"
    if is_same:
        yield "pyarrow", f'with partitioning="hive" refuses two types of {name}: {_RENAME}'
    yield "Athena", f"takes no partition with the name of a column: {_RENAME}"
    yield "BigQuery", f"takes no key with the name of a column: {_RENAME}"


def _of_key(p: Partitioning) -> _Told:
    """Tell who takes the key or its values for something else."""
    name = repr(p.key)
    yield from _of_signs(p)
    if p.key != p.key.lower():
        yield "Athena", f"finds no key that is not in lower case: {_RENAME}"
    if not p.in_files:
        yield "pyarrow", f"gives {name} as text: declare it with partitioning(pa.schema(…), flavor='hive')"
        yield "Polars", f"leaves {name} out unless it reads with hive_partitioning=True"
    if p.axis.granularity is Granularity.YEAR:
        for reader, option in (
            ("DuckDB", "hive_types_autocast = false"),
            ("pyarrow", "partitioning(pa.schema(…), flavor='hive')"),
            ("Polars", "hive_schema"),
            ("Spark", "spark.sql.sources.partitionColumnTypeInference.enabled = false"),
            ("BigQuery", "hive partitioning mode STRINGS"),
        ):
            yield reader, f"takes the label of a year for a number: declare text with {option}"


def _of_signs(p: Partitioning) -> _Told:
    """Tell who shows the name of the directory, and how the key gets its own back."""
    shown = escape(p.key)
    if shown == p.key:
        return
    calls = f"calls the key {shown!r}, as the directory is: {_RENAME}, or"
    if _is_doubled(p):
        yield "DuckDB", f"{calls} read with hive_partitioning = false"
        yield "Polars", f"{calls} read without hive_partitioning"
    else:
        yield "DuckDB", f"{calls} select * RENAME ({_quoted_sql(shown)} AS {_quoted_sql(p.key)})"
        yield "Polars", f"{calls} .rename({json.dumps({shown: p.key}, ensure_ascii=False)})"


def _quoted_sql(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _of_folder(layout: Layout) -> _Told:
    manifest = layout.manifest_name
    if not manifest.startswith("_"):
        mend = "set manifest_name: _manifest.json"
        yield "pyarrow", f"opening the folder fails at {manifest}: {mend}, or exclude_invalid_files=True"
        yield "Spark", f"fails at {manifest}: {mend}, or read with pathGlobFilter = *.parquet"
        yield "Athena", f"takes {manifest} for data: {mend}"
    yield "Polars", "reads **/*.parquet, and no folder that holds anything else"
    yield "BigQuery", "wants uris that end in *.parquet"
    yield "Snowflake", "wants PATTERN = '.*[.]parquet' and USE_LOGICAL_TYPE = TRUE"
    if layout.partitioning is not None:
        yield "Snowflake", "takes the key from METADATA$FILENAME by an expression"


def _of_columns(columns: Sequence[Column]) -> _Told:
    for told, kinds, line in _BY_KIND:
        if names := _names(c.name for c in columns if kinds & _kinds(c.type)):
            yield from ((reader, line.format(names=names)) for reader in told)
    if names := _names(c.name for c in columns if not _is_numeric(c.type)):
        yield "BigQuery", f"wants decimal_target_types = ['NUMERIC', 'BIGNUMERIC'] for {names}"
    if len({c.name.casefold() for c in columns}) < len(columns):
        yield "DuckDB", "gives names that differ only in case a number"
        yield "Spark", "refuses names that differ only in case, unless spark.sql.caseSensitive = true"


def _kinds(of: ColumnType) -> set[Kind]:
    """Give the kind of a type and those of its elements."""
    return {of.kind} if of.element is None else {of.kind, *_kinds(of.element)}


def _is_numeric(of: ColumnType) -> bool:
    """Tell whether BigQuery's NUMERIC holds a decimal: 29 digits before the point and 9 behind it."""
    return of.precision - of.scale <= 29 and of.scale <= 9


def _names(names: Iterable[str]) -> str:
    """List the first of some columns."""
    all_of_them = [repr(name) for name in names]
    more = f" and {len(all_of_them) - 3} more" if len(all_of_them) > 3 else ""
    return ", ".join(all_of_them[:3]) + more
