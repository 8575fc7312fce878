"""The present, and the ids of runs; both are parameters wherever they are used."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable

from rivet.plan.calendar import format_timestamp

Clock = Callable[[], str]


def utc_now() -> str:
    """Give the present as RFC 3339 in UTC with six decimals and `Z`."""
    return format_timestamp(time.time_ns() // 1000, utc=True)


def new_run_id() -> str:
    """Make a run id that sorts by time and is unique, such as `20230102T030405Z-0123abcd`."""
    return f"{time.strftime('%Y%m%dT%H%M%SZ', time.gmtime())}-{secrets.token_hex(4)}"
