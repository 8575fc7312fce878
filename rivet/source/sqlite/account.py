"""What one pass over all rows finds: how many there are, how large, and whether their values fit.

SQLite enforces no types, so the storage class of every value is checked, in SQL, before anything is planned.
What must be date or timestamp comes along as text and is read as it will be read for the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pyarrow as pa
import pyarrow.compute as pc

from rivet.errors import ColumnError
from rivet.plan.schema import Column, Kind
from rivet.source.sqlite import iso
from rivet.source.sqlite.connecting import SqliteConnection
from rivet.source.sqlite.statements import misfit, value
from rivet.source.sqlite.types import INEXACT, STORAGE_CLASSES, cast_hint, counted_classes

_BATCH_BYTES = 8 * 1024**2
_WIDE = (Kind.STRING, Kind.BINARY)
# What an integer or a real takes, and what a row takes besides its values.
_NUMBER_BYTES = 9
# SQLite allows an expression a depth of 1,000.
_MAX_TERMS = 200
# Of a text in a column of dates; in UTF-16 its characters take two.
_MAX_DATE_BYTES = 2 * iso.MAX_CHARACTERS
_CLASS_CODES = (*STORAGE_CLASSES, INEXACT)
_SHOWN_COLUMNS = 3


@dataclass(slots=True)
class Span:
    """What a column of dates or timestamps holds.

    Attributes:
        values: Rows that are not NULL.
        minimum: The smallest that is a date or timestamp, on the axis.
        maximum: The largest, closed.
        by_day: Rows of each day since 1970 that has any.
        with_t: A `T` stands between date and time somewhere.
        with_space: A space does.
    """

    values: int = 0
    minimum: int | None = None
    maximum: int | None = None
    by_day: Counter[int] = field(default_factory=Counter)
    with_t: bool = False
    with_space: bool = False

    @property
    def misfits(self) -> int:
        """Count the values that are no date or timestamp."""
        return self.values - self.by_day.total()

    @property
    def separator(self) -> str | None:
        """Give what stands between date and time, or None where both do, and so text is not in order."""
        if self.with_t and self.with_space:
            return None
        return "T" if self.with_t else " "

    def add(self, texts: pa.Array, kind: Kind) -> None:
        """Take account of further rows."""
        self.values += len(texts) - texts.null_count
        values = iso.on_axis(texts, kind)
        ends = pc.min_max(values).as_py()
        if ends["min"] is not None:
            self.minimum = min(ends["min"], ends["min"] if self.minimum is None else self.minimum)
            self.maximum = max(ends["max"], ends["max"] if self.maximum is None else self.maximum)
        days = (
            values
            if kind is Kind.DATE
            else values.cast(pa.timestamp("us")).cast(pa.date32()).cast(pa.int32())
        )
        for counted in pc.value_counts(days.drop_null()).to_pylist():
            self.by_day[counted["values"]] += counted["counts"]
        if kind is Kind.TIMESTAMP:
            self.with_t = self.with_t or pc.any(pc.match_substring(texts, "T")).as_py() is True
            self.with_space = self.with_space or pc.any(pc.match_substring(texts, " ")).as_py() is True


@dataclass(slots=True)
class Examination:
    """What one pass over all rows found.

    Attributes:
        rows: How many.
        total_bytes: Their size, about.
        max_row_bytes: The size of the largest, about.
        misfits: Rows in which a value does not fit its column, dates aside.
        spans: By column, for dates and timestamps.
        classes: By column without a declared type: see `type_of_values`.
    """

    rows: int
    total_bytes: int
    max_row_bytes: int
    misfits: int
    spans: dict[str, Span]
    classes: dict[str, Counter[str]]


class Examiner:
    """Examines the rows of one table or query.

    Args:
        typed: Its columns that have a type.
        untyped: Names of those whose values decide.
    """

    def __init__(
        self,
        connection: SqliteConnection,
        from_item: str,
        typed: Sequence[Column],
        untyped: Sequence[str] = (),
    ) -> None:
        self._connection = connection
        self._from_item = from_item
        self._plain = [c for c in typed if not c.type.kind.is_temporal]
        self._temporal = [c for c in typed if c.type.kind.is_temporal]
        self._untyped = untyped
        self._wide = [c.name for c in typed if c.type.kind in _WIDE] + list(untyped)
        self._number_bytes = (len(typed) + len(untyped) - len(self._wide) + 1) * _NUMBER_BYTES

    def examine(self) -> Examination:
        """Pass over all rows once."""
        number_bytes = self._number_bytes
        spans = {c.name: Span() for c in self._temporal}
        found = Examination(0, 0, number_bytes, 0, spans, {n: Counter() for n in self._untyped})
        batch_rows = _BATCH_BYTES // (_MAX_DATE_BYTES * (2 + len(self._temporal) + len(self._untyped)))
        with self._connection.stream(self._statement(), batch_rows) as steps:
            for step in steps:
                misfits, widths, *columns = (c.chunk(0) for c in step.columns)
                found.rows += step.num_rows
                found.misfits += pc.sum(misfits).as_py()
                found.total_bytes += pc.sum(widths).as_py() + step.num_rows * number_bytes
                found.max_row_bytes = max(found.max_row_bytes, pc.max(widths).as_py() + number_bytes)
                for column, values in zip(self._temporal, columns, strict=False):
                    found.spans[column.name].add(values, column.type.kind)
                for name, codes in zip(self._untyped, columns[len(self._temporal) :], strict=True):
                    for counted in pc.value_counts(codes.drop_null()).to_pylist():
                        found.classes[name][_CLASS_CODES[counted["values"]]] += counted["counts"]
        for counts in found.classes.values():
            counts["integer"] += counts[INEXACT]
        return found

    def refusal(self, examination: Examination, beside: Column | None) -> ColumnError | None:
        """Make the error of the columns that hold values that do not fit, or give None where all fit.

        Args:
            beside: A column of dates that is not looked at.
        """
        problems = {
            c.name: _date_problem(c, examination.spans[c.name].misfits)
            for c in self._temporal
            if c != beside and examination.spans[c.name].misfits
        }
        if examination.misfits:
            asked = ", ".join(f"count(*) FILTER (WHERE {misfit(c)})" for c in self._plain)
            counts = self._connection.rows(f"SELECT {asked} FROM {self._from_item}")[0]
            for column, count in zip(self._plain, counts, strict=True):
                if count and len(problems) < _SHOWN_COLUMNS:
                    problems[column.name] = self._class_problem(column)
        if not problems:
            return None
        shown = list(problems)[:_SHOWN_COLUMNS]
        return ColumnError(
            "; ".join(problems[name] for name in shown),
            hint=f"{cast_hint(shown[0])}, or leave it out with `exclude`",
        )

    def _statement(self) -> str:
        """Ask for each row whether it misfits, how wide it is, its dates as text and its values' classes."""
        misfits = _joined(" OR ", [misfit(c) for c in self._plain])
        widths = _joined(" + ", [f"ifnull(octet_length({value(n)}), 0)" for n in self._wide])
        asked = [
            # Only after WHEN does SQLite leave off where a condition is decided.
            f"CASE WHEN {misfits} THEN 1 ELSE 0 END",
            widths,
            *(_date(value(c.name)) for c in self._temporal),
            *(_class(value(name)) for name in self._untyped),
        ]
        first = ["0", "0", *("''" for _ in self._temporal), *("0" for _ in self._untyped)]
        return f"SELECT {', '.join(first)} UNION ALL SELECT {', '.join(asked)} FROM {self._from_item}"

    def _class_problem(self, column: Column) -> str:
        name = value(column.name)
        found = self._connection.rows(
            f"SELECT typeof({name}), count(*) FROM {self._from_item} WHERE {misfit(column)} GROUP BY 1"
        )
        return (
            f"column {column.name!r} is {column.source_type} and holds what does not fit {column.type}: "
            f"{counted_classes(Counter(dict(map(tuple, found))))}"
        )


