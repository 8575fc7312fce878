"""How each column is rendered: the SQL that gives its cell, in what form it is sent, and what fits no type.

Pure. A cell is sent in a form of its own where the decoder reads it as what the column becomes, else as text.

In templates `{v}` stands for the column. Functions and types are named with their schema, since the search
path is the user's own and may hold others of the same names.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from rivet.plan.schema import Column, ColumnType, Fidelity, Kind, Override
from rivet.source.columns import refused_override
from rivet.source.numbers import FLOATS, NUMBERS
from rivet.source.postgres.numbers import holds, number_of
from rivet.source.postgres.sent import MAX_DIGITS, Sent
from rivet.source.postgres.types import SourceType, becomes

VALUE = "{v}"
_TEXT = "CAST({v} AS pg_catalog.text)"
_JSON = "pg_catalog.array_to_json({v})"
# The output function's own text, where a cast to text gives another: it strips blanks, adds a netmask, writes
# truth values as words or leaves in XML an encoding that is no longer its own. Of a composite value without
# values IS NOT NULL is false.
_PRINTED = "CASE WHEN {v} IS DISTINCT FROM NULL THEN pg_catalog.format('%s', {v}) END"
_CAST_DIFFERS = frozenset({"bpchar", "inet", "cidr", "bool", "xml"})

# What lies outside the years 1 to 9999, or is no number of finite size: the probe asks every row, so that few
# comparisons count. A numeric of fixed digits takes no infinity (numeric.c, `apply_typmod_special`); of the
# others no finite one reaches the bound.
_UNFIT = {
    Kind.DATE: "{v} < DATE '0001-01-01' OR {v} >= DATE '10000-01-01'",
    Kind.TIMESTAMP: "{v} < TIMESTAMP '0001-01-01' OR {v} >= TIMESTAMP '10000-01-01'",
    Kind.INSTANT: "{v} < TIMESTAMPTZ '0001-01-01 00:00+00' OR {v} >= TIMESTAMPTZ '10000-01-01 00:00+00'",
}
NOT_A_NUMBER = "{v} = 'NaN'"
_NOT_FINITE = "{v} <= -1e131071 OR {v} >= 1e131071"

# The shortest text of a float is another number than the float itself once it is large: a whole one is
# written with all its digits. Beyond eight bytes it fits no kind of whole number.
_WHOLE_OF_FLOAT = (
    "CASE WHEN {v} >= -9223372036854775808 AND {v} < 9223372036854775808 AND pg_catalog.trunc({v}) = {v} "
    f"THEN CAST(CAST({{v}} AS pg_catalog.int8) AS pg_catalog.text) ELSE {_TEXT} END"
)
_UNSIGNED_OF_FLOAT = (
    "CASE WHEN {v} >= 9223372036854775808 AND {v} < 18446744073709551616 THEN CAST(9223372036854775808 + "
    "CAST({v} - 9223372036854775808 AS pg_catalog.int8) AS pg_catalog.text) "
    f"ELSE {_WHOLE_OF_FLOAT} END"
)
# Whether a float holds a number is asked of the server, by going there and back within its range: 2^63 has no
# way back, and a double that is too small or too large for a float4 none there. What does not come back is
# written as something that is no number, which the decoder refuses with the value.
_INEXACT = f"ELSE {_TEXT} || ' is not exact' END"
_FLOAT_OF_WHOLE = (
    "CASE WHEN {v} = pg_catalog.trunc(CAST({v} AS pg_catalog.numeric)) "
    "AND {v} BETWEEN -9223371487098961920 AND 9223371487098961920 "
    "THEN CASE WHEN CAST(CAST({v} AS pg_catalog.{f}) AS pg_catalog.int8) = {v} "
    f"THEN CAST(CAST({{v}} AS pg_catalog.{{f}}) AS pg_catalog.text) {_INEXACT} ELSE {_TEXT} END"
)
_NARROWED = (
    f"CASE WHEN {{v}} = 'NaN' OR {{v}} = 0 OR pg_catalog.abs({{v}}) = 'Infinity' THEN {_TEXT} "
    "WHEN pg_catalog.abs({v}) BETWEEN 1.401298464324817e-45 AND 3.4028234663852886e38 "
    "AND CAST(CAST({v} AS pg_catalog.float4) AS pg_catalog.float8) = {v} "
    f"THEN CAST(CAST({{v}} AS pg_catalog.float4) AS pg_catalog.text) {_INEXACT}"
)

_SAME_VALUES = {("uuid", Kind.UUID), ("json", Kind.JSON), ("jsonb", Kind.JSON)}
_FROM_TEXT = (Kind.DATE, Kind.TIMESTAMP, Kind.INSTANT, Kind.TIME, Kind.UUID, Kind.JSON)


_FORMS = {
    ("bool", Kind.BOOL): Sent.BOOL,
    ("int2", Kind.INT16): Sent.INT2,
    ("int4", Kind.INT32): Sent.INT4,
    ("int8", Kind.INT64): Sent.INT8,
    ("float4", Kind.FLOAT32): Sent.FLOAT4,
    ("float8", Kind.FLOAT64): Sent.FLOAT8,
    ("date", Kind.DATE): Sent.DATE,
    ("time", Kind.TIME): Sent.TIME,
    ("timestamp", Kind.TIMESTAMP): Sent.TIMESTAMP,
    ("timestamptz", Kind.INSTANT): Sent.INSTANT,
    ("uuid", Kind.STRING): Sent.UUID,
    ("uuid", Kind.UUID): Sent.UUID,
}
_SENT_AS_TEXT = frozenset({"text", "varchar", "bpchar", "name", "json"})


@dataclass(frozen=True, slots=True)
class Rendering:
    """What a column becomes, and the SQL for it.

    Attributes:
        cell: Gives the value's cell: text, unless `sent` says otherwise.
        sent: In what form COPY sends it.
        unfit: True for a value that the type cannot represent and that the policy may turn into NULL; empty
            where there is none.
    """

    type: ColumnType
    fidelity: Fidelity
    cell: str = VALUE
    unfit: str = ""
    sent: Sent = Sent.TEXT

    def column(self, name: str, source: SourceType) -> Column:
        """Describe the column."""
        return Column(name, self.type, source.shown, self.fidelity)


def rendering(name: str, source: SourceType, override: Override | None) -> Rendering:
    """Say how a column is rendered, by its own type or by what the config asks for.

    Raises:
        ColumnError: The column cannot become that, with the types that it can become.
    """
    own, fidelity = becomes(source)
    if override is None or (override.type == own and override.unit is None):
        return _as_sent(source, Rendering(own, fidelity, _own_cell(source, own), _unfit(source, own)))
    found = None if override.unit is not None else _overridden(source, override.type)
    if found is None:
        raise refused_override(name, source.shown, override, _possible(source, own))
    return _as_sent(source, found)


def _as_sent(source: SourceType, found: Rendering) -> Rendering:
    """Give a rendering the form in which its cell is sent, and where that is text, make it text."""
    if found.type.kind is Kind.BINARY:
        return replace(found, sent=Sent.BYTES)
    if found.cell != VALUE:
        return replace(found, cell=f"CAST(({found.cell}) AS pg_catalog.text)")
    form = _form(source, found.type)
    if form is not None:
        return replace(found, sent=form)
    if _is_sent_as_text(source):
        return found
    is_cast = source.built_in and source.name not in _CAST_DIFFERS
    return replace(found, cell=_TEXT if is_cast else _PRINTED)


def _form(source: SourceType, target: ColumnType) -> Sent | None:
    """Say in which form of its own a single value is sent that is no text, or give None."""
    if not source.built_in:
        return None
    if source.name == "numeric" and target.kind is Kind.DECIMAL and source.digits is not None:
        # Of more digits, the decoder would have to reckon in more than 64 bits.
        return Sent.NUMERIC if target.precision <= MAX_DIGITS else None
    return _FORMS.get((source.name, target.kind))


def _is_sent_as_text(source: SourceType) -> bool:
    """Tell whether the form of a single value is its text."""
    if source.made_of == "e":
        return True
    return source.name in _SENT_AS_TEXT and not source.is_array if source.built_in else source.is_text


def _own_cell(source: SourceType, own: ColumnType) -> str:
    if own.element is not None:
        return _list_cell(source, own.element.kind)
    return _JSON if source.is_array else VALUE


def _list_cell(source: SourceType, element: Kind) -> str:
    """Write a list as JSON of strings, each the cell of its element."""
    array = "{v}"
    if element is Kind.BOOL:  # as text, a truth value is a word
        array = "CAST({v} AS pg_catalog.int4[])"
    elif source.built_in and source.name in _CAST_DIFFERS:
        return _JSON
    return f"pg_catalog.array_to_json(CAST({array} AS pg_catalog.text[]))"


def _unfit(source: SourceType, target: ColumnType) -> str:
    if source.is_array:
        return ""
    if source.built_in and source.name == "numeric" and target.kind is Kind.DECIMAL:
        return _NOT_FINITE if source.digits is None else NOT_A_NUMBER
    return "" if source.is_text else _UNFIT.get(target.kind, "")


def _overridden(source: SourceType, target: ColumnType) -> Rendering | None:
    """Render a column as what its own type does not become, or give None where that makes no sense."""
    kind = target.kind
    if kind is Kind.STRING:
        fidelity = Fidelity.EXACT if source.is_text else Fidelity.TEXT
        return Rendering(target, fidelity, _JSON if source.is_array else VALUE)
    if source.is_array:
        return Rendering(target, Fidelity.TEXT, _JSON) if kind is Kind.JSON else None
    if kind is Kind.BINARY and _holds_text(source):
        text = _PRINTED if source.name == "bpchar" else _TEXT
        encoded = f"pg_catalog.convert_to({text}, pg_catalog.getdatabaseencoding())"
        return Rendering(target, Fidelity.EXACT, encoded)
    number = number_of(source) if kind in NUMBERS else None
    if number is not None:
        fidelity = Fidelity.EXACT if holds(number, target) else Fidelity.LOSSY
        return Rendering(target, fidelity, _number_cell(source, number.kind, kind), _unfit(source, target))
    read = _read_as(source, kind)
    return None if read is None else Rendering(target, read)


def _read_as(source: SourceType, kind: Kind) -> Fidelity | None:
    """Say how values arrive whose own cells the decoder reads as another kind, or None where it cannot."""
    if source.built_in and (source.name, kind) in _SAME_VALUES:
        return Fidelity.EXACT
    if source.is_text and kind in _FROM_TEXT:
        return Fidelity.LOSSY
    is_integer = source.built_in and source.name in ("int2", "int4", "int8")
    return Fidelity.LOSSY if kind is Kind.BOOL and is_integer else None


def _number_cell(source: SourceType, own: Kind, wanted: Kind) -> str:
    """Write a number as the decoder reads another kind of it, which checks that nothing is lost."""
    if source.name == "money":
        return "CAST({v} AS pg_catalog.numeric)"
    if (own, wanted) == (Kind.FLOAT32, Kind.FLOAT64):
        return "CAST({v} AS pg_catalog.float8)"  # the same number, of which a float4's text is a rounded one
    if own in FLOATS and wanted not in FLOATS:
        return _UNSIGNED_OF_FLOAT if wanted is Kind.UINT64 else _WHOLE_OF_FLOAT
    if (own, wanted) == (Kind.FLOAT64, Kind.FLOAT32):
        return _NARROWED
    if source.name in ("int4", "int8", "numeric") and wanted in FLOATS:
        return _FLOAT_OF_WHOLE.replace("{f}", "float4" if wanted is Kind.FLOAT32 else "float8")
    return VALUE


def _holds_text(source: SourceType) -> bool:
    return source.is_text or (source.built_in and source.name in ("json", "xml"))


def _possible(source: SourceType, own: ColumnType) -> list[Kind]:
    """List what configs may make of a column, its own kind first."""
    kinds: list[Kind] = [] if own.kind is Kind.LIST else [own.kind]
    kinds += [k for k in Kind if k is not own.kind and _overridden(source, ColumnType(k, 38, 9)) is not None]
    return kinds
