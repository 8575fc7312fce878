"""The shapes of table that a bench of memory makes: rows, columns, sizes of rows, partitions and orders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from benchmarks.dialects import Dialect

DAY = 86_400_000  # milliseconds
_BYTES_OF_ROW = 185  # of the standard table, as CSV
_COLUMNS_OF_ROW = 12
_CELL_BYTES = 12
_BY_CHANCE = 1_000_003  # a prime: the places of rows are a permutation of their numbers

Order = Literal["random", "sorted", "reversed"]


@dataclass(frozen=True)
class Shape:
    """A table `events` with a column `created_at`, and what is special about it.

    Attributes:
        days: Days over which the rows lie.
        columns: All of them, `created_at` included.
        value_bytes: Length of one text more, or none.
        order: In which its rows were written, by `created_at`.
        skew: Share of the rows that lie in the first day; the others are spread evenly over the rest.
        index: Whether there is an index on `created_at`.
        standard: It is the table of the other benches instead, over a year.
    """

    name: str
    rows: int
    days: int = 36
    columns: int = 3
    value_bytes: int = 0
    order: Order = "random"
    skew: float = 0
    index: bool = False
    standard: bool = False

    @property
    def row_bytes(self) -> int:
        """Give about the bytes of its largest row."""
        return self.value_bytes + _CELL_BYTES * self.columns

    def statements(self, dialect: Dialect) -> str:
        """Write what makes and fills the table."""
        kinds = ("whole", "double", "short")
        names = [f"c{number} {dialect.types[kinds[number % 3]]}" for number in range(1, self.columns)]
        values = [self._cell(dialect, number) for number in range(1, self.columns)]
        if self.value_bytes:
            names.append(f"body {dialect.types['long']}")
            values.append(dialect.noise(self.value_bytes, 0))
        listed = ", ".join([f"created_at {dialect.types['moment']}", *names])
        select = ", ".join([dialect.moment(self._milliseconds()), *values])
        return (
            f"{dialect.before} CREATE TABLE events ({listed});"
            f" INSERT INTO events SELECT {select} FROM {dialect.series(self.rows)};"
        )

    def _cell(self, dialect: Dialect, number: int) -> str:
        kind = number % 3
        if kind == 0:
            return f"i * {7919 + number} % 100003"
        return f"i / {number + 7}.0" if kind == 1 else dialect.noise(8, number)

    def _milliseconds(self) -> str:
        """Write the place of row `i` in the order of `created_at`, times what lies between two rows."""
        place = {
            "random": f"(i * {_BY_CHANCE} % {self.rows})",
            "sorted": "(i - 1)",
            "reversed": f"({self.rows} - i)",
        }[self.order]
        if not self.skew:
            return f"{place} * {self.days * DAY // self.rows}"
        first = round(self.rows * self.skew)
        between = (self.days - 1) * DAY // max(1, self.rows - first)
        return (
            f"CASE WHEN {place} < {first} THEN {place} * {DAY // first}"
            f" ELSE {DAY} + ({place} - {first}) * {between} END"
        )


def shapes(rows: int, *, large: bool) -> list[Shape]:
    """List the shapes of issue: `rows` is the size of the standard table, and sets that of the others.

    Args:
        large: Those with ten times the rows, too.
    """
    volume = rows * _BYTES_OF_ROW
    listed = [
        Shape("1 row", 1, days=1, columns=12),
        Shape("1,000 rows", 1000, columns=12),
        Shape(f"standard, {rows:,} rows", rows, standard=True),
    ]
    if large:
        listed.append(Shape(f"standard, {rows * 10:,} rows", rows * 10, standard=True))
    for columns in (1, 12, 100, 500):
        count = max(1, min(rows, rows * _COLUMNS_OF_ROW // columns))
        listed.append(Shape(f"{columns} column{'s' * (columns > 1)}", count, columns=columns))
    for size in (20, 2_000, 200_000, 2_000_000, 20_000_000):
        count = max(2, min(rows, volume // size))
        # 20 bytes are a moment and a number.
        columns, value = (2, 0) if size == 20 else (2, size)
        listed.append(
            Shape(f"rows of {size:,} bytes", count, days=min(5, count), columns=columns, value_bytes=value)
        )
    listed += [
        Shape(f"{days:,} partition{'s' * (days > 1)}", max(rows, days), days=days, columns=6)
        for days in (1, 100, 1_000, 10_000)
    ]
    skewed = max(rows, 100_000)  # a hundredth of these still reaches every day
    listed += [
        Shape("1,000 partitions, 99 % in one", skewed, days=1_000, columns=6, skew=0.99),
        Shape(
            "rows of 20,000 bytes, 99 % in one",
            max(100, volume // 20_000),
            days=30,
            columns=2,
            value_bytes=20_000,
            skew=0.99,
        ),
    ]
    orders: tuple[Order, ...] = ("random", "sorted", "reversed")
    listed += [
        Shape(
            f"{order}, {'an' if index else 'no'} index", rows, days=365, columns=12, order=order, index=index
        )
        for order in orders
        for index in (False, True)
    ]
    return listed
