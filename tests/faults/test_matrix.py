"""Every fault at every step, from every source to every destination: readers see old or new."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

from tests.faults.night import Driver, Night, run_driver
from tests.faults.places import Directory, Place, Store
from tests.faults.steps import IN_A_STORE, ON_A_DISK, STEPS, Kind, Side
from tests.run.conftest import AnyDatabase
from tests.servers.gcs import GcsServer
from tests.servers.mariadb import MysqlServer
from tests.servers.postgres import PostgresServer
from tests.servers.s3 import S3Server
from tests.servers.sqlite import SqliteDatabase

SOURCES = ("postgres", "mariadb", "sqlite")
DESTINATIONS = ("local", "s3", "gcs")
KINDS: tuple[Kind, ...] = ("kill", "bug", "unavailable", "cut", "full")
SIDES: tuple[Side, ...] = ("before", "after")
LEAST_COMBINATIONS = 300
# A bug in the thread that renews the lock ends the renewing, and the run, long before it matters.
IN_A_THREAD = ("lock renewed",)


def _applies(source: str, destination: str, step: str, kind: Kind) -> bool:
    if step in (ON_A_DISK if destination != "local" else IN_A_STORE):
        return False
    if kind == "cut":
        return (source, destination) != ("sqlite", "local")
    return kind != "bug" or step not in IN_A_THREAD


COMBINATIONS = [
    (source, destination, step, kind)
    for source, destination, step, kind in itertools.product(SOURCES, DESTINATIONS, STEPS, KINDS)
    if _applies(source, destination, step, kind)
]


def _short() -> list[tuple[str, str, str, Kind]]:
    """Choose one combination of each step, so that sources, destinations and faults go by turns."""
    chosen = []
    for number, step in enumerate(STEPS):
        its = [combination for combination in COMBINATIONS if combination[2] == step]
        chosen.append(its[number * 11 % len(its)])
    return chosen


SHORT = _short()

Make = Callable[[str, str], Night]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory, s3: S3Server) -> Iterator[Driver]:
    """Run the process that forks all runs."""
    bucket = s3.make_bucket()
    with run_driver(tmp_path_factory.mktemp("driver"), bucket.environment) as running:
        yield running


@pytest.fixture(scope="module")
def night(
    postgres: PostgresServer,
    mariadb: MysqlServer,
    s3: S3Server,
    gcs: GcsServer,
    driver: Driver,
    tmp_path_factory: pytest.TempPathFactory,
) -> Iterator[Make]:
    """Give the night of a source and a destination, which is prepared once."""
    made: dict[tuple[str, str], Night] = {}
    with ExitStack() as stack:

        def give(source: str, destination: str) -> Night:
            if (source, destination) not in made:
                directory = tmp_path_factory.mktemp("night")
                servers = {"postgres": postgres, "mariadb": mariadb}
                database: AnyDatabase = (
                    stack.enter_context(servers[source].fresh_database())
                    if source in servers
                    else SqliteDatabase(directory / "source.db")
                )
                places: dict[str, Callable[[], Place]] = {
                    "local": lambda: Directory(directory / "tree"),
                    "s3": lambda: Store(s3.make_bucket()),
                    "gcs": lambda: Store(gcs.make_bucket()),
                }
                night = Night(directory, database, source, places[destination]())
                night.rehearse(driver)
                made[source, destination] = night
            return made[source, destination]

        yield give


def test_the_matrix_is_whole() -> None:
    """There are hundreds of combinations, and a short run has every step, fault, source and destination."""
    assert len(COMBINATIONS) >= LEAST_COMBINATIONS
    for place, values in enumerate((SOURCES, DESTINATIONS, STEPS, KINDS)):
        assert {combination[place] for combination in SHORT} == set(values)


@pytest.mark.parametrize(
    ("source", "destination", "step", "kind"),
    [pytest.param(*one, marks=() if one in SHORT else pytest.mark.long) for one in COMBINATIONS],
)
def test_a_fault(night: Make, driver: Driver, source: str, destination: str, step: str, kind: Kind) -> None:
    """Readers see old or new, whatever befalls a run; the same command then makes the tree the table."""
    # The side, and which of several steps of one name, go by turns over all combinations.
    turn = STEPS.index(step) + KINDS.index(kind)
    night(source, destination).suffer(driver, step, SIDES[turn % 2], kind, turn)
