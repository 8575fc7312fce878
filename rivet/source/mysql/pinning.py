"""What every session sets, so that rows and their text do not hang on the server's own settings. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from rivet.source.translation import LOCK_WAIT_SECONDS

MAX_WARNINGS = 65_535  # the most that a server keeps

# First go the limits that SHOW obeys, too: to the largest number, since DEFAULT would be the global value.
NO_LIMIT = f"SET SESSION sql_select_limit = {2**64 - 1}, sql_big_selects = 1"
# What changes rows or their text, or would end a long scan. MariaDB and MySQL have different ones, so only
# those that the server knows are set.
_PINNED = {
    "time_zone": "'+00:00'",
    "sql_auto_is_null": "0",
    "net_read_timeout": "3600",
    "net_write_timeout": "3600",
    "wait_timeout": "86400",
    "idle_transaction_timeout": "0",
    "idle_readonly_transaction_timeout": "0",
    "lock_wait_timeout": str(LOCK_WAIT_SECONDS),  # an ALTER under way must not hold an export for ever
    "max_error_count": str(MAX_WARNINGS),  # they tell of text that was not converted
    # What values of a query would hang on, at the servers' own defaults or, where those cut, without a limit.
    "group_concat_max_len": str(2**30),  # no value can be longer
    "div_precision_increment": "4",
    "default_week_format": "0",
    "lc_time_names": "'en_US'",
}
# The modes stay the user's, since they decide how his query reads; this one changes what is stored.
_PADDING = "PAD_CHAR_TO_FULL_LENGTH"
_TIMEOUTS = ("max_statement_time", "max_execution_time")  # MariaDB's in seconds, MySQL's in milliseconds

_NAMES = ", ".join(f"'{name}'" for name in (*_PINNED, *_TIMEOUTS, "sql_mode"))
KNOWN_VARIABLES = f"SHOW SESSION VARIABLES WHERE Variable_name IN ({_NAMES})"


def pins(known: Mapping[str, str], statement_timeout_seconds: float) -> str:
    """Write the statement that sets them.

    Args:
        known: What `KNOWN_VARIABLES` gave.
        statement_timeout_seconds: 0 leaves the server's own.
    """
    values = [f"{name} = {value}" for name, value in _PINNED.items() if name in known]
    if statement_timeout_seconds:
        milliseconds = max(1, round(statement_timeout_seconds * 1000))
        limits = (f"{milliseconds / 1000:.3f}", str(milliseconds))
        values += [f"{n} = {value}" for n, value in zip(_TIMEOUTS, limits, strict=True) if n in known]
    modes = known["sql_mode"].split(",")
    if _PADDING in modes:
        values.append(f"sql_mode = '{','.join(mode for mode in modes if mode != _PADDING)}'")
    return f"SET SESSION {', '.join(values)}"
