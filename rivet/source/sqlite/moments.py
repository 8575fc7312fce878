"""Dates, times and moments in SQL: whole numbers on the axis, NULL where a value is none. Pure.

SQLite's functions take many other forms than ISO's, days that no month has, and thousandths of a second only.
So patterns and comparisons hold the form to what `iso` holds it to, and whole seconds alone are left to them.
"""

from __future__ import annotations

from rivet.plan.calendar import END_DAY, FIRST_DAY, MICROSECONDS_PER_DAY
from rivet.plan.schema import EpochUnit, Kind
from rivet.plan.windows import units_per_day
from rivet.source.sqlite.iso import MAX_CHARACTERS

UNITS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}

_FIRST, _END = FIRST_DAY * MICROSECONDS_PER_DAY, END_DAY * MICROSECONDS_PER_DAY
_DAY = "[0-9][0-9][0-9][0-9]-[0-9][0-9]-[0-9][0-9]"
_CLOCK = "[0-2][0-9]:[0-5][0-9]"
_OFFSETS = {  # what an instant's text ends with, and its length
    "*Z": 1,
    "*[+-][0-2][0-9]:[0-5][0-9]": 6,
    "*[+-][0-2][0-9][0-5][0-9]": 5,
    "*[+-][0-2][0-9]": 3,
}
# Below it, in seconds, doubles lie closer than microseconds, and each microsecond has one of its own.
_FINE_SECONDS = 2**33


def iso_key(name: str, kind: Kind) -> str:
    """Write what a text is on the axis of a date, a timestamp or an instant."""
    # A pattern ends at a zero byte.
    is_text = f"typeof({name}) = 'text' AND length({name}) <= {MAX_CHARACTERS} AND NOT instr({name}, char(0))"
    if kind is Kind.DATE:
        condition = f"{is_text} AND length({name}) = 10 AND {_is_day(name)}"
        return f"CASE WHEN {condition} THEN unixepoch({name}) / 86400 END"
    if kind is Kind.TIMESTAMP:
        condition = f"{is_text} AND {_is_day(name)} AND (length({name}) = 10 OR {_is_time(name, 11)})"
        return f"CASE WHEN {condition} THEN {_microseconds(name)} END"
    # Each step is a subquery of one row, which is made before what stands on it, and once.
    offsets = " ".join(f"WHEN substr(x, 17) GLOB '{glob}' THEN {length}" for glob, length in _OFFSETS.items())
    cut = f"SELECT x, CASE {offsets} END AS n FROM (SELECT {name} AS x) WHERE {is_text.replace(name, 'x')}"
    parts = f"SELECT substr(x, 1, length(x) - n) AS c, substr(x, -n) AS o FROM ({cut} LIMIT 1)"
    seconds = "(substr(o, 2, 2) * 3600 + substr(replace(o, ':', ''), 4) * 60)"
    ahead = f"CASE substr(o, 1, 1) WHEN '+' THEN {seconds} WHEN '-' THEN -{seconds} ELSE 0 END"
    condition = f"{_is_day('c')} AND {_is_time('c', 11)} AND substr(o, 2, 2) < '24'"
    value = f"SELECT CASE WHEN {condition} THEN {_microseconds('c')} - {ahead} * 1000000 END AS v"
    return f"(SELECT v FROM ({value} FROM ({parts} LIMIT 1) LIMIT 1) WHERE v >= {_FIRST} AND v < {_END})"


def time_key(name: str) -> str:
    """Write the microseconds since midnight of a text `HH:MM[:SS[.f…]]`."""
    is_text = f"typeof({name}) = 'text' AND length({name}) <= {MAX_CHARACTERS} AND NOT instr({name}, char(0))"
    dated = f"('1970-01-01 ' || {name})"
    return f"CASE WHEN {is_text} AND {_is_time(dated, 11)} THEN {_microseconds(dated)} END"


def epoch_key(name: str, kind: Kind, unit: EpochUnit) -> str:
    """Write what a number of units since 1970 is on the axis: exact, or NULL."""
    per_second = UNITS_PER_SECOND[unit]
    whole = f"CAST({name} AS INTEGER)"
    if kind is Kind.DATE:
        day = 86_400 * per_second
        cases = f"WHEN {name} = {whole} AND {whole} % {day} = 0 THEN {whole} / {day}"
    elif per_second > 10**6:
        step = per_second // 10**6
        cases = f"WHEN {name} = {whole} AND {whole} % {step} = 0 THEN {whole} / {step}"
    else:
        factor = 10**6 // per_second
        cases = f"WHEN {name} = {whole} THEN {whole} * {factor}"
        if factor > 1:  # a double that is the nearest to a microsecond stands for it
            scaled = f"round({name} * {factor}.0)"
            is_nearest = f"abs({name}) < {_FINE_SECONDS * per_second} AND {scaled} / {factor}.0 = {name}"
            cases += f" WHEN {is_nearest} THEN CAST({scaled} AS INTEGER)"
    return f"CASE WHEN {epoch_in_calendar(name, unit)} THEN CASE {cases} END END"


def epoch_in_calendar(name: str, unit: EpochUnit) -> str:
    """Write the condition that a value is a number of units within the years 1 to 9999."""
    seconds_per_day = 86_400 * UNITS_PER_SECOND[unit]
    first, end = FIRST_DAY * seconds_per_day, END_DAY * seconds_per_day
    return f"typeof({name}) IN ('integer', 'real') AND {name} >= {first} AND {name} < {end}"


def epoch_bound(value: int, kind: Kind, unit: EpochUnit) -> str:
    """Write a value of the axis as the least number that is not below it.

    >>> epoch_bound(1, Kind.DATE, "ms"), epoch_bound(500_000, Kind.TIMESTAMP, "s")
    ('86400000', '0.5')
    """
    microseconds = value * MICROSECONDS_PER_DAY // units_per_day(kind)
    per_second = UNITS_PER_SECOND[unit]
    whole, rest = divmod(microseconds * per_second, 10**6)
    if not rest:
        return str(whole)
    is_fine = abs(microseconds) < _FINE_SECONDS * 10**6
    return repr(microseconds * per_second / 10**6) if is_fine else str(whole + 1)


def _is_day(name: str) -> str:
    day = f"substr({name}, 1, 10)"
    return f"{day} GLOB '{_DAY}' AND date({day}) = {day} AND {day} >= '0001'"


def _is_time(name: str, start: int) -> str:
    """Write the condition that a text without an offset goes on as a time, from a separator on."""
    rest, fraction = f"substr({name}, {start})", f"substr({name}, {start + 10})"
    seconds = f"{rest} GLOB '[ T]{_CLOCK}' OR {rest} GLOB '[ T]{_CLOCK}:[0-5][0-9]'"
    digits = f"{fraction} NOT GLOB '*[^0-9]*' AND rtrim(substr({fraction}, 7), '0') = ''"
    decimals = f"{rest} GLOB '[ T]{_CLOCK}:[0-5][0-9].[0-9]*' AND {digits}"
    return f"substr({name}, {start + 1}, 2) < '24' AND ({seconds} OR {decimals})"


def _microseconds(name: str) -> str:
    decimals = f"CAST(substr(substr({name}, 21, 6) || '000000', 1, 6) AS INTEGER)"
    return f"(unixepoch(substr({name}, 1, 19)) * 1000000 + {decimals})"
