"""Events of a run as lines: plain ones for people, JSON ones for machines.

Pure: the time is a parameter.
"""

from __future__ import annotations

from collections.abc import Mapping

from rivet.events import Event
from rivet.report.wording import one_line, size
from rivet.wording import counted

_LEVELS = {"warning": "warning", "failed": "error"}


def level_of(event: Event) -> str:
    """Give the level of an event: `info`, `warning` or `error`."""
    return _LEVELS.get(event.kind, "info")


def event_line(event: Event, *, time: str, run_id: str) -> str:
    """Write an event as one line: time in UTC to the second, run id, export, message.

    >>> event_line(Event("warning", "e", "no index"), time="2023-01-01T00:00:00.123456Z", run_id="20230101T…")
    '2023-01-01T00:00:00Z 20230101T… e: warning: no index'
    """
    export = f"{event.export}: " if event.export is not None else ""
    level = level_of(event)
    flag = "" if level == "info" else f"{level}: "
    return one_line(f"{time[:19]}Z {run_id} {export}{flag}{event_text(event)}")


def event_document(event: Event, *, time: str, run_id: str) -> dict[str, object]:
    """Turn an event into JSON types."""
    return {
        "time": time,
        "run_id": run_id,
        "level": level_of(event),
        "export": event.export,
        "kind": event.kind,
        "message": event.message,
        "facts": event.facts,
    }


def ending_document(document: Mapping[str, object], message: str, *, time: str) -> dict[str, object]:
    """Turn a command's ending into JSON types: the last line of a log, with the whole document as facts."""
    return {
        "time": time,
        "run_id": document["run_id"],
        "level": "error" if document["exit_code"] else "info",
        "export": None,
        "kind": "ended",
        "message": message,
        "facts": document,
    }


def event_text(event: Event) -> str:
    """Give the message of an event; mere progress is told from its facts.

    >>> event_text(Event("progress", "e", "", {"rows": 1000, "of": 3000, "uploaded_bytes": 5_000_000}))
    '1,000 of 3,000 rows, 5.0 MB uploaded'
    """
    rows, known, uploaded, published, to_publish = (
        fact if isinstance(fact := event.facts.get(name), int) else None
        for name in ("rows", "of", "uploaded_bytes", "published", "to_publish")
    )
    if event.message or rows is None:
        return event.message or event.kind
    if published is not None and to_publish is not None:
        text = f"published {published:,} of {counted(to_publish, 'partition')}"
    else:
        text = counted(rows, "row") if known is None else f"{rows:,} of {counted(known, 'row')}"
    return f"{text}, {size(uploaded)} uploaded" if uploaded else text
