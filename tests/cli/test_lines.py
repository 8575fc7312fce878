"""Events as lines on standard error."""

from __future__ import annotations

import json

import pytest

from rivet.cli.lines import LineListener
from rivet.events import Event


class Watch:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        """Give the time."""
        return self.seconds


@pytest.fixture
def watch() -> Watch:
    """Give a clock to move by hand."""
    return Watch()


def listener(watch: Watch, *, as_json: bool = False) -> LineListener:
    """Make a listener with fixed times."""
    return LineListener("R", as_json=as_json, clock=lambda: "2023-01-02T03:04:05.000000Z", monotonic=watch)


def progress(export: str, rows: int) -> Event:
    """Make a word of progress."""
    return Event("progress", export, "", {"rows": rows, "of": 100})


def test_progress_is_told_every_thirty_seconds(watch: Watch, capsys: pytest.CaptureFixture[str]) -> None:
    """Ten thousand batches in a minute make two lines, each with the rows so far."""
    listen = listener(watch)
    listen(Event("started", "events", "reading"))
    for rows in range(10_000):
        watch.seconds = 1000 + rows * 60 / 10_000
        listen(progress("events", rows))

    lines = capsys.readouterr().err.splitlines()
    assert [line.split(" ", 2)[2] for line in lines] == ["events: reading", "events: 5,000 of 100 rows"]


def test_each_export_has_its_own_thirty_seconds(watch: Watch, capsys: pytest.CaptureFixture[str]) -> None:
    """One export that tells much does not silence another."""
    listen = listener(watch)
    for export in ("a", "b"):
        listen(progress(export, 0))
    watch.seconds += 30
    for export in ("a", "b"):
        listen(progress(export, 7))

    assert [line.split(" ")[2] for line in capsys.readouterr().err.splitlines()] == ["a:", "b:"]


def test_what_is_not_progress_is_always_told(watch: Watch, capsys: pytest.CaptureFixture[str]) -> None:
    """Warnings, failures and the steps of a run are never throttled."""
    listen = listener(watch)
    for kind in ("started", "planned", "warning", "warning", "published", "failed", "finished"):
        listen(Event(kind, "events", kind))

    assert len(capsys.readouterr().err.splitlines()) == 7


def test_json_lines_are_ascii(watch: Watch, capsys: pytest.CaptureFixture[str]) -> None:
    """No locale and no line separator of Unicode can break a JSON line."""
    listener(watch, as_json=True)(Event("warning", "créé\u2028\udcff", "a\nb"))

    (line,) = capsys.readouterr().err.splitlines()
    assert line.isascii()
    assert json.loads(line)["export"] == "créé\u2028\udcff"
