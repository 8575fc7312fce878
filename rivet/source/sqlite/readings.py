"""How the values of one column are read: what fits it, and the SQL that gives a value of one class. Pure.

Any column of SQLite may hold values of any storage class. By its declared type it takes that type's own class
alone; the type that a config asks for takes all values that it can hold exactly, of whatever class.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from rivet.plan.schema import Column, ColumnType, EpochUnit, Kind, Override
from rivet.source.sqlite import iso, moments, numeric
from rivet.source.sqlite.identifiers import value

_FIRST_VALUES = {
    **dict.fromkeys((Kind.BOOL, Kind.TIME, *numeric.RANGES), "0"),
    **dict.fromkeys((Kind.FLOAT32, Kind.FLOAT64), "0.0"),
    **dict.fromkeys((Kind.BINARY, Kind.UUID), "x''"),
}
_UUID = "-".join("?" * n for n in (8, 4, 4, 4, 12))
# Stands in the examination for a number that is no moment; no moment is so early.
NO_MOMENT = -(2**63)


@dataclass(frozen=True, slots=True)
class Reading:
    """A column, and the type that the config asks for it, if any.

    Attributes:
        nulled: What is unrepresentable is read as NULL.
    """

    column: Column
    override: Override | None = None
    nulled: bool = False

    @property
    def name(self) -> str:
        """Write the column's value as it is."""
        return value(self.column.name)

    @property
    def kind(self) -> Kind:
        """Give the kind that the column becomes."""
        return self.column.type.kind

    @property
    def unit(self) -> EpochUnit | None:
        """Give what numbers of a date or timestamp count, or None where it is text."""
        return None if self.override is None else self.override.unit

    @property
    def is_text_of_moments(self) -> bool:
        """Tell whether the column holds dates or timestamps as text."""
        return self.kind.is_temporal and self.unit is None

    @property
    def is_wide(self) -> bool:
        """Tell whether a value may be of any size."""
        return self.kind in (Kind.STRING, Kind.BINARY, Kind.JSON)

    @property
    def key(self) -> str:
        """Write what a date or timestamp is on the axis, NULL where it is unrepresentable."""
        if self.unit is None:
            return moments.iso_key(self.name, self.kind)
        return moments.epoch_key(self.name, self.kind, self.unit)

    @property
    def misfit(self) -> str:
        """Write the condition that a value does not fit, and is not just unrepresentable; else false or NULL.

        Of dates in text, it leaves out the texts, which are read as such.
        """
        if self.is_text_of_moments:
            return f"typeof({self.name}) IN ('integer', 'real')"
        if self.unit is not None:
            in_calendar = moments.epoch_in_calendar(self.name, self.unit)
            # A text that begins with a digit may be a moment, too.
            is_number = f"typeof({self.name}) = 'text' AND {self.name} GLOB '[-+0-9]*'"
            return f"(({in_calendar}) AND {self.key} IS NULL OR {is_number})"
        if self.override is None:
            return self._misfit_of_declared
        if self.kind is Kind.STRING:  # in UTF-16, an odd byte would be cut off
            return (
                f"(typeof({self.name}) = 'blob' AND CAST(CAST({self.name} AS TEXT) AS BLOB) <> {self.name})"
            )
        return f"({self.name} IS NOT NULL AND {self._converted} IS NULL)"

    @property
    def unrepresentable(self) -> str | None:
        """Write the condition that a misfit is unrepresentable, or None where none is; dates aside."""
        return numeric.is_infinite(self.name) if self.kind is Kind.DECIMAL else None

    @property
    def examined(self) -> str:
        """Write what the examination reads of a date or timestamp: its text, or what its number is."""
        if self.unit is not None:
            return f"ifnull({self.key}, CASE WHEN {self.name} IS NOT NULL THEN {NO_MOMENT} END)"
        is_short = f"typeof({self.name}) = 'text' AND octet_length({self.name}) <= {iso.MAX_BYTES}"
        others = f"WHEN {self.misfit} THEN '{iso.NUMBER}' WHEN {self.name} IS NOT NULL THEN ''"
        return f"CASE WHEN {is_short} THEN {self.name} {others} END"

    @property
    def is_by_key(self) -> bool:
        """Tell whether dates or timestamps are read as they are on the axis, not as text."""
        return self.kind.is_temporal and (self.unit is not None or self.nulled)

    @property
    def first(self) -> str:
        """Write a value of the class that all values are read in."""
        return "0" if self.is_by_key else _FIRST_VALUES.get(self.kind, "''")

    @property
    def projection(self) -> str:
        """Write what is read; a value that does not fit is one that no type can be made of."""
        if self.nulled:
            unrepresentable = self.unrepresentable
            if unrepresentable is None:
                return self.key
            return f"CASE WHEN NOT ({unrepresentable}) THEN {self._strict} END"
        return self._strict

    @property
    def marker(self) -> str:
        """Write whether a value that is read as NULL is none: 1 or 0."""
        return f"{self.name} IS NOT NULL AND {self.projection} IS NULL"

    @property
    def _strict(self) -> str:
        """Write what is read, a value that cannot be read where one does not fit."""
        if self.is_by_key:
            return f"ifnull({self.key}, {self.name} || '?')"
        if self.is_text_of_moments:
            return self.name
        if self.override is not None:
            return f"ifnull({self._converted}, {self.name} || '?')"
        if self.kind is Kind.DECIMAL:
            return numeric.decimal_text(self.name)
        return f"CAST({self.name} AS INTEGER)" if self.kind is Kind.BOOL else self.name

    @property
    def _converted(self) -> str:
        """Write a value, of any class, as the type that is asked for; NULL where that cannot hold it."""
        return _CONVERSIONS[self.kind](self.name, self.column.type)

    @property
    def _misfit_of_declared(self) -> str:
        name, kind = self.name, self.kind
        if kind is Kind.INT64:
            return f"typeof({name}) <> 'integer' AND {name} IS NOT NULL"
        if kind is Kind.FLOAT64:  # numbers sort below any text; an integer beyond 2^53 may be no double
            return f"typeof({name}) <> 'real' AND NOT ({name} < '' AND CAST({name} AS REAL) = {name})"
        if kind is Kind.BOOL:
            return f"{name} NOT IN (0, 1)"
        if kind is Kind.DECIMAL:
            return numeric.no_decimal(name, self.column.type)
        if kind is Kind.BINARY:
            return f"typeof({name}) <> 'blob' AND {name} IS NOT NULL"
        return f"typeof({name}) <> 'text' AND typeof({name}) IN ('blob', 'real')"


