"""What a variable puts into a query is told by nobody, though the server quotes it back."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.faults.planted import assert_no_secret
from tests.run.command import run_command, write_config
from tests.run.conftest import ENGINES, AnyDatabase

KEY = "Tr0ub4dor and more"
QUERIES = {
    "postgres": "SELECT id, '${env:KEY}'::int AS n FROM events",
    "mariadb": 'SELECT id FROM "${env:KEY}"',
    "sqlite": 'SELECT id FROM "${env:KEY}"',
}
"""The server refuses each with the value in its message; MariaDB has no such quotes."""


@pytest.mark.parametrize("engine", ENGINES)
def test_a_value_that_the_server_quotes_is_hidden(
    tmp_path: Path,
    database: AnyDatabase,
    engine: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Not in errors, not in documents, and not in the history."""
    monkeypatch.setenv("KEY", KEY)
    monkeypatch.setenv("LEDGER", f"sqlite:///{tmp_path}/ledger.db")
    database.execute("CREATE TABLE events (id int PRIMARY KEY); INSERT INTO events VALUES (1)")
    place = {"type": "local", "path": str(tmp_path / "tree")}
    good = {"name": "good", "table": "events", "destination": place | {"path": str(tmp_path / "good")}}
    secret = {"name": "secret", "query": QUERIES[engine], "destination": place}
    config = write_config(tmp_path, database.source, good, secret, state={"url_env": "LEDGER"})

    for command in ("run", "plan", "check", "history"):
        told = run_command(capsys, command, "--config", config, "--json")

        (outcome,) = (e for e in told.exports if e["name"] == "secret")
        assert outcome["exit_code"] == 2
        assert "***" in outcome["error"]
        assert_no_secret(*told.lines, str(told.document), secrets=(KEY,))
    assert_no_secret((tmp_path / "ledger.db").read_bytes(), secrets=(KEY,))
