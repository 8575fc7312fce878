"""What a run leaves in the ledger, and what it does when it cannot; `rivet history`."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from rivet import TOOL
from rivet.cli import commands
from tests.cli.conftest import REAL, environment, finish
from tests.run.command import run_command, write_config
from tests.run.running import by_day
from tests.servers.database import Database
from tests.servers.sqlite import SqliteDatabase


@pytest.fixture(autouse=True)
def state_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give each test a state directory of its own, which is not yet there."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


@pytest.fixture
def events(sqlite_database: SqliteDatabase) -> SqliteDatabase:
    """Give a table of five rows on three days."""
    sqlite_database.execute("CREATE TABLE events (id integer PRIMARY KEY, created_at timestamp)")
    days = (1, 1, 2, 2, 3)
    for day in days:
        sqlite_database.execute(f"INSERT INTO events (created_at) VALUES ('2023-01-0{day} 10:00:00')")
    return sqlite_database


def _changes(entry: dict[str, Any]) -> list[tuple[str, str, int | None]]:
    return [(c["value"], c["change"], c["rows"]) for c in entry["changes"]]


def test_runs_are_shown_the_latest_first(
    events: SqliteDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Each run stands there with its numbers, and with the partitions that it published or removed."""
    config = write_config(tmp_path, events.source, by_day(tmp_path / "out"))
    first = run_command(capsys, "run", "--config", config, "--json").document
    events.execute("DELETE FROM events WHERE created_at LIKE '2023-01-02%'")
    events.execute("INSERT INTO events (created_at) VALUES ('2023-01-03 11:00:00')")
    second = run_command(capsys, "run", "--config", config, "--json").document
    assert first is not None
    assert second is not None

    told = run_command(capsys, "history", "--json")

    later, earlier = told.exports
    assert [later["run_id"], earlier["run_id"]] == [second["run_id"], first["run_id"]]
    assert _changes(earlier) == [(f"2023-01-0{d}", "written", n) for d, n in ((1, 2), (2, 2), (3, 1))]
    assert _changes(later) == [("2023-01-03", "written", 2), ("2023-01-02", "removed", None)]
    (outcome,) = second["exports"]
    same = {"name", "status", "exit_code", "rows", "null_rows", "bytes_written", "scans", "consistency"}
    same |= {"partitions", *(f"partitions_{what}" for what in ("written", "unchanged", "removed", "kept"))}
    same |= {"duration_seconds", "error", "hint"}
    assert {key: later[key] for key in same} == {key: outcome[key] for key in same}
    assert (later["started_at"], later["finished_at"]) == (second["started_at"], second["finished_at"])
    assert (later["tool"], later["run_exit_code"], later["pid"]) == (TOOL, 0, os.getpid())
    lines = run_command(capsys, "history").lines
    assert [line.split()[-1] for line in lines[2:]] == [second["run_id"], first["run_id"]]
    assert len(run_command(capsys, "history", "--limit", "1", "--json").exports) == 1