def _as_binary(name: str) -> str:
    return f"CASE WHEN typeof({name}) IN ('text', 'blob') THEN CAST({name} AS BLOB) END"


def _as_json(name: str) -> str:
    text = numeric.text_of(name)
    is_json = f"typeof({name}) <> 'blob' AND NOT instr({name}, char(0)) AND json_valid({text})"
    return f"CASE WHEN {is_json} THEN {text} END"


def _as_uuid(name: str) -> str:
    digits = f"unhex(replace({name}, '-', ''))"
    is_written = (
        f"NOT instr({name}, char(0)) AND (length({name}) = 32 OR {name} GLOB '{_UUID}') "
        f"AND length({digits}) = 16"
    )
    return (
        f"CASE typeof({name}) WHEN 'blob' THEN CASE WHEN length({name}) = 16 THEN {name} END "
        f"WHEN 'text' THEN CASE WHEN {is_written} THEN {digits} END END"
    )


_CONVERSIONS: dict[Kind, Callable[[str, ColumnType], str]] = {
    **dict.fromkeys(numeric.RANGES, lambda name, wanted: numeric.as_integer(name, wanted.kind)),
    **dict.fromkeys((Kind.FLOAT32, Kind.FLOAT64), lambda name, _: numeric.as_double(name)),
    Kind.DECIMAL: numeric.as_decimal,
    Kind.BOOL: lambda name, _: numeric.as_bool(name),
    Kind.STRING: lambda name, _: numeric.text_of(name),
    Kind.BINARY: lambda name, _: _as_binary(name),
    Kind.TIME: lambda name, _: moments.time_key(name),
    Kind.UUID: lambda name, _: _as_uuid(name),
    Kind.JSON: lambda name, _: _as_json(name),
}
