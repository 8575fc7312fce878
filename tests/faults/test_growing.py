"""Killed at any moment in a bucket: who adds or merges parts, writes some partitions anew or keeps chunks."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.faults.growing import WAYS, GrowingTree
from tests.faults.night import Driver, run_driver
from tests.faults.places import Store
from tests.faults.steps import AS_TIME_HAS_IT, Fault, Side
from tests.run.buckets import STORES
from tests.servers.s3 import S3Server

ENGINE_OF = {"s3": "postgres", "gcs": "mariadb"}
SIDES: tuple[Side, ...] = ("before", "after")
RANDOM_KILLS = 50
EACH = [(way, store) for way in WAYS for store in STORES]


@pytest.fixture(scope="module")
def driver(tmp_path_factory: pytest.TempPathFactory, s3: S3Server) -> Iterator[Driver]:
    """Run the process that forks all runs."""
    with run_driver(tmp_path_factory.mktemp("driver"), dict(s3.make_bucket().environment)) as running:
        yield running


@pytest.fixture
def tree(tmp_path: Path, request: pytest.FixtureRequest, driver: Driver, store: str, way: str) -> GrowingTree:
    """Give a tree that stands in a bucket."""
    engine = ENGINE_OF[store]
    bucket, database = (request.getfixturevalue(name) for name in (f"{store}_bucket", f"{engine}_database"))
    return GrowingTree(tmp_path, database, engine, Store(bucket), WAYS[way], driver)


def _kill(step: str, side: Side, number: int) -> Fault:
    return Fault(step=step, side=side, number=number, kind="kill", secret="")


@pytest.mark.parametrize(
    ("way", "store", "step"),
    [("append", "s3", "manifest published"), ("compact", "gcs", "swept")],
)
def test_killed_at_one_step(tree: GrowingTree, step: str) -> None:
    """Readers see old or new; the next run, or the same command, ends right."""
    assert tree.suffer(0, _kill(step, "before", tree.steps[step] - 1)) == 1


@pytest.mark.long
@pytest.mark.parametrize(("way", "store"), EACH)
def test_killed_at_every_step(tree: GrowingTree) -> None:
    """No row is lost and none comes twice, before or after whatever step."""
    turn = 0
    for step, times in tree.steps.items():
        for side in SIDES:
            for number in {0} if step in AS_TIME_HAS_IT else {0, times // 2, times - 1}:
                killed = tree.suffer(turn, _kill(step, side, number))
                assert killed or step in AS_TIME_HAS_IT, (step, side, number)
                turn += 1


@pytest.mark.long
@pytest.mark.parametrize(("way", "store"), EACH)
def test_killed_at_random_moments(tree: GrowingTree, way: str, store: str) -> None:
    """Killed once, or once more while it recovers, at a moment or a step that nobody chose."""
    dice, killed = random.Random(f"{way} {store}"), 0
    steps = [*tree.steps, *(["chunk taken over"] if way == "chunks" else [])]
    for turn in range(RANDOM_KILLS):
        step = dice.choice(steps)
        second = _kill(step, dice.choice(SIDES), dice.randrange(tree.steps.get(step, 3)))
        killed += tree.suffer(turn // 2, dice.uniform(0, tree.seconds), *((second,) if turn % 2 else ()))
    assert killed >= RANDOM_KILLS // 2