def _date(name: str) -> str:
    return (
        f"CASE WHEN typeof({name}) = 'text' AND octet_length({name}) <= {_MAX_DATE_BYTES} THEN {name} "
        f"WHEN {name} IS NOT NULL THEN '' END"
    )


def _class(name: str) -> str:
    inexact = f"typeof({name}) = 'integer' AND CAST({name} AS REAL) <> {name}"
    cases = " ".join(f"WHEN typeof({name}) = '{c}' THEN {code}" for code, c in enumerate(STORAGE_CLASSES))
    return f"CASE WHEN {inexact} THEN {_CLASS_CODES.index(INEXACT)} {cases} END"


def _date_problem(column: Column, count: int) -> str:
    form = "date (YYYY-MM-DD)" if column.type.kind is Kind.DATE else "timestamp (YYYY-MM-DD HH:MM:SS.ffffff)"
    return (
        f"column {column.name!r} is {column.source_type} and holds what is no ISO {form} without a zone: "
        f"{count} value{'s' if count > 1 else ''}"
    )


def _joined(operator: str, terms: Sequence[str]) -> str:
    parts: Iterator[Sequence[str]] = (terms[i : i + _MAX_TERMS] for i in range(0, len(terms), _MAX_TERMS))
    return operator.join(f"({operator.join(part)})" for part in parts) or "0"
