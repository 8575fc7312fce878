"""What a value of a config may be, whatever its key: texts, numbers, sizes, types of columns.

Pure. A validator's ValueError holds a message, in which `{found}` is filled in, and a mend.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema

from rivet.config.columns import TYPE_PATTERN, parse_type, type_hint
from rivet.config.units import parse_size, parse_time

VARIABLE_PATTERN = r"\$\{env:[A-Za-z_][A-Za-z0-9_]*\}"


class Section(BaseModel):
    """A mapping of the config that takes no other keys than its own."""

    model_config = ConfigDict(extra="forbid", hide_input_in_errors=True)


def _text(value: str) -> str:
    if not value.strip():
        raise ValueError("{found} is empty, expected text")
    if "\0" in value:
        raise ValueError("the text holds a zero character")
    return value


def _name(value: str) -> str:
    """Take any name that a database may have given, one of blanks alone too."""
    return value if value.isspace() else _text(value)


def number(value: object) -> object:
    """Refuse true and false, which pydantic would take for numbers; what a variable gave is text."""
    if isinstance(value, bool):
        raise ValueError("found {found}, expected a number")  # noqa: TRY004 - pydantic reports only ValueError
    return value


def _size(value: object) -> object:
    if not isinstance(value, str):
        return number(value)
    size = parse_size(value)
    if size is None:
        raise ValueError("found {found}, expected bytes, or a size in KB, MB, GB, TB or KiB, MiB, GiB, TiB")
    return size


def _width(value: object) -> Decimal | timedelta:
    """Take a number above zero, exactly as it is written, or a length of time."""
    width: Decimal | timedelta | None = None
    if isinstance(value, str):
        width = parse_time(value)
    if width is None and isinstance(value, int | float | str) and not isinstance(value, bool):
        with suppress(InvalidOperation):
            width = Decimal(str(value))
    if isinstance(width, Decimal) and not (width.is_finite() and 0 < width < 2**64 and _is_short(width)):
        width = None
    if not width:
        raise ValueError("found {found}, expected a number above zero, or a time such as 6 hours")
    return width


def _is_short(number: Decimal) -> bool:
    """Tell whether a number has no more digits behind the point than decimals have."""
    exponent = number.as_tuple().exponent
    return isinstance(exponent, int) and exponent >= -38


def _type(value: str) -> str:
    if parse_type(value) is None:
        raise ValueError("{found} is no type", type_hint(value))
    return value


Text = Annotated[str, AfterValidator(_text)]
Name = Annotated[str, AfterValidator(_name)]
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
Count = Annotated[int, Field(ge=1, lt=2**63), BeforeValidator(number)]
Width = Annotated[
    Decimal | timedelta,
    BeforeValidator(_width),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "number", "exclusiveMinimum": 0},
                {"type": "string"},
            ]
        }
    ),
]
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
