"""PostgreSQL's types in Arrow's terms. Pure.

Whatever becomes a string does so in the exact text that the server writes under the pinned settings. There is
no type without such a text, so that no column is ever refused.
"""

from __future__ import annotations

from dataclasses import dataclass

from rivet.plan.schema import ColumnType, Fidelity, Kind, decimal_type

_OWN_KINDS: dict[str, Kind] = {
    "bool": Kind.BOOL,
    "int2": Kind.INT16,
    "int4": Kind.INT32,
    "int8": Kind.INT64,
    "float4": Kind.FLOAT32,
    "float8": Kind.FLOAT64,
    "date": Kind.DATE,
    "timestamp": Kind.TIMESTAMP,
    "timestamptz": Kind.INSTANT,
    "time": Kind.TIME,
    "bytea": Kind.BINARY,
}
_TEXTS = frozenset({"text", "varchar", "bpchar", "char", "name", "cstring"})
EXTENSION_TEXTS = frozenset({"citext"})


@dataclass(frozen=True, slots=True)
class SourceType:
    """What the catalogue says of a column's type, or of its element's for an array; never a domain.

    Attributes:
        shown: The whole type as the server writes it, such as `numeric(12,2)[]`.
        name: `pg_type.typname`.
        typmod: What follows the type in brackets, in the server's encoding; -1 where nothing does.
        built_in: The type belongs to `pg_catalog`.
        is_array: The column holds arrays of it.
        is_flat: Such arrays hold values of a type that is no array itself, and that has a name.
        made_of: `pg_type.typtype`: `b` for a base type, `e` for an enum, `c` for a composite, …
    """

    shown: str
    name: str
    typmod: int = -1
    built_in: bool = True
    is_array: bool = False
    is_flat: bool = True
    made_of: str = "b"

    @property
    def is_text(self) -> bool:
        """Tell whether a single value is text, and not only written as text."""
        return not self.is_array and self.is_made_of_text

    @property
    def is_made_of_text(self) -> bool:
        """Tell the same of the elements of an array; a user's own type may have an extension's name."""
        if self.built_in:
            return self.name in _TEXTS
        return self.made_of == "b" and self.name in EXTENSION_TEXTS

    @property
    def is_foreign(self) -> bool:
        """Tell whether the type is an extension's own, whose text its makers alone know."""
        return self.made_of == "b" and not self.built_in and self.name not in EXTENSION_TEXTS

    @property
    def digits(self) -> tuple[int, int] | None:
        """Give a numeric's precision and scale, or None where it has none (`numerictypmodin`, numeric.c)."""
        if self.typmod < 0:
            return None
        return (self.typmod - 4) >> 16 & 0xFFFF, ((self.typmod - 4 & 0x7FF) ^ 1024) - 1024


def becomes(source: SourceType) -> tuple[ColumnType, Fidelity]:
    """Say what a column becomes without an override, and how its values arrive.

    >>> [str(part) for part in becomes(SourceType("numeric(12,2)", "numeric", 786438))]
    ['decimal128(12,2)', 'exact']
    >>> [str(part) for part in becomes(SourceType("inet[]", "inet", is_array=True))]
    ['list<string>', 'text']
    """
    if source.is_array:
        if not source.is_flat:
            return ColumnType(Kind.STRING), Fidelity.TEXT
        element, fidelity = _single(source)
        return ColumnType(Kind.LIST, element=element), fidelity
    return _single(source)


def _single(source: SourceType) -> tuple[ColumnType, Fidelity]:
    if source.is_made_of_text:
        return ColumnType(Kind.STRING), Fidelity.EXACT
    if source.built_in and source.name in _OWN_KINDS:
        return ColumnType(_OWN_KINDS[source.name]), Fidelity.EXACT
    if source.built_in and source.name == "numeric" and source.digits is not None:
        decimal = decimal_type(*source.digits)
        if decimal is not None:
            return decimal, Fidelity.EXACT
    return ColumnType(Kind.STRING), Fidelity.TEXT
