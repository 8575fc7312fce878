"""What the README and the docs tell people to type is typed here, as it stands there."""

from __future__ import annotations

import datetime as dt
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import click
import duckdb
import pytest

from rivet.cli.commands import rivet
from tests.cli.conftest import REPOSITORY
from tests.run.trees import NULL
from tests.servers.database import Database
from tests.servers.postgres import PostgresServer

HERE = "tests/run/test_readme.py"
READERS = "tests/readers/test_docs.py"
PAGES = [
    "README.md",
    "CHANGELOG.md",
    "configs/README.md",
    "tests/README.md",
    "benchmarks/README.md",
    *sorted(str(path.relative_to(REPOSITORY)) for path in (REPOSITORY / "docs").glob("*.md")),
]
# Every code block of a page, and the test that runs it or holds it to what Rivet does.
BLOCKS = {
    "README.md": [
        (HERE, "test_the_tree_is_laid_out_as_the_readme_shows"),
        (HERE, "test_the_demo_runs_from_nothing"),  # and `make test` runs this
        ("tests/test_packaging.py", "test_the_installed_command_knows_its_version"),
        (HERE, "test_the_readme_can_be_followed"),
        (HERE, "test_the_readme_can_be_followed"),
        (HERE, "test_the_readme_can_be_followed"),
    ],
    "docs/cron.md": [
        ("tests/cli/test_cron.py", "machine"),
        ("tests/cli/test_cron.py", "machine"),
        ("tests/cli/test_cron.py", "test_the_crontab_line_exports"),
        ("tests/cli/test_cron.py", "test_the_service_exports"),
        ("tests/cli/test_cron.py", "test_the_units_are_what_systemd_reads"),
        (HERE, "test_the_last_run_can_be_looked_at"),
    ],
    "docs/manifest.md": [
        (HERE, "test_the_tree_is_laid_out_as_the_readme_shows"),
        *[("tests/manifest/test_codec.py", "docs")] * 3,
    ],
    "docs/readers.md": [
        (READERS, "test_the_layout_for_readers_is_read_as_printed"),
        (READERS, "test_the_layout_for_readers_is_read_as_printed"),
        (READERS, "test_the_defaults_are_read_as_printed"),
        (READERS, "test_a_key_with_signs_is_read_as_printed"),
        (READERS, "test_the_layout_for_readers_is_read_as_printed"),
        (READERS, "test_the_defaults_are_read_as_printed"),
        (READERS, "test_a_dropped_date_is_declared_as_printed"),
        (READERS, "test_the_layout_for_readers_is_read_as_printed"),
        (READERS, "test_the_defaults_are_read_as_printed"),
        (READERS, "test_a_key_with_signs_is_read_as_printed"),
        (READERS, "test_the_page_has_a_section_for_each_reader_and_every_option_that_a_check_names"),
        *[(READERS, "test_statements_of_the_services_name_what_lands")] * 4,
    ],
    "docs/stores.md": [("tests/run/test_stores.py", "test_the_lifecycle_rule_is_one")],
    "docs/types.md": [("tests/types/test_mapping.py", "test_the_pages_example_is_a_config")],
}


def _text(page: str) -> str:
    return (REPOSITORY / page).read_text(encoding="utf-8")


