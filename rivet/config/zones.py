"""The zones that a config may name: those of the IANA database.

Reads the machine's copy of it, or that of the package tzdata.
"""

from __future__ import annotations

from difflib import get_close_matches
from zoneinfo import available_timezones

# Files of the database's folder that are no place's time: this machine's own, and the one for an unset clock.
_NO_ZONES = {"localtime", "Factory"}


def zone_fault(name: str) -> tuple[str, str] | None:
    """Say why a text names no zone, as message and mend; None where it does.

    >>> zone_fault("UTC") is None, zone_fault("europe/berlin")
    (True, ("{found} is no zone's IANA name", 'did you mean Europe/Berlin?'))
    """
    if name == "UTC":  # which needs no database
        return None
    # Only a listed name, since a path or `right/…` can be opened too, and on some disks in any case.
    zones = available_timezones() - _NO_ZONES
    if name in zones:
        return None
    if not zones:
        return "this machine has no zones but UTC", "install the package tzdata"
    message = "{found} is no zone's IANA name"
    folded = {zone.lower(): zone for zone in sorted(zones)}
    wanted = name[:64].strip().lower().replace(" ", "_")
    cities = [zone for zone in folded if zone.rpartition("/")[2] == wanted]
    near = cities or get_close_matches(wanted, folded, 1)
    return message, f"did you mean {folded[near[0]]}?" if near else "write one such as Europe/Berlin"
