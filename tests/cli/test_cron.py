"""The command lines of docs/cron.md, taken from the page and run as a scheduler runs them."""

from __future__ import annotations

import configparser
import json
import re
import shlex
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

from rivet.lock.holder import Holder
from rivet.lock.process import Process
from tests.cli.conftest import REPOSITORY
from tests.servers.database import Database

PAGE = (REPOSITORY / "docs" / "cron.md").read_text(encoding="utf-8")
ROWS = 5
# What cron gives a job (crontab(5)); systemd gives no more.
BARE = {"PATH": "/usr/bin:/bin", "SHELL": "/bin/sh", "LOGNAME": "rivet"}


@dataclass(frozen=True)
class Machine:
    """The places that the page assumes, under a directory of the test."""

    root: Path
    database: Database

    def here(self, text: str) -> str:
        """Put this machine's places into a text of the page."""
        return re.sub(
            r"(?<![\w./])/(?=(usr/local|etc/rivet|srv/export|var/lib/rivet)\b)", f"{self.root}/", text
        )

    def run(self, *command: str, **variables: str) -> subprocess.CompletedProcess[bytes]:
        """Run a command with a bare environment, in the root directory, without terminal or input."""
        return subprocess.run(
            command,
            env={**BARE, "HOME": f"{self.root}/var/lib/rivet", **variables},
            cwd="/",
            stdin=subprocess.DEVNULL,
            capture_output=True,
            start_new_session=True,
            check=False,
        )

    @property
    def summary(self) -> dict[str, object]:
        """Read the summary of the last run."""
        summary = json.loads((self.root / "var/lib/rivet/events.json").read_bytes())
        assert isinstance(summary, dict)
        return summary

    @property
    def partitions(self) -> list[str]:
        """List the partitions that landed."""
        return sorted(p.name for p in (self.root / "srv/export/events").glob("*=*"))


@pytest.fixture
def machine(tmp_path: Path, postgres_database: Database) -> Machine:
    """Give a machine that is set up as the page says, with a database of its own."""
    machine = Machine(tmp_path, postgres_database)
    for folder in ("usr/local/bin", "etc/rivet", "srv/export", "var/lib/rivet"):
        (tmp_path / folder).mkdir(parents=True)
    command = tmp_path / "usr/local/bin/rivet"
    command.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(REPOSITORY)!r})\n"
        "from rivet.cli.main import main\nsys.exit(main())\n"
    )
    command.chmod(0o755)
    config = machine.here(block("yaml"))
    (tmp_path / "etc/rivet/events.yaml").write_text(config)
    secrets = re.sub(r"'.*'", lambda _: f"'{postgres_database.url}'", block("sh"))
    (tmp_path / "etc/rivet/rivet.env").write_text(secrets)
    postgres_database.execute("CREATE TABLE events (id int PRIMARY KEY, created_at timestamptz)")
    postgres_database.execute(
        "INSERT INTO events SELECT n, '2023-01-01'::timestamptz + n * interval '12 hours'"
        f" FROM generate_series(1, {ROWS}) n"
    )
    return machine


def block(language: str, number: int = 0) -> str:
    """Give a code block of the page."""
    blocks: list[str] = re.findall(rf"```{language}\n(.*?)```", PAGE, re.DOTALL)
    return blocks[number]


def crontab_command() -> str:
    """Give the command of the crontab line, as cron would: what stands behind five fields."""
    (line,) = block("crontab").splitlines()
    command = line.split(None, 5)[5]
    assert "%" not in command  # cron would end the line there
    return command


def unit(number: int) -> configparser.ConfigParser:
    """Read a unit of the page."""
    parser = configparser.ConfigParser(interpolation=None, strict=True)
    parser.optionxform = str  # type: ignore[assignment,method-assign]
    parser.read_string(block("ini", number))
    return parser


