"""What `rivet validate` looks at, and what it tells."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from rivet.config.settings import Settings
from rivet.destination.protocol import Destination
from rivet.errors import DestinationDenied
from rivet.manifest.verdict import Verdict
from tests.cli.conftest import Command
from tests.report.outcomes import VERDICT

pytestmark = pytest.mark.usefixtures("loaded")

CLEAN = replace(VERDICT, findings=())
Verdicts = Callable[..., list[tuple[str, object, object]]]


@pytest.fixture
def verdicts(monkeypatch: pytest.MonkeyPatch) -> Verdicts:
    """Give a function that makes validations end so, by prefix; it gives the list of what was looked at."""

    def end(by_prefix: dict[str, Verdict | Exception]) -> list[tuple[str, object, object]]:
        looked: list[tuple[str, object, object]] = []

        def validate(destination: Destination, *, depth: object, strict: object) -> tuple[Verdict, None]:
            prefix = destination.uri.rstrip("/")
            looked.append((prefix, depth, strict))
            verdict = by_prefix[prefix]
            if isinstance(verdict, Exception):
                raise verdict
            return verdict, None

        monkeypatch.setattr("rivet.validation.validate_claimed", validate)
        return looked

    return end


def test_a_prefix_needs_no_config(
    rivet: Command, verdicts: Verdicts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A prefix alone is a path from the working directory; depth and strictness are passed on."""
    monkeypatch.chdir(tmp_path)
    looked = verdicts({str(tmp_path / "out"): VERDICT})

    told = rivet("validate", "--prefix", "out", "--depth", "quick", "--strict", "--json")

    assert looked == [(str(tmp_path / "out"), "quick", True)]
    assert told.exit_code == told.document["exit_code"] == 4
    assert told.document["exports"][0]["verdict"]["findings"][0]["code"] == "unlisted_file"
    assert told.err.splitlines()[-1].startswith("/out/events/: failed at full depth: 1 error, 1 note")


def test_a_config_validates_the_root_of_each_export(
    rivet: Command, verdicts: Verdicts, settings: Settings
) -> None:
    """Every export is looked at; one that cannot be read gives its exit code and hides no other."""
    events, orders = (e.destination.label for e in settings.exports)
    verdicts({events: DestinationDenied("may not read", hint="chmod"), orders: CLEAN})

    told = rivet("validate", "--config", "c.yaml", "--json")

    assert told.exit_code == 2
    assert [(e["name"], e["exit_code"]) for e in told.document["exports"]] == [("events", 2), ("orders", 0)]
    assert told.err.splitlines() == [
        "orders: passed at full depth: 2 partitions, 3 parts, 10 rows, 2.0 kB",
        "Error: events: may not read",
        "Hint: chmod",
    ]


def test_an_export_can_be_chosen(rivet: Command, verdicts: Verdicts, settings: Settings) -> None:
    """`--export` selects, and a name that is not in the config is told with the near miss."""
    looked = verdicts({settings.exports[1].destination.label: CLEAN})

    assert rivet("validate", "--config", "c.yaml", "--export", "orders").exit_code == 0
    assert len(looked) == 1

    told = rivet("validate", "--config", "c.yaml", "--export", "order")
    assert told.exit_code == 2
    assert "did you mean 'orders'?" in told.err


def test_a_prefix_with_a_config_is_a_path_from_its_folder(
    rivet: Command, verdicts: Verdicts, tmp_path: Path
) -> None:
    """The prefix is looked for under the roots of the config, from the config's folder."""
    place = str(tmp_path / "orders/day=2023-01-01")
    looked = verdicts({place: CLEAN})

    told = rivet(
        "validate", "--config", str(tmp_path / "c.yaml"), "--prefix", "orders/day=2023-01-01", "--json"
    )

    assert [(e["name"], e["exit_code"]) for e in told.document["exports"]] == [("orders", 0)]
    assert [prefix for prefix, _, _ in looked] == [place]


@pytest.mark.parametrize("prefix", ["elsewhere", "orders/../elsewhere", "orders2", "/orders"])
def test_a_prefix_under_no_root_is_refused(
    rivet: Command, verdicts: Verdicts, tmp_path: Path, prefix: str
) -> None:
    """A prefix beside the roots of the config is no prefix of it."""
    looked = verdicts({})

    told = rivet("validate", "--config", str(tmp_path / "c.yaml"), "--prefix", prefix)

    assert told.exit_code == 2
    assert f"Error: --prefix: {prefix!r} is under no root of the config" in told.err
    assert looked == []


@pytest.mark.parametrize(
    ("arguments", "error"),
    [
        ((), "give --prefix P or --config C"),
        (("--prefix", "p", "--export", "e"), "--export needs --config"),
        (("--prefix", "p", "--source"), "--source needs --config"),
        (("--prefix", "abfs://bucket/p"), "--prefix: 'abfs://bucket/p'"),
    ],
)
def test_what_cannot_be_done_is_told(rivet: Command, arguments: tuple[str, ...], error: str) -> None:
    """Combinations without a meaning, and what comes later, exit 2 and say so."""
    told = rivet("validate", *arguments)

    assert told.exit_code == 2
    assert told.err.startswith(f"Error: {error}")


def test_a_place_with_nothing_in_it_fails(rivet: Command, tmp_path: Path) -> None:
    """Where neither an export file nor a manifest is found, the exit code is 4."""
    told = rivet("validate", "--prefix", str(tmp_path), "--json")

    assert told.exit_code == 4
    assert told.document["exports"][0]["verdict"]["passed"] is False
