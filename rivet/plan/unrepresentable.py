"""Decides what becomes of values that the type of their column cannot represent, by the policy of an export.

Pure.
"""

from __future__ import annotations

from collections.abc import Sequence

from rivet.errors import PlanError
from rivet.plan.probe import Probe
from rivet.plan.schema import Column, Kind
from rivet.wording import counted

_NO_DATE = "fits no calendar (infinity, zero date, BC, beyond year 9999, or no date at all)"
_NO_DECIMAL = "no decimal can hold (NaN or infinity)"


def nulled_columns(columns: Sequence[Column], probe: Probe, policy: str) -> frozenset[str]:
    """Give the columns whose unrepresentable values are to be read as NULL.

    Args:
        policy: `error` or `null`.

    Raises:
        PlanError: There are such values, and the policy does not let them be NULL.
    """
    held = dict(probe.unrepresentable)
    if held and policy == "error":
        found, told = [], set()
        for column in columns:
            if column.name in held:
                rows = held[column.name]
                why = _NO_DECIMAL if column.type.kind is Kind.DECIMAL else _NO_DATE
                what = "likewise" if why in told else f"{'holds' if rows == 1 else 'hold'} a value that {why}"
                found.append(f"column {column.name!r}: {rows:,} of {counted(probe.rows, 'row')} {what}")
                told.add(why)
        raise PlanError(
            "; ".join(found),
            hint="set unrepresentable: null to write such values as NULL, counted in the manifest; or "
            "correct the rows, or give them a meaning in a query (CASE WHEN … THEN … END)",
        )
    return frozenset(held)
