"""What one pass over all rows finds: how many there are, how large, and whether their values fit.

SQLite enforces no types, so the storage class of every value is checked, in SQL, before anything is planned.
What must be date or timestamp comes along as text and is read as it will be read for the files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import pyarrow.compute as pc

from rivet import wording
from rivet.errors import ColumnError
from rivet.plan.schema import Kind
from rivet.source.sqlite import iso
from rivet.source.sqlite.connecting import SqliteConnection
from rivet.source.sqlite.identifiers import quoted, value
from rivet.source.sqlite.readings import Reading
from rivet.source.sqlite.spans import Span
from rivet.source.sqlite.types import (
    HINTED_COLUMNS,
    INEXACT,
    STORAGE_CLASSES,
    cast_hint,
    counted_classes,
    misfit_hint,
    misfits_hint,
    override_hint,
)

_BATCH_BYTES = 8 * 1024**2
# What an integer or a real takes, and what a row takes besides its values.
_NUMBER_BYTES = 9
# SQLite allows an expression a depth of 1,000.
_MAX_TERMS = 200
_CLASS_CODES = (*STORAGE_CLASSES, INEXACT)
_SHOWN_COLUMNS = 3
_OR_INSTANTS = "(or timestamptz, for days in a zone)"
_MENDS = {iso.WITH_OFFSET: "timestamptz", iso.WITHOUT_OFFSET: "timestamp", iso.WITH_TIME: "timestamp"}


@dataclass(frozen=True, slots=True)
class Misfit:
    """What does not fit a column, for people.

    Attributes:
        problem: What it is, with counts.
        hint: The mend, if it is the only such column.
        mend: The type that can hold all its values.
        is_numbers: It holds no moment but as a number.
    """

    problem: str
    hint: str
    mend: str = "string"
    is_numbers: bool = False


@dataclass(slots=True)
class Examination:
    """What one pass over all rows found.

    Attributes:
        rows: How many.
        total_bytes: Their size, about.
        max_row_bytes: The size of the largest, about.
        spans: By column, for dates and timestamps.
        classes: By column without a declared type: see `type_of_values`.
        infinite: By column, for decimals that hold any: the values that are an infinity.
        misfits: By column that holds any.
    """

    rows: int
    total_bytes: int
    max_row_bytes: int
    spans: dict[str, Span]
    classes: dict[str, Counter[str]]
    infinite: dict[str, int] = field(default_factory=dict)
    misfits: dict[str, Misfit] = field(default_factory=dict)

    @property
    def unrepresentable(self) -> dict[str, int]:
        """Count the values that are unrepresentable, by the columns that hold any."""
        return {n: s.unrepresentable for n, s in self.spans.items() if s.unrepresentable} | self.infinite

    def require_fit(self) -> None:
        """Refuse values that do not fit their columns.

        Raises:
            ColumnError: With counts by column.
        """
        if self.misfits:
            problems = [misfit.problem for misfit in self.misfits.values()]
            told, more = problems[:_SHOWN_COLUMNS], len(problems) - _SHOWN_COLUMNS
            if more > 0:
                told.append(f"and values of {wording.counted(more, 'more column')} do not fit")
            raise ColumnError("; ".join(told), hint=_hint(self.misfits))


class Examiner:
    """Examines the rows of one table or query.

    Args:
        readings: Of its columns that have a type.
        untyped: Names of those whose values decide.
        edges: Seconds of a day between which rows are counted.
    """

    def __init__(
        self,
        connection: SqliteConnection,
        from_item: str,
        readings: Sequence[Reading],
        untyped: Sequence[str] = (),
        edges: Sequence[int] = (0,),
    ) -> None:
        self._connection = connection
        self._from_item = from_item
        self._readings = readings
        self._temporal = [r for r in readings if r.kind.is_temporal]
        self._untyped = untyped
        self._edges = edges
        self._wide = [r.name for r in readings if r.is_wide] + [value(name) for name in untyped]
        self._number_bytes = (len(readings) + len(untyped) - len(self._wide) + 1) * _NUMBER_BYTES

    def examine(self) -> Examination:
        """Pass over all rows once, and once more where values do not fit."""
        number_bytes = self._number_bytes
        spans = {r.column.name: Span(r.kind, self._edges) for r in self._temporal}
        found = Examination(0, 0, number_bytes, spans, {n: Counter() for n in self._untyped})
        rows_with_misfits = 0
        batch_rows = _BATCH_BYTES // (iso.MAX_BYTES * (2 + len(self._temporal) + len(self._untyped)))
        with self._connection.stream(self._statement(), batch_rows) as steps:
            for step in steps:
                misfits, widths, *columns = (c.chunk(0) for c in step.columns)
                found.rows += step.num_rows
                rows_with_misfits += pc.sum(misfits).as_py()
                found.total_bytes += pc.sum(widths).as_py() + step.num_rows * number_bytes
                found.max_row_bytes = max(found.max_row_bytes, pc.max(widths).as_py() + number_bytes)
                for span, values in zip(spans.values(), columns, strict=False):
                    span.add(values)
                for name, codes in zip(self._untyped, columns[len(spans) :], strict=True):
                    for counted in pc.value_counts(codes.drop_null()).to_pylist():
                        found.classes[name][_CLASS_CODES[counted["values"]]] += counted["counts"]
        for counts in found.classes.values():
            counts["integer"] += counts[INEXACT]
        if rows_with_misfits or any(span.misfits for span in spans.values()):
            self._tell_misfits(found)
        return found

    def _statement(self) -> str:
        """Ask for each row whether it misfits, how wide it is, its dates as text and its values' classes."""
        misfits = _joined(" OR ", [r.misfit for r in self._readings if not r.is_text_of_moments])
        widths = _joined(" + ", [f"ifnull(octet_length({name}), 0)" for name in self._wide])
        asked = [
            # Only after WHEN does SQLite leave off where a condition is decided.
            f"CASE WHEN {misfits} THEN 1 ELSE 0 END",
            widths,
            *(r.examined for r in self._temporal),
            *(_class(value(name)) for name in self._untyped),
        ]
        dates = ("''" if r.unit is None else "0" for r in self._temporal)
        first = ["0", "0", *dates, *("0" for _ in self._untyped)]
        return f"SELECT {', '.join(first)} UNION ALL SELECT {', '.join(asked)} FROM {self._from_item}"

    def _tell_misfits(self, found: Examination) -> None:
        all_misfits = self._counts([r.misfit for r in self._readings])
        all_infinite = self._counts([r.unrepresentable or "0" for r in self._readings])
        for reading, misfits, infinite in zip(self._readings, all_misfits, all_infinite, strict=True):
            name = reading.column.name
            span = found.spans.get(name)
            if infinite:
                found.infinite[name] = infinite
            if misfits > infinite:
                found.misfits[name] = self._misfit_of_class(reading, span)
            elif span is not None and span.misfits:
                found.misfits[name] = _misfit_of_moments(reading, span.misfits)

    def _counts(self, conditions: Sequence[str]) -> list[int]:
        asked = ", ".join(f"count(*) FILTER (WHERE {condition})" for condition in conditions)
        return list(self._connection.rows(f"SELECT {asked} FROM {self._from_item}")[0])

    def _misfit_of_class(self, reading: Reading, span: Span | None) -> Misfit:
        found = self._connection.rows(
            f"SELECT typeof({reading.name}), count(*) FROM {self._from_item} "
            f"WHERE {reading.misfit} GROUP BY 1"
        )
        counts = Counter(dict(map(tuple, found)))
        problem = f"{_holds(reading)}: {counted_classes(counts)}"
        if reading.is_text_of_moments and span is not None and _is_of_numbers(span):
            return Misfit(problem, _numbers_hint(reading), is_numbers=True)
        return Misfit(problem, _override_mend(reading) + misfit_hint(reading.column.name))