def service_command(machine: Machine) -> tuple[list[str], dict[str, str]]:
    """Give the service's command and the variables of its file, as systemd would read them."""
    service = unit(0)["Service"]
    lines = Path(machine.here(service["EnvironmentFile"])).read_text().splitlines()
    variables = dict(shlex.split(line)[0].split("=", 1) for line in lines)
    return shlex.split(machine.here(service["ExecStart"])), variables


def test_the_crontab_line_exports(machine: Machine) -> None:
    """Cron's shell, with cron's environment, exports everything, prints nothing, and leaves the summary."""
    ended = machine.run("/bin/sh", "-c", machine.here(crontab_command()))

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    assert machine.partitions == [f"created_date=2023-01-0{day}" for day in (1, 2, 3)]
    assert machine.summary["exit_code"] == 0


def test_the_crontab_line_mails_what_went_wrong(machine: Machine) -> None:
    """A run that fails prints its error and its mend, and its exit code is in the summary."""
    machine.database.execute("DROP TABLE events")

    ended = machine.run("/bin/sh", "-c", machine.here(crontab_command()))

    assert ended.returncode == machine.summary["exit_code"] == 2
    assert ended.stderr.startswith(b"Error: events: ")
    assert ended.stdout == b""
    assert machine.partitions == []


def test_the_crontab_line_does_not_run_twice_at_once(machine: Machine) -> None:
    """While a run holds the lock, a second one exits 5, says whose it is, and touches nothing."""
    holder = Holder("20230102T030405Z-0123abcd", Process("db1", 7), "2023-01-02T03:04:05Z", "", "token")
    lock = machine.root / "srv/export/events/_rivet_lock.json"
    lock.parent.mkdir()
    lock.write_bytes(holder.encode())

    ended = machine.run("/bin/sh", "-c", machine.here(crontab_command()))

    assert ended.returncode == machine.summary["exit_code"] == 5
    assert b"run '20230102T030405Z-0123abcd' on host 'db1', process 7" in ended.stderr
    assert b"--wait SECONDS" in ended.stderr
    assert machine.partitions == []
    assert lock.read_bytes() == holder.encode()


def test_the_service_exports(machine: Machine) -> None:
    """The service's command, with the variables of its file only, exports everything."""
    command, variables = service_command(machine)

    ended = machine.run(*command, **variables)

    assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"", b"")
    assert machine.partitions == [f"created_date=2023-01-0{day}" for day in (1, 2, 3)]
    assert machine.summary["exit_code"] == 0


def test_the_service_fails_with_json_lines(machine: Machine) -> None:
    """What a failed service leaves in the journal is JSON, line by line."""
    machine.database.execute("DROP TABLE events")
    command, variables = service_command(machine)

    ended = machine.run(*command, **variables)

    assert ended.returncode == 2
    assert [json.loads(line)["facts"]["exit_code"] for line in ended.stderr.splitlines()] == [2]


def test_a_command_without_any_stream_exports(machine: Machine) -> None:
    """Not even closed descriptors keep a scheduled run from exporting."""
    command, variables = service_command(machine)

    ended = machine.run("/bin/sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *command, **variables)

    assert ended.returncode == machine.summary["exit_code"] == 0


def test_the_units_are_what_systemd_reads(machine: Machine) -> None:
    """The init system itself finds nothing wrong with the service and the timer."""
    analyze = shutil.which("systemd-analyze")
    if analyze is None:
        pytest.skip("systemd-analyze is not installed")
    files = []
    for number, name in enumerate(("rivet-events.service", "rivet-events.timer")):
        files.append(machine.root / name)
        files[-1].write_text(machine.here(block("ini", number)).replace("User=rivet\n", ""))

    ended = subprocess.run([analyze, "verify", *files], capture_output=True, check=False)

    assert (ended.returncode, ended.stderr) == (0, b"")


def test_only_what_may_succeed_again_is_tried_again() -> None:
    """The service is restarted after exit code 3 and after no other of Rivet's codes."""
    service = unit(0)["Service"]

    assert service["Restart"] == "on-failure"
    assert set(service["RestartPreventExitStatus"].split()) == {"1", "2", "4", "5", "130"}
