"""Events as lines."""

from __future__ import annotations

import json

import pytest

from rivet.events import Event
from rivet.report.progress import event_document, event_line, event_text

TIME = "2023-01-02T03:04:05.678901Z"


@pytest.mark.parametrize(
    ("event", "line"),
    [
        (Event("started", "events", "reading shop"), "events: reading shop"),
        (Event("warning", None, "odd"), "warning: odd"),
        (Event("failed", "events", "reset"), "events: error: reset"),
        (Event("progress", "events", "", {"rows": 1000, "of": 3000}), "events: 1,000 of 3,000 rows"),
        (Event("progress", "a\nb", "", {"rows": 5}), r"a\nb: 5 rows"),
        (Event("progress", "events", "", {"rows": 1, "of": 1}), "events: 1 of 1 row"),
        (
            Event("progress", "events", "", {"rows": 5, "of": 7, "uploaded_bytes": 12_000_000}),
            "events: 5 of 7 rows, 12.0 MB uploaded",
        ),
        (Event("progress", "events", "", {"rows": 5, "of": 7, "uploaded_bytes": 0}), "events: 5 of 7 rows"),
        (
            Event(
                "progress",
                "e",
                "",
                {"rows": 7, "of": 7, "uploaded_bytes": 9, "published": 0, "to_publish": 1},
            ),
            "e: published 0 of 1 partition, 9 bytes uploaded",
        ),
    ],
)
def test_a_line_begins_with_time_and_run_id(event: Event, line: str) -> None:
    """Each event is one line: time in UTC, run id, export, level where it is not mere news, message."""
    assert event_line(event, time=TIME, run_id="R") == f"2023-01-02T03:04:05Z R {line}"


def test_an_event_for_machines_has_all_its_facts() -> None:
    """The JSON line keeps time, run id, level, export, kind, message and facts."""
    event = Event("warning", "events", "odd", {"rows": 5})

    told = event_document(event, time=TIME, run_id="R")

    assert json.loads(json.dumps(told)) == {
        "time": TIME,
        "run_id": "R",
        "level": "warning",
        "export": "events",
        "kind": "warning",
        "message": "odd",
        "facts": {"rows": 5},
    }


def test_an_event_without_message_and_rows_is_told_by_its_kind() -> None:
    """No event makes an empty line."""
    assert event_text(Event("published", "events", "")) == "published"