def _misfit_of_moments(reading: Reading, misfits: Counter[str]) -> Misfit:
    asked = {_MENDS.get(why, "string") for why in misfits}
    mend = asked.pop() if len(asked) == 1 else "string"
    counts = ", ".join(f"{count} {why}" for why, count in misfits.items())
    return Misfit(f"{_holds(reading)}: {counts}", misfit_hint(reading.column.name, mend), mend)


def _is_of_numbers(span: Span) -> bool:
    """Tell whether no moment is a text: a unit takes none of those."""
    return not span.by_piece and set(span.misfits) <= {iso.OF_NUMBERS}


def _hint(misfits: Mapping[str, Misfit]) -> str:
    if len(misfits) == 1:
        return next(iter(misfits.values())).hint
    hint = misfits_hint({name: m.mend for name, m in misfits.items()})
    counting = [repr(name) for name, m in misfits.items() if m.is_numbers]
    if not counting:
        return hint
    numbers, more = ", ".join(counting[:HINTED_COLUMNS]), len(counting) - HINTED_COLUMNS
    if more > 0:
        numbers += f" and {wording.counted(more, 'more column')}"
    asked = f"{{type: timestamp, unit: s}} {_OR_INSTANTS}"
    return f"{hint}; where numbers count seconds since 1970 (or ms, us, ns), {asked} fits {numbers}"


def _override_mend(reading: Reading) -> str:
    """Begin the hint where it is the config that asks for the type."""
    if reading.override is None:
        return ""
    if reading.kind is Kind.DECIMAL:
        return "write another precision and scale, take the type out of `columns`, "
    return "take the type out of `columns`, "


def _holds(reading: Reading) -> str:
    column = reading.column
    return f"column {column.name!r} is {column.source_type} and holds what does not fit {column.type}"


def _numbers_hint(reading: Reading) -> str:
    """Say how numbers become dates: only their owner knows what they count."""
    name, is_instant = reading.column.name, reading.kind is Kind.INSTANT
    seconds = override_hint(name, "timestamptz" if is_instant else "timestamp", "s")
    seconds += "" if is_instant else f" {_OR_INSTANTS}"
    julian = f"strftime('%Y-%m-%d %H:%M:%f', {quoted(name)}) AS {quoted(name)}"
    return (
        f"for numbers of seconds since 1970 (or ms, us, ns) write {seconds}; "
        f"for Julian days {override_hint(name, 'timestamp')} and a query with {julian}; or {cast_hint(name)}"
    )


def _class(name: str) -> str:
    inexact = f"typeof({name}) = 'integer' AND CAST({name} AS REAL) <> {name}"
    cases = " ".join(f"WHEN typeof({name}) = '{c}' THEN {code}" for code, c in enumerate(STORAGE_CLASSES))
    return f"CASE WHEN {inexact} THEN {_CLASS_CODES.index(INEXACT)} {cases} END"


def _joined(operator: str, terms: Sequence[str]) -> str:
    parts: Iterator[Sequence[str]] = (terms[i : i + _MAX_TERMS] for i in range(0, len(terms), _MAX_TERMS))
    return operator.join(f"({operator.join(part)})" for part in parts) or "0"
