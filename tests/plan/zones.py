"""What tests of windows in zones share: zones, instants to draw from, and Python's own reckoning of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

from hypothesis import strategies as st

from rivet.plan.calendar import MICROSECONDS_PER_DAY, days_from_civil
from tests.plan.tzif import changes

MICROSECOND = timedelta(microseconds=1)
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
# Midnights and days that do not exist, half and three-quarter hours, odd seconds before standard time,
# changes of two hours, of half an hour, backwards in summer and by the moon, and the widest offsets.
ZONES = [
    *("UTC", "Etc/GMT+12", "Etc/GMT-14", "Pacific/Apia", "Pacific/Kwajalein", "Pacific/Kiritimati"),
    *("Asia/Manila", "America/Havana", "Asia/Beirut", "America/Sao_Paulo", "America/Toronto", "Asia/Tehran"),
    *("Asia/Kathmandu", "Pacific/Chatham", "Australia/Lord_Howe", "Antarctica/Troll", "Africa/Casablanca"),
    *(
        "Europe/Dublin",
        "Europe/Amsterdam",
        "America/New_York",
        "Africa/Cairo",
        "Asia/Gaza",
        "Africa/Monrovia",
    ),
]
# Where the clock once went back over midnight.
BACKWARDS = ["America/St_Johns", "America/Goose_Bay", "America/Juneau", "Antarctica/Casey", "Pacific/Guam"]
# A day inside Python's years, since the local time must be among them too.
SOME_TIME = st.datetimes(datetime(1, 1, 2), datetime(9999, 12, 30), timezones=st.just(UTC)).map(
    lambda moment: (moment - EPOCH) // MICROSECOND
)
YEARS = (days_from_civil(1, 1) * MICROSECONDS_PER_DAY, days_from_civil(10_000, 1) * MICROSECONDS_PER_DAY - 1)


def instants(zone: str) -> st.SearchStrategy[int]:
    """Draw instants of all years, and as many within two days of a change of a zone's clock."""
    known = changes(zone)
    if not known:
        return SOME_TIME
    near = st.sampled_from([0, -1, 1]) | st.integers(-2 * MICROSECONDS_PER_DAY, 2 * MICROSECONDS_PER_DAY)
    return SOME_TIME | st.builds(lambda c, d: c.second * 1_000_000 + d, st.sampled_from(known), near)


def local_date(value: int, zone: str) -> str:
    """Give the date that a clock in a zone shows, by Python's own reckoning."""
    return (EPOCH + value * MICROSECOND).astimezone(ZoneInfo(zone)).date().isoformat()


def instant(text: str) -> int:
    """Give the microseconds of a time in UTC."""
    return (datetime.fromisoformat(text).replace(tzinfo=UTC) - EPOCH) // MICROSECOND
