"""Every store under several threads at once."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

from rivet.destination.protocol import Destination
from tests.destination.stores import Place, names, publish


def test_many_names_at_once(place: Place) -> None:
    """Sixteen threads that each publish partitions in directories of their own lose nothing."""
    destination = place.destination

    def publish_partition(i: int) -> None:
        directory = f"year={i % 4}/day={i}"
        destination.put(f"{directory}/_SUCCESS", b"old")
        destination.delete([f"{directory}/_SUCCESS"])
        publish(destination, f"{directory}/p.parquet", b"%d" % i)
        destination.settle([directory])
        destination.put(f"{directory}/manifest.json", b"{}")
        destination.settle([directory])

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(publish_partition, range(80)))
    assert names(destination) == sorted(
        f"year={i % 4}/day={i}/{name}" for i in range(80) for name in ("manifest.json", "p.parquet")
    )
    assert all(destination.read(f"year={i % 4}/day={i}/p.parquet") == b"%d" % i for i in range(80))
    assert place.staged() == []


def test_one_name_at_once(place: Place) -> None:
    """Of many writers of one name, one wins whole, and a reader meanwhile sees some writer's bytes whole."""
    destination = place.destination
    contents = [bytes([i]) * 100_000 for i in range(16)]
    destination.put("day=1/p", contents[0])
    seen: list[bytes] = []
    done = threading.Event()

    def read() -> None:
        while not done.is_set():
            seen.append(destination.read("day=1/p"))

    reader = threading.Thread(target=read)
    reader.start()
    with ThreadPoolExecutor(8) as pool:
        writes = [pool.submit(destination.put, "day=1/p", data) for data in contents]
        writes += [pool.submit(publish, destination, "day=1/p", data) for data in contents]
    done.set()
    for write in writes:
        write.result()
    reader.join()
    seen.append(destination.read("day=1/p"))

    assert set(seen) <= set(contents)
    assert names(destination) == ["day=1/p"]
    assert place.staged() == []


def test_publishing_where_another_prunes(destination: Destination) -> None:
    """Objects put into a directory that other threads keep emptying arrive all the same."""

    def churn(i: int) -> None:
        for _ in range(20):
            destination.put(f"deep/er/{i}", b"x")
            destination.delete([f"deep/er/{i}"])
        destination.put(f"deep/er/{i}", b"x")

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(churn, range(4)))

    assert names(destination) == [f"deep/er/{i}" for i in range(4)]


def test_one_name_from_two_places(place: Place) -> None:
    """Two destinations at one root replace each other's objects whole, and each sees what the other did."""
    with closing(place.again()) as other:
        for i in range(5):
            publish(place.destination, "day=1/p", b"%d mine" % i)
            assert other.read("day=1/p") == b"%d mine" % i
            publish(other, "day=1/p", b"%d the other's, and longer" % i)
            assert place.destination.read("day=1/p") == b"%d the other's, and longer" % i
        other.delete(["day=1/p"])

    assert names(place.destination) == []