def _blocks(page: str) -> list[str]:
    return re.findall(r"^```\w*\n(.*?)^```", _text(page), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_every_block_of_code_is_held_to_by_a_test(page: str) -> None:
    """A block that is added to a page needs its test here, and a test that is named exists."""
    expected = BLOCKS.get(page, [])

    assert len(_blocks(page)) == len(expected)
    for file, name in expected:
        assert name in _text(file)


def _typed(words: str) -> list[str]:
    """List what is typed on a line or in words of code, without what a shell adds."""
    return re.findall(r"(?:^|`)((?:rivet|make) [^`\n]*)", words, re.MULTILINE)


@pytest.mark.parametrize("page", PAGES)
def test_every_command_line_is_one_that_the_command_takes(page: str) -> None:
    """`rivet` lines name commands and options that exist, and `make` lines name targets."""
    targets = re.findall(r"^([a-z-]+):.*## ", _text("Makefile"), re.MULTILINE)
    for line in _typed(_text(page)):
        program, name, *more = line.split()
        if program == "make":
            assert name in targets, line
            continue
        command = rivet.commands[name]
        options = {o for p in command.params if isinstance(p, click.Option) for o in p.opts}
        assert {word for word in more if word.startswith("--")} <= options, line


def _shell(command: str, directory: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a line as a person types it, with the command on PATH."""
    programs = directory / "bin"
    if not programs.exists():
        programs.mkdir()
        (programs / "rivet").write_text(
            f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(REPOSITORY)!r})\n"
            "from rivet.cli.main import main\nsys.exit(main())\n"
        )
        (programs / "rivet").chmod(0o755)
    environment = {"PATH": f"{programs}:{os.defpath}", "HOME": str(directory), "LC_ALL": "C.UTF-8"}
    return subprocess.run(
        ["sh", "-c", command],
        cwd=directory,
        env=environment | variables,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def _fill(database: Database) -> None:
    database.execute("CREATE TABLE events (id int PRIMARY KEY, created_at timestamptz)")
    database.execute(
        "INSERT INTO events VALUES (1, '2023-01-01 08:09:10.111213Z'), (2, '2023-01-01 23:00:00Z'), (3, NULL)"
    )


def _fetch(sql: str) -> list[tuple[str | None, ...]]:
    """Run a query of DuckDB and give its rows as text."""
    with duckdb.connect() as duck:
        duck.execute("SET TimeZone = 'UTC'")
        duck.execute(f"CREATE VIEW shown AS {sql}")
        return duck.execute("SELECT COLUMNS(*)::VARCHAR FROM shown").fetchall()


@pytest.fixture(scope="module")
def followed(postgres: PostgresServer, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Write the README's config, type its commands, each of which succeeds, and give the directory."""
    directory = tmp_path_factory.mktemp("readme")
    _, _, _, config, commands, _ = _blocks("README.md")
    (directory / "rivet.yaml").write_text(config)
    with postgres.fresh_database() as database:
        _fill(database)
        for line in commands.splitlines():
            ended = _shell(line, directory, DATABASE_URL=database.url)

            assert ended.returncode == 0, ended.stderr
            if line.split()[1] in ("check", "plan"):
                assert {path.name for path in directory.iterdir()} == {"bin", "rivet.yaml"}
    return directory


def test_the_readme_can_be_followed(followed: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Its config and commands work as printed, and its DuckDB query gives labels and full timestamps."""
    monkeypatch.chdir(followed)

    assert _fetch(_blocks("README.md")[5]) == [
        ("2023-01-01", "2023-01-01 08:09:10.111213+00", "2"),
        (None, None, "1"),
    ]
    # Into Python it comes with what the demo's environment has.
    with duckdb.connect() as duck:
        duck.execute("SET TimeZone = 'UTC'")
        fetched = duck.execute(_blocks("README.md")[5]).fetchall()
    moment = dt.datetime(2023, 1, 1, 8, 9, 10, 111213, tzinfo=dt.UTC)
    assert fetched == [(dt.date(2023, 1, 1), moment, 2), (None, None, 1)]


def test_what_the_demo_installs_is_here() -> None:
    """The examples run in the environment of the tests, which has no less than that of the demo."""
    extras = tomllib.loads(_text("pyproject.toml"))["project"]["optional-dependencies"]

    assert set(extras["demo"]) <= set(extras["test"])


def test_a_key_with_the_name_of_its_column_is_as_the_readme_says(
    tmp_path: Path, postgres_database: Database
) -> None:
    """Without `partition_key` run and check say that DuckDB shows the label; with the option it does not."""
    _fill(postgres_database)
    config = _blocks("README.md")[3]
    (tmp_path / "rivet.yaml").write_text(config.replace("    partition_key: created_date\n", ""))

    said = {
        "check": r"^  DuckDB +shows the label instead of 'created_at': ",
        "run": "DuckDB and Spark show the label instead of the value",
    }
    for command, words in said.items():
        ended = _shell(f"rivet {command} --config rivet.yaml", tmp_path, DATABASE_URL=postgres_database.url)
        assert ended.returncode == 0, ended.stderr
        assert len(re.findall(words, ended.stderr, re.MULTILINE)) == 1
        assert len(re.findall("DuckDB.* the label", ended.stderr)) == 1

    tree = f"'{tmp_path}/out/events/**/*.parquet'"
    for option, first in (("true", "2023-01-01"), ("false", "2023-01-01 08:09:10.111213+00")):
        sql = f"SELECT min(created_at) FROM read_parquet({tree}, hive_partitioning = {option})"
        assert _fetch(sql) == [(first,)]


def test_the_tree_is_laid_out_as_the_readme_shows(followed: Path) -> None:
    """The names in the pictures of README and manifest page are a real tree's, but for the run's id."""
    root = followed / "out" / "events"
    day, null = root / "created_date=2023-01-01", root / f"created_date={NULL}"
    (part,) = day.glob("*.parquet")
    names = [root.name + "/", "_rivet_export.json", day.name + "/", part.name, "manifest.json", "_SUCCESS"]

    assert {path.name for path in root.iterdir()} == {"_rivet_export.json", day.name, null.name}
    for page in ("README.md", "docs/manifest.md"):
        drawn = [line.split()[0] for line in _blocks(page)[0].splitlines()]
        drawn = [re.sub(r"\d{8}T\d{6}Z-[0-9a-f]{8}", "RUN", name) for name in drawn if name != "…"]
        expected = [re.sub(r"\d{8}T\d{6}Z-[0-9a-f]{8}", "RUN", name) for name in [*names, null.name + "/"]]
        assert drawn == expected


def test_the_last_run_can_be_looked_at(tmp_path: Path, postgres_database: Database) -> None:
    """The line of the cron page prints the exit code that stands in the summary."""
    _fill(postgres_database)
    (tmp_path / "rivet.yaml").write_text(_blocks("README.md")[3])
    summary = "/var/lib/rivet/events.json"
    line = _blocks("docs/cron.md")[5]
    assert summary in line

    run = f"rivet run --config rivet.yaml --quiet --summary-file {tmp_path}/events.json"
    _shell(run, tmp_path, DATABASE_URL=postgres_database.url)
    ended = _shell(line.replace(summary, f"{tmp_path}/events.json"), tmp_path, PATH=os.environ["PATH"])

    assert (ended.stdout, ended.stderr) == ("0\n", "")


def test_the_schema_is_printed(tmp_path: Path) -> None:
    """`rivet schema`, which the page of configs names, prints one JSON document and nothing else."""
    ended = _shell("rivet schema", tmp_path)

    assert (ended.returncode, ended.stderr) == (0, "")
    assert "exports" in json.loads(ended.stdout)["properties"]


def test_make_help_lists_what_the_pages_name() -> None:
    """`make help`, and `make` alone, list every target that a page tells people to make."""
    listed = {
        command: subprocess.run(
            ["make", "--no-print-directory", *command.split()],
            cwd=REPOSITORY,
            capture_output=True,
            encoding="utf-8",
            check=True,
        ).stdout
        for command in ("", "help")
    }

    assert listed[""] == listed["help"]
    for page in PAGES:
        for line in _typed(_text(page)):
            assert not line.startswith("make ") or f"make {line.split()[1]}" in listed["help"] + "make help"


def test_the_demo_runs_from_nothing(tmp_path: Path) -> None:
    """What `make demo` runs exports and validates, and ends with tree, totals and DuckDB's timestamps."""
    assert "\n\t@$(BIN)/python demo/demo.py\n" in _text("Makefile")
    shutil.copytree(REPOSITORY / "demo", tmp_path / "demo")
    environment = {"PATH": os.defpath, "PYTHONPATH": str(REPOSITORY), "LC_ALL": "C.UTF-8"}

    ended = subprocess.run(
        [sys.executable, "demo/demo.py"],
        cwd=tmp_path,
        env=environment,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )

    assert ended.returncode == 0, ended.stderr
    assert "created_date=2024-01-15/" in ended.stdout
    assert re.search(r"in the tree +240,000 +2,400 ", ended.stdout)
    assert re.search(r"2024-01-15 +│ +\d+ │ 2024-01-15 00:0\d:\d\d", ended.stdout)
    assert "stands both in the path and in the files" not in ended.stderr
