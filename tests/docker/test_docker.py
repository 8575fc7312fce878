"""The files for people who have Docker agree with the project; no Docker is needed to see it."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.run.buckets import Bucket
from tests.run.command import run_command
from tests.servers.database import Database
from tests.servers.gcs import GcsServer
from tests.servers.s3 import S3Server

DOCKER = Path(__file__).parents[2] / "docker"
HOME = DOCKER.parent
PROJECT = tomllib.loads((HOME / "pyproject.toml").read_text(encoding="utf-8"))["project"]


def instructions() -> list[tuple[str, str]]:
    """List the Dockerfile's instructions, each with the rest of its line."""
    lines = (DOCKER / "Dockerfile").read_text(encoding="utf-8").splitlines()
    words = [line.split(maxsplit=1) for line in lines if line and not line.startswith("#")]
    return [(word, rest) for word, rest in words]


def services() -> dict[str, dict[str, Any]]:
    """Give the services of the compose file."""
    found: dict[str, dict[str, Any]] = yaml.safe_load((DOCKER / "compose.yaml").read_text())["services"]
    return found


def test_the_image_is_built_from_what_there_is() -> None:
    """What the Dockerfile copies exists, is all that the builder is sent, and suffices for the package."""
    copied: set[str] = set()
    for word, rest in instructions():
        if word == "COPY" and not rest.startswith("--from"):
            copied.update(name.rstrip("/") for name in rest.split()[:-1])
    assert all((HOME / name).exists() for name in copied)
    assert any("'/src[s3,gcs]'" in rest for word, rest in instructions() if word == "RUN")
    assert {"pyproject.toml", "rivet", PROJECT["readme"], *PROJECT["license-files"]} <= copied
    sent = (DOCKER / "Dockerfile.dockerignore").read_text(encoding="utf-8").splitlines()
    assert copied == {line[1:] for line in sent if line.startswith("!")}


def test_the_image_runs_the_command_as_nobody_special() -> None:
    """The user is not root, the entry point is the project's command, Python is new enough."""
    last = dict(instructions())
    assert last["USER"] not in ("root", "0")
    assert json.loads(last["ENTRYPOINT"]) == list(PROJECT["scripts"])
    oldest = tuple(map(int, PROJECT["requires-python"].removeprefix(">=").split(".")))
    for word, rest in instructions():
        if word == "FROM":
            match = re.fullmatch(r"python:(\d+)\.(\d+)-slim( AS \w+)?", rest)
            assert match is not None
            assert (int(match[1]), int(match[2])) >= oldest


def test_the_servers_listen_on_this_machine_only() -> None:
    """Servers whose passwords are written in a file are not reachable from outside."""
    ports = [port for service in services().values() for port in service.get("ports", [])]
    assert len(ports) == len({port.split(":")[1] for port in ports})
    assert all(port.startswith("127.0.0.1:") for port in ports)


def test_every_kind_of_source_and_destination_is_there() -> None:
    """The compose file has each server that Rivet speaks to, at a version that does not move by itself."""
    assert {"postgres", "mysql", "mariadb", "s3", "gcs", "rivet"} == set(services())
    images = [service["image"] for service in services().values() if "image" in service]
    assert all(re.search(r":\d", image) for image in images)


def test_the_files_that_services_mount_exist() -> None:
    """Nothing that a service mounts or builds from is missing, and the S3 accounts are JSON."""
    for service in services().values():
        for volume in service.get("volumes", []):
            assert (DOCKER / volume.split(":")[0]).exists()
    build = services()["rivet"]["build"]
    assert (DOCKER / build["context"] / build["dockerfile"]).samefile(DOCKER / "Dockerfile")
    assert json.loads((DOCKER / "s3.json").read_text())["identities"]


def test_what_the_compose_file_is_tried_with_exports(
    tmp_path: Path,
    postgres_database: Database,
    s3: S3Server,
    gcs: GcsServer,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The config beside it exports the table beside it to a directory and to buckets of both stores."""
    postgres_database.execute((DOCKER / "events.sql").read_text(encoding="utf-8"))
    given = services()["rivet"]["environment"]
    (account,) = json.loads((DOCKER / "s3.json").read_text())["identities"]
    (key,) = account["credentials"]
    assert (given["AWS_ACCESS_KEY_ID"], given["AWS_SECRET_ACCESS_KEY"]) == (
        key["accessKey"],
        key["secretKey"],
    )
    monkeypatch.setenv("DATABASE_URL", postgres_database.url)
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", s3.account.access_key)
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", s3.account.secret_key)
    text = (DOCKER / "rivet.yaml").read_text(encoding="utf-8")
    for stated, here in (
        ("http://127.0.0.1:8333", s3.endpoint_url),
        ("http://127.0.0.1:4443", gcs.endpoint_url),
    ):
        assert stated.rpartition(":")[2] in [
            port.split(":")[1] for service in services().values() for port in service.get("ports", [])
        ]
        text = text.replace(stated, here)
    config = tmp_path / "docker" / "rivet.yaml"
    config.parent.mkdir()
    with s3.fresh_bucket() as one, gcs.fresh_bucket() as other:
        one_text, _, other_text = text.partition("events-gcs")
        named = [one_text.replace("lake", one.name), other_text.replace("lake", other.name)]
        config.write_text("events-gcs".join(named), encoding="utf-8")

        told = run_command(capsys, "run", "--config", config, "--json")

        buckets: list[Bucket] = [one, other]
        assert all(len(bucket.keys("events/created_date=")) == 11 * 3 for bucket in buckets)
    assert told.exit_code == 0
    assert len(list((tmp_path / "out" / "events").glob("created_date=*/_SUCCESS"))) == 11
