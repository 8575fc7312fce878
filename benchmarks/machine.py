"""Describes the machine that a bench runs on: nothing measured means much without it."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_PACKAGES = ("rivet-export", "pyarrow", "asyncpg", "asyncmy", "uvloop", "duckdb")


def machine(trees: Path) -> dict[str, Any]:
    """Describe the machine, the file systems that hold trees and servers, and the programs' versions."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return {
        "cores": cores,
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "cpu": _first(r"model name\s*: (.*)", "/proc/cpuinfo") or platform.processor() or platform.machine(),
        "kernel": f"{platform.system()} {platform.release()}",
        "trees_on": _file_system(trees),
        "servers_on": _file_system(Path(tempfile.gettempdir())),
        "load": os.getloadavg(),
        "versions": {"Python": platform.python_version()} | {name: _version(name) for name in _PACKAGES},
    }


def machine_text(facts: Mapping[str, Any]) -> str:
    """Tell the machine, with a warning where it has other work."""
    load = facts["load"]
    versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
    lines = [
        f"machine   {facts['cores']} cores, {facts['memory_bytes'] / 1e9:.1f} GB, {facts['cpu']}",
        f"system    {facts['kernel']}, trees on {facts['trees_on']}, servers on {facts['servers_on']}",
        f"versions  {versions}",
        f"load      {' '.join(f'{average:.2f}' for average in load)}",
    ]
    if load[0] > 0.25 * facts["cores"]:
        lines.append("warning: this machine has other work to do; the times below are not to be quoted")
    return "\n".join(lines)


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "not installed"


def _first(pattern: str, file: str) -> str | None:
    path = Path(file)
    match = re.search(pattern, path.read_text(encoding="utf-8")) if path.exists() else None
    return match[1] if match else None


def _file_system(path: Path) -> str:
    """Name the type of the file system of a path: that of the longest mount point above it."""
    mounts = Path("/proc/self/mounts")
    if not mounts.exists():
        return "unknown"
    words = [line.split() for line in mounts.read_text(encoding="utf-8").splitlines()]
    above = [(len(point), kind) for _, point, kind, *_ in words if path.resolve().is_relative_to(point)]
    return max(above)[1]
