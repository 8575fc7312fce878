"""A value that does not fit is told as it is, with the values of its row's key as the server writes them."""

from __future__ import annotations

import pytest

from rivet.errors import ColumnError
from rivet.plan.schema import ColumnType, Kind, Override
from tests.servers.database import Database
from tests.source.reading import read_all

KEY = {
    "u": ("uuid", "c4ca4238-a0b9-2382-0dcc-509a6f75849b"),
    "z": ("timestamptz", "2024-01-01 08:00:00.5+00"),
    "n": ("numeric(8,2)", "-1.50"),
    "d": ("date", "0001-01-01"),
    "b": ("boolean", "t"),
    "i": ("bigint", "-9223372036854775808"),
}
# The type, the value, what is asked for, and what is said.
CASES = [
    ("time", "24:00:00", None, "value '24:00:00' does not fit"),
    ("numeric(12,4)", "1.2345", (10, 2), "value '1.2345' has more digits than a decimal128(10,2)"),
    ("numeric(12,4)", "NaN", (10, 4), "value 'NaN' does not fit"),
    ("date", "infinity", None, "value 'infinity' does not fit"),
    ("timestamptz", "10000-01-01 00:00:00+00", None, "value '+10000-01-01 00:00:00+00' does not fit"),
]


@pytest.mark.parametrize(("kind", "value", "digits", "said"), CASES)
def test_a_misfit_is_told_by_value_and_key(
    postgres_database: Database, kind: str, value: str, digits: tuple[int, int] | None, said: str
) -> None:
    """Whatever types the columns of the key have, the message has their values, and the wrong one."""
    columns = ", ".join(f"{name} {key[0]}" for name, key in KEY.items())
    values = ", ".join(f"'{text}'" for _, text in KEY.values())
    postgres_database.execute(
        f"SET TimeZone = 'UTC'; CREATE TABLE t ({columns}, v {kind}, PRIMARY KEY ({', '.join(KEY)}));"
        f" INSERT INTO t VALUES ({values}, '{value}')"
    )
    overrides = {"v": Override(ColumnType(Kind.DECIMAL, *digits))} if digits else {}

    with pytest.raises(ColumnError) as caught:
        read_all(postgres_database, table="t", overrides=overrides)

    shown = ", ".join(
        f"'{name}' = {text!r}" if name == "u" else f"'{name}' = {text}" for name, (_, text) in KEY.items()
    )
    assert str(caught.value).endswith(f"{said}, in the row with {shown}")
    if "more digits" in said:
        assert "another precision and scale" in (caught.value.hint or "")
