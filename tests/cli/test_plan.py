"""What `rivet plan`, `rivet check` and `rivet run --dry-run` tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from rivet.config.settings import Settings
from rivet.events import Event, Listener
from rivet.outcome import PlanOutcome
from rivet.plan.schema import Column, ColumnType, Fidelity, Kind
from tests.cli.conftest import Command, Stub
from tests.report.outcomes import PLAN

pytestmark = pytest.mark.usefixtures("loaded")

Looks = Callable[..., None]


@pytest.fixture
def finds(stub: Stub) -> Looks:
    """Give a function that makes every plan and check find these outcomes."""

    def find(*outcomes: PlanOutcome) -> None:
        def look(
            settings: Settings,
            *,
            exports: tuple[str, ...],
            write: bool = False,
            listener: Listener,
            **_: object,
        ) -> tuple[PlanOutcome, ...]:
            listener(Event("started", settings.exports[0].name, "looking at shop"))
            chosen = (o for o in outcomes if not exports or o.name in exports)
            return tuple(replace(o, writable=True) if write else o for o in chosen)

        stub("rivet.run", plan=look, check=look)

    return find


@pytest.mark.parametrize("command", [("plan",), ("run", "--dry-run")])
def test_a_plan_and_a_dry_run_say_the_same(rivet: Command, finds: Looks, command: tuple[str, ...]) -> None:
    """Partitions with rows and paths are for people on stderr, and in the document with `--json`."""
    finds(PLAN)

    told = rivet(*command, "--config", "c", "--json")

    assert told.exit_code == 0
    assert "  2023-01-02            600  day=2023-01-02" in told.err.splitlines()
    assert told.document["exports"][0]["partitions"][1]["expected_rows"] == 600
    assert told.document["dry_run"] is ("--dry-run" in command)


def test_a_check_shows_columns(rivet: Command, finds: Looks) -> None:
    """Each column stands with its source and Arrow types, and with how its values arrive."""
    text = Column("price", ColumnType(Kind.STRING), "numeric", Fidelity.TEXT)
    finds(replace(PLAN, columns=(PLAN.columns[0], text), partitions=None, scans=None))

    told = rivet("check", "--config", "c", "--json")

    assert told.exit_code == 0
    assert {"  id      bigint       int64       exact", "  price   numeric      string      text"} <= set(
        told.err.splitlines()
    )
    assert [c["fidelity"] for c in told.document["exports"][0]["columns"]] == ["exact", "text"]
    assert told.err.splitlines()[-1].startswith("values were not checked: `rivet plan` counts")


def test_an_export_that_cannot_be_planned_does_not_hide_the_others(rivet: Command, finds: Looks) -> None:
    """The exit code is that of the error; the other export is still shown."""
    failed = PlanOutcome("orders", "/out/orders/", exit_code=3, error="unreachable", hint="start it")
    finds(failed, PLAN)

    told = rivet("plan", "--config", "c", "--json")

    assert told.exit_code == told.document["exit_code"] == 3
    assert [e["error"] for e in told.document["exports"]] == ["unreachable", None]
    assert told.err.splitlines()[-2:] == ["Error: orders: unreachable", "Hint: start it"]


def test_a_plan_of_one_export_shows_only_that(rivet: Command, finds: Looks) -> None:
    """`--export` selects."""
    finds(PLAN, replace(PLAN, name="orders"))

    told = rivet("plan", "--config", "c", "--export", "orders", "--json")

    assert [e["name"] for e in told.document["exports"]] == ["orders"]


def test_a_check_that_writes_says_so(rivet: Command, finds: Looks) -> None:
    """With `--write` people and machines are told that the destination took an object."""
    finds(PLAN)

    told, silent = rivet("check", "--config", "c", "--write", "--json"), rivet("check", "--config", "c")

    assert told.document["exports"][0]["writable"] is True
    assert f"{PLAN.destination}, where an object was written and removed" in told.err
    assert "written" not in silent.err
