"""What a config alone shows to be wrong is refused before any connection, and nothing is touched."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.run.command import picture, run_command, write_config
from tests.run.running import by_day

EXPORT = "$.exports[0]"


@pytest.fixture
def server() -> Iterator[socket.socket]:
    """Listen where a database might, to see whether anybody comes."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(0)
        yield listening


def _local(path: str) -> dict[str, Any]:
    return {"destination": {"type": "local", "path": path}}


# What the first export states, the path of the problem, and a part of its words.
CASES: dict[str, tuple[dict[str, Any], str, str]] = {
    "no {partition}": (_local("./out"), f"{EXPORT}.partition_by", "needs {partition}"),
    "no partition_by": ({"partition_by": None}, f"{EXPORT}.destination.path", "no partition_by"),
    "time_window": ({"mode": "time_window"}, f"{EXPORT}.mode", "found 'time_window', expected one of full"),
    "unknown key": ({"partiton_key": "day"}, f"{EXPORT}.partiton_key", "unknown key"),
    "older tool": ({"chunk_dense": True}, f"{EXPORT}.chunk_dense", "older tool"),
    "later version": ({"old_parts_seconds": 5}, f"{EXPORT}.old_parts_seconds", "later version"),
    "a type": ({"columns": {"a": "jsn"}}, f"{EXPORT}.columns.a", "'jsn' is no type"),
    "a zone": ({"partition_timezone": "Berlin"}, f"{EXPORT}.partition_timezone", "'Berlin' is no zone"),
    "two queries": ({"query": "SELECT 1"}, f"{EXPORT}.query", "stands beside table"),
    "no query": ({"table": None}, EXPORT, "neither table"),
    "one name twice": ({"name": "other"}, "$.exports[1].name", "'other' is also the name of"),
    "one root": (_local("./other/{partition}"), "$.exports[1].destination.path", "that of $.exports[0]"),
    "a root inside": (_local("./other/in/{partition}"), f"{EXPORT}.destination.path", "that of $.exports[1]"),
    "an escape": ({"name": "../../etc/x"}, f"{EXPORT}.name", "a segment '..'"),
    "a hidden name": ({"name": "_events"}, f"{EXPORT}.name", "readers skip names"),
    "a hidden key": ({"partition_key": "_day"}, f"{EXPORT}.partition_key", "'_day' cannot"),
    "a hidden column": ({"partition_by": "_day"}, f"{EXPORT}.partition_by", "'_day' cannot"),
    "granularity": ({"partition_granularity": "dayly"}, f"{EXPORT}.partition_granularity", "'dayly'"),
    "variable": (_local("${env:NO_SUCH_NAME}/{partition}"), f"{EXPORT}.destination.path", "NO_SUCH_NAME"),
    "exclude": ({"exclude": ["created_at"]}, f"{EXPORT}.exclude", "leaves out"),
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_is_connected_or_touched(
    tmp_path: Path, server: socket.socket, capsys: pytest.CaptureFixture[str], case: str
) -> None:
    """Run, plan and check say where and what, with the mend, exit 2, and nobody came to the server."""
    changes, path, words = CASES[case]
    source = {"type": "postgres", "url": f"postgresql://rivet:pw@127.0.0.1:{server.getsockname()[1]}/shop"}
    export = by_day(tmp_path / "place" / "tree") | changes
    other = {"name": "other", "table": "others"} | _local("./other")
    config = write_config(tmp_path, source, export, other)
    before = picture(tmp_path)

    for command in ("run", "plan", "check"):
        told = run_command(capsys, command, "--config", config, "--json")

        assert (told.exit_code, told.exports) == (2, [])
        assert told.document is not None
        (problem,) = (e for e in told.document["errors"] if e["path"] == path)
        assert words in problem["message"]
        assert problem["hint"]
        assert f"Error: {path}: {problem['message']}" in told.errors
    assert picture(tmp_path) == before
    with pytest.raises(BlockingIOError):
        server.accept()