def test_a_merge_lists_the_partitions_that_it_published(
    events: SqliteDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`rivet compact` publishes, too, and leaves alone what no run has added to."""
    export = by_day(tmp_path / "out", mode="incremental", strategy="append", cursor_column="id")
    config = write_config(tmp_path, events.source, export)
    run_command(capsys, "run", "--config", config)
    events.execute("INSERT INTO events (created_at) VALUES ('2023-01-03 11:00:00')")
    run_command(capsys, "run", "--config", config)
    assert run_command(capsys, "compact", "--config", config).exit_code == 0

    latest = run_command(capsys, "history", "--json").exports[0]

    assert (latest["scans"], _changes(latest)) == (0, [("2023-01-03", "written", 2)])


def test_only_the_exports_of_a_config(
    events: SqliteDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a config, history has its exports by name and tree, not those of the same name elsewhere."""
    for place in ("a", "b"):
        (tmp_path / place).mkdir()
        write_config(tmp_path / place, events.source, by_day(tmp_path / place / "out"))
        run_command(capsys, "run", "--config", tmp_path / place / "rivet.yaml")
    config = tmp_path / "a" / "rivet.yaml"

    shown = run_command(capsys, "history", "--config", config, "--json").exports
    both = run_command(capsys, "history", "--export", "events", "--json").exports
    unknown = run_command(capsys, "history", "--config", config, "--export", "event")

    assert [entry["destination"] for entry in shown] == [str(tmp_path / "a" / "out")]
    assert len(both) == 2
    assert unknown.exit_code == 2
    assert unknown.errors == [
        "Error: --export: no export 'event' in the config",
        "Hint: did you mean 'events'?",
    ]


def test_nothing_is_made_before_the_first_scan(
    events: SqliteDatabase, tmp_path: Path, state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither plan, check, history, nor a refused run makes a ledger; one that is there holds the refusal."""
    config = write_config(tmp_path, events.source, by_day(tmp_path / "out"))
    for command in ("plan", "check", "history"):
        assert run_command(capsys, command, "--config", config).exit_code == 0
    refused = write_config(tmp_path, events.source, by_day(tmp_path / "out", table="gone"))
    assert run_command(capsys, "run", "--config", refused).exit_code == 2
    assert not state_directory.exists()
    assert run_command(capsys, "history").lines == [
        f"no history yet: there is no ledger in '{state_directory}/rivet/ledger.sqlite'"
    ]

    run_command(capsys, "run", "--config", write_config(tmp_path, events.source, by_day(tmp_path / "out")))
    write_config(tmp_path, events.source, by_day(tmp_path / "out", table="gone"))
    told = run_command(capsys, "run", "--config", refused, "--json").exports[0]

    latest = run_command(capsys, "history", "--json").exports[0]
    assert (latest["status"], latest["exit_code"], latest["run_exit_code"]) == ("failed", 2, 2)
    assert (latest["error"], latest["hint"]) == (told["error"], told["hint"])
    assert "failed (2)" in run_command(capsys, "history").lines[2]


@pytest.mark.parametrize(("table", "exit_code"), [("events", 0), ("gone", 2)])
def test_no_ledger_is_one_warning(
    events: SqliteDatabase,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    table: str,
    exit_code: int,
) -> None:
    """Where none can be made the run goes on, its exit code is its own, and document and lines warn once."""
    monkeypatch.setenv("XDG_STATE_HOME", "/dev/null")
    more = by_day(tmp_path / "more", name="more", table=table)
    config = write_config(tmp_path, events.source, by_day(tmp_path / "out"), more)

    told = run_command(capsys, "run", "--config", config, "--json")

    assert told.exit_code == exit_code
    assert told.document is not None
    (warning,) = told.document["warnings"]
    assert "'/dev/null/rivet/ledger.sqlite'" in warning
    assert sum(warning in line for line in told.lines) == 1
    assert run_command(capsys, "run", "--config", config, "--quiet").lines == told.errors


def test_a_damaged_ledger_is_told(
    events: SqliteDatabase, tmp_path: Path, state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """History fails with the file's name and the reason; a run goes on."""
    (state_directory / "rivet").mkdir(parents=True)
    ledger = state_directory / "rivet" / "ledger.sqlite"
    ledger.write_bytes(b"no database" * 99)
    config = write_config(tmp_path, events.source, by_day(tmp_path / "out"))

    assert run_command(capsys, "run", "--config", config).exit_code == 0
    told = run_command(capsys, "history")

    assert told.exit_code == 2
    assert told.errors[0] == f"Error: the ledger, '{ledger}': cannot read it: file is not a database"


def test_history_that_is_off(
    events: SqliteDatabase, tmp_path: Path, state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """With `state: off` a run leaves no ledger and says nothing of it; history says why there is none."""
    config = write_config(tmp_path, events.source, by_day(tmp_path / "out"), state="off")

    told = run_command(capsys, "run", "--config", config, "--json")

    assert told.document is not None
    assert (told.exit_code, told.document["warnings"]) == (0, [])
    assert not state_directory.exists()
    assert run_command(capsys, "history", "--config", config).exit_code == 2


def test_the_ledger_itself_can_be_exported(
    events: SqliteDatabase, tmp_path: Path, state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run whose source is the ledger's file does not change it meanwhile, and a warning says so."""
    run_command(capsys, "run", "--config", write_config(tmp_path, events.source, by_day(tmp_path / "out")))
    ledger = state_directory / "rivet" / "ledger.sqlite"
    before = ledger.read_bytes()
    runs = {
        "name": "runs",
        "table": "rivet_runs",
        "destination": {"type": "local", "path": f"{tmp_path}/runs/"},
    }

    told = run_command(
        capsys,
        "run",
        "--config",
        write_config(tmp_path, {"type": "sqlite", "path": str(ledger)}, runs),
        "--json",
    )

    assert told.document is not None
    assert (told.exit_code, told.exports[0]["rows"]) == (0, 1)
    assert "it is the source of this run" in told.document["warnings"][0]
    assert ledger.read_bytes() == before


@pytest.mark.parametrize("engine", ["postgres", "mariadb"])
def test_a_ledger_in_a_database(
    request: pytest.FixtureRequest,
    engine: str,
    events: SqliteDatabase,
    tmp_path: Path,
    state_directory: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`state.url_env` names any database; nothing of its URL is stored or told, and no file is made."""
    database: Database = request.getfixturevalue(f"{engine}_database")
    monkeypatch.setenv("LEDGER_URL", database.url)
    state = {"url_env": "LEDGER_URL"}
    config = write_config(tmp_path, events.source, by_day(tmp_path / "out"), state=state)

    assert run_command(capsys, "run", "--config", config).exit_code == 0

    (entry,) = run_command(capsys, "history", "--config", config, "--json").exports
    assert (entry["status"], entry["rows"], len(entry["changes"])) == ("complete", 5, 3)
    assert database.fetch("SELECT count(*) FROM rivet_partitions") == [(3,)]
    assert not state_directory.exists()


def test_no_secret_is_kept(
    postgres_database: Database, tmp_path: Path, state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Neither a run that succeeds nor one that fails leaves a password or a URL in the ledger."""
    postgres_database.execute("CREATE TABLE events (id int PRIMARY KEY, created_at timestamp)")
    postgres_database.execute("INSERT INTO events VALUES (1, '2023-01-01')")
    url = postgres_database.url
    for table in ("events", "gone"):
        source = {"type": "postgres", "url": url}
        run_command(
            capsys, "run", "--config", write_config(tmp_path, source, by_day(tmp_path / "out", table=table))
        )

    assert len(run_command(capsys, "history", "--json").exports) == 2
    held = (state_directory / "rivet" / "ledger.sqlite").read_bytes()
    password = url.split("://", 1)[1].split(":", 1)[1].rsplit("@", 1)[0]
    assert b"gone" in held
    assert password.encode() not in held
    assert b"://" not in held


KILLED = """
import os, signal, sys
from rivet.cli import lines
from rivet.ledger import keeper
told = lines.LineListener.__call__
def tell(self, event):
    if event.kind == "published":
        writing.join(60)
        os.kill(os.getpid(), signal.SIGKILL)
    told(self, event)
lines.LineListener.__call__ = tell
begin = keeper.Keeper.put
def put(self, *taken, **options):
    global writing
    begin(self, *taken, **options)
    self._tasks.put(None)
    writing = self._thread
keeper.Keeper.put = put
from rivet.cli.main import main
sys.exit(main())
"""


def test_a_killed_run_is_unfinished(
    events: SqliteDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A run that was killed after its scan began stands there, begun and never ended."""
    config = write_config(tmp_path, events.source, by_day(tmp_path / "out"))
    command = [sys.executable, "-c", KILLED, "run", "--config", str(config)]
    assert subprocess.run(command, check=False, capture_output=True).returncode == -signal.SIGKILL

    (entry,) = run_command(capsys, "history", "--json").exports

    assert (entry["status"], entry["exit_code"], entry["run_exit_code"]) == ("unfinished", None, None)
    assert entry["finished_at"] is None
    assert " unfinished " in run_command(capsys, "history").lines[2]


def test_no_name_steers_the_terminal(
    events: SqliteDatabase, tmp_path: Path, state_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What stands in a ledger is shown with its control characters escaped, whoever wrote it there."""
    run_command(capsys, "run", "--config", write_config(tmp_path, events.source, by_day(tmp_path / "out")))
    ledger = SqliteDatabase(state_directory / "rivet" / "ledger.sqlite")
    ledger.execute("UPDATE rivet_exports SET name = 'x' || char(27) || '[2J', error = 'a' || char(10) || 'b'")

    lines = run_command(capsys, "history").lines

    assert not any("\x1b" in line for line in lines)
    assert "x\\x1b[2J" in lines[2]
    assert lines[3].endswith("a\\nb")


def test_other_commands_do_not_wait_for_the_ledger(tmp_path: Path) -> None:
    """Neither help nor a refused config imports SQLAlchemy, which takes its time."""
    program = "import sys; from rivet.cli.main import main; main(); sys.exit('sqlalchemy' in sys.modules)"
    (tmp_path / "rivet.yaml").write_text("exports: 1")
    for words in (["--help"], ["history", "--help"], ["run", "--config", str(tmp_path / "rivet.yaml")]):
        assert finish(sys.executable, "-c", program, *words).returncode == 0


def test_the_ledger_of_a_user(events: SqliteDatabase, tmp_path: Path) -> None:
    """Where the environment has no more than HOME, as under cron, the ledger lies below it."""
    config = write_config(tmp_path, events.source, by_day(tmp_path / "out"))
    variables = environment(HOME=str(tmp_path / "home"))
    del variables["XDG_STATE_HOME"]

    assert finish(*REAL, "run", "--config", str(config), env=variables).returncode == 0
    assert (tmp_path / "home/.local/state/rivet/ledger.sqlite").is_file()


def test_the_page_shows_what_history_prints(
    events: SqliteDatabase, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The picture in docs/history.md has the header of the table, and the options are those there are."""
    page = (Path(__file__).parents[2] / "docs" / "history.md").read_text(encoding="utf-8")
    run_command(capsys, "run", "--config", write_config(tmp_path, events.source, by_day(tmp_path / "out")))

    header = run_command(capsys, "history").lines[1].split()

    (drawn,) = [line for line in page.splitlines() if "started (UTC)" in line]
    assert drawn.split() == header
    options = {o for p in commands.rivet.commands["history"].params for o in p.opts}
    assert all(f"| `{option}" in page for option in options)
