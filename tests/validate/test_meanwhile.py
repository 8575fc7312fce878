"""What happens around a validation: runs at work, stores that fail, stores that are no directory."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import BinaryIO

import pytest

from rivet.destination.local import LocalDestination
from rivet.destination.memory import MemoryDestination, Operation, fail_before
from rivet.destination.protocol import Listed
from rivet.errors import DestinationUnavailable
from rivet.plan.names import SUCCESS_FILE
from rivet.validate import validate
from tests.validate.build import FIRST, SECOND, Builder, events, instant, parts
from tests.validate.looking import DEPTHS, found


def in_memory(root: Path, before: Callable[[Operation], None] | None = None) -> MemoryDestination:
    """Give a tree's files as a destination in memory."""
    destination = MemoryDestination(before)
    files = (f for f in root.rglob("*") if f.is_file())
    destination.objects = {str(f.relative_to(root)): f.read_bytes() for f in files}
    return destination


class Changing(LocalDestination):
    """A root that is changed by another process once, right after it was listed for the first time."""

    def __init__(self, root: Path, change: Callable[[], object]) -> None:
        super().__init__(root)
        self._changes = [change]

    def list(self, prefix: str = "") -> Iterator[Listed]:
        """List what is there, then let it change."""
        yield from list(super().list(prefix))
        while self._changes:
            self._changes.pop()()


def again(builder: Builder) -> None:
    """Publish the second day anew, with another run's parts."""
    builder.entries = [e for e in builder.entries if e.path != SECOND]
    for file in parts(builder.root / SECOND):
        file.unlink()
    builder.partition("2023-01-02", [instant("2023-01-02T05:00")], run_id="20230301T030405Z-89abcdef")


class TestRunAtWork:
    """A tree that changes while it is looked at."""

    def test_root(self, tmp_path: Path) -> None:
        """A run that ends meanwhile makes no finding: what it replaced is looked at again."""
        builder = events(tmp_path)
        root = builder.finish()

        def change() -> None:
            again(builder)
            builder.finish()

        verdict = validate(Changing(root, change))

        assert (verdict.findings, verdict.rows) == ((), 7)

    def test_partition(self, tmp_path: Path) -> None:
        """A partition that is replaced meanwhile makes no finding."""
        builder = events(tmp_path)

        verdict = validate(Changing(builder.root, lambda: again(builder)), SECOND)

        assert (verdict.findings, verdict.rows) == ((), 1)

    def test_partition_removed(self, tmp_path: Path) -> None:
        """A partition that vanishes meanwhile is not there."""
        builder = events(tmp_path)

        verdict = validate(Changing(builder.root, lambda: shutil.rmtree(builder.root / SECOND)), SECOND)

        assert found(verdict) == [("error", "nothing_found", "")]

    def test_damage_goes_on(self, tmp_path: Path) -> None:
        """Damage that comes meanwhile is told like any other."""
        root = events(tmp_path).finish()

        verdict = validate(Changing(root, (root / FIRST / SUCCESS_FILE).unlink))

        assert found(verdict) == [("error", "marker_missing", f"{FIRST}/_SUCCESS")]


class TestStores:
    """Destinations other than a directory."""

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_memory(self, tmp_path: Path, depth: str) -> None:
        """A destination that is no directory validates alike, root and partition."""
        destination = in_memory(events(tmp_path).finish())

        assert validate(destination, depth=depth).findings == ()  # type: ignore[arg-type]
        assert validate(destination, SECOND, depth=depth).rows == 2  # type: ignore[arg-type]

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_a_part_listed_many_times_is_read_once(self, tmp_path: Path, depth: str) -> None:
        """A manifest cannot make a validation read a part more than once, however often it lists it."""
        root = events(tmp_path).finish()
        file = root / SECOND / "manifest.json"
        manifest = json.loads(file.read_text())
        manifest["parts"] *= 500
        manifest |= {name: manifest[name] * 500 for name in ("part_count", "row_count", "size_bytes")}
        file.write_text(json.dumps(manifest))
        opened: list[str] = []

        class Watched(LocalDestination):
            def open(self, name: str, size_bytes: int | None = None) -> AbstractContextManager[BinaryIO]:
                opened.append(name)
                return super().open(name, size_bytes)

        verdict = validate(Watched(root), SECOND, depth=depth)  # type: ignore[arg-type]

        assert not verdict.passed
        part = manifest["parts"][0]["path"]
        assert opened.count(f"{SECOND}/{part}") == 1

    def test_failing(self, tmp_path: Path) -> None:
        """A store that fails at any moment is no finding: it raises, and the same command may be retried."""
        root = events(tmp_path).finish()
        working = in_memory(root)
        validate(working, depth="full")
        done = [(o.kind, o.number) for o in working.operations]

        assert len(done) > 10
        for kind, number in done:
            failing = in_memory(root, fail_before(kind, number, DestinationUnavailable("throttled")))
            with pytest.raises(DestinationUnavailable, match="throttled"):
                validate(failing, depth="full")

    def test_failing_while_others_wait(self, tmp_path: Path) -> None:
        """A failure ends it though other requests still wait for a store that does not answer."""
        closed, asked = threading.Event(), threading.Semaphore(0)

        def before(operation: Operation) -> None:
            if operation.name == f"{SECOND}/manifest.json":
                asked.release()
                closed.wait()
            if operation.name == f"{FIRST}/manifest.json":
                asked.acquire()
                raise DestinationUnavailable("throttled")

        destination = in_memory(events(tmp_path).finish(), before)
        try:
            with pytest.raises(DestinationUnavailable, match="throttled"):
                validate(destination)
            assert not closed.is_set()
        finally:
            closed.set()

    @pytest.mark.parametrize("depth", DEPTHS)
    def test_failing_inside_a_file(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, depth: str) -> None:
        """A store that fails while Parquet is read raises too, through all layers of the reader."""
        import io

        root = events(tmp_path).finish()

        class Torn(io.BytesIO):
            def read(self, size: int | None = -1, /) -> bytes:
                data = super().read(size)
                if data.startswith(b"PAR1") or data.endswith(b"PAR1"):
                    raise DestinationUnavailable("throttled")
                return data

        destination = in_memory(root)
        monkeypatch.setattr(destination, "open", lambda name, _=None: Torn(destination.objects[name]))

        with pytest.raises(DestinationUnavailable, match="throttled"):
            validate(destination, depth=depth)  # type: ignore[arg-type]
