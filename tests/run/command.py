"""Runs the command in this process as a shell does, and looks at the disk around it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml

from rivet.cli.main import run_command_line
from rivet.cli.signals import Stop
from tests.run.running import QuotingDumper


@dataclass(frozen=True)
class Told:
    """What a command gave back and said.

    Attributes:
        document: Standard output, read as the one JSON document that it must be; None where it is empty.
        lines: Standard error.
    """

    exit_code: int
    document: dict[str, Any] | None
    lines: list[str]

    @property
    def exports(self) -> list[dict[str, Any]]:
        """Give the outcomes of the exports."""
        assert self.document is not None
        return list(self.document["exports"])

    @property
    def errors(self) -> list[str]:
        """Give the lines of errors and their mends."""
        return [line for line in self.lines if line.startswith(("Error: ", "Hint: "))]


def run_command(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Told:
    """Run the command with arguments in this process, which keeps its signals."""
    exit_code = run_command_line([str(a) for a in arguments], Stop())
    told = capsys.readouterr()
    document = json.loads(told.out) if told.out else None
    assert document is None or document["exit_code"] == exit_code
    assert "Traceback" not in told.err
    return Told(exit_code, document, told.err.splitlines())


def write_config(
    directory: Path, source: Mapping[str, Any], *exports: Mapping[str, Any], **more: Any
) -> Path:
    """Write a config into a directory and give its path."""
    path = directory / "rivet.yaml"
    config = {"source": dict(source), "exports": [dict(e) for e in exports], **more}
    path.write_text(yaml.dump(config, Dumper=QuotingDumper, allow_unicode=True), encoding="utf-8")
    return path


def picture(directory: Path) -> dict[str, tuple[int, int, int, bytes]]:
    """Give all that a directory holds: mode, inode, time of the last change, and the bytes of files."""
    paths = [directory, *directory.rglob("*")]
    return {
        str(path.relative_to(directory)): (
            path.stat().st_mode,
            path.stat().st_ino,
            path.stat().st_mtime_ns,
            path.read_bytes() if path.is_file() else b"",
        )
        for path in paths
    }
