"""Writes the tables of `docs/types.md` from the cases that are tested: `python -m tests.types.mapping`."""

from __future__ import annotations

import importlib
import re
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from tests.types.cases import Case, Engine

DOCUMENT = Path(__file__).parents[2] / "docs" / "types.md"
_MODULES = ("postgres_cases", "mysql_cases", "sqlite_cases")
_BEGIN = "<!-- Made by `python -m tests.types.mapping` from the cases that the tests export. -->"
_END = "<!-- End of what was made. -->"
_MADE = re.compile(f"{re.escape(_BEGIN)}.*{re.escape(_END)}", re.DOTALL)
_ARRIVES = {"exact": "exact", "text": "its exact text", "lossy": "exact, or the run fails"}


def engines() -> list[Engine]:
    """Give the tables of cases, in the order of the docs."""
    return [importlib.import_module(f"tests.types.{name}").ENGINE for name in _MODULES]


def mapped(document: str) -> str:
    """Give the document with its tables made anew."""
    made = "\n\n".join([_BEGIN, *(_section(engine) for engine in engines()), _END])
    return _MADE.sub(lambda _: made, document)


def _section(engine: Engine) -> str:
    shown = [case for case in engine.cases if case.shown != ""]
    own = [case for case in shown if case.override is None]
    wanted = [case for case in shown if case.override is not None]
    lines = [f"## {engine.heading}", "", "| type | in Parquet | arrives |", "|---|---|---|", *_rows(own)]
    if wanted:
        lines += ["", "By `columns` in the config:", ""]
        lines += ["| type | `columns` | in Parquet | arrives |", "|---|---|---|---|", *_wanted_rows(wanted)]
    return "\n".join(lines)


def _rows(cases: list[Case]) -> Iterator[str]:
    for (becomes, arrives), group in groupby(cases, lambda c: (_becomes(c), _arrives(c))):
        yield f"| {', '.join(_shown(c) for c in group)} | {becomes} | {arrives} |"


def _wanted_rows(cases: list[Case]) -> Iterator[str]:
    for (override, becomes, arrives), group in groupby(
        sorted(cases, key=_override), lambda c: (_override(c), _becomes(c), _arrives(c))
    ):
        types = dict.fromkeys(_shown(c) for c in group)
        yield f"| {', '.join(types)} | `{override}` | {becomes} | {arrives} |"


def _shown(case: Case) -> str:
    return case.type if case.shown is None else case.shown


def _becomes(case: Case) -> str:
    """Write what a case becomes; one whose digits stand for any becomes a decimal of any."""
    is_any = "(p,s)" in _shown(case)
    return f"`{re.sub(r'[(][0-9]+,[0-9]+[)]', '(p,s)', case.becomes) if is_any else case.becomes}`"


def _arrives(case: Case) -> str:
    return _ARRIVES[case.fidelity] + (f"; {case.note}" if case.note else "")


def _override(case: Case) -> str:
    if isinstance(case.override, str):
        return case.override
    return "{" + ", ".join(f"{key}: {value}" for key, value in (case.override or {}).items()) + "}"


if __name__ == "__main__":
    DOCUMENT.write_text(mapped(DOCUMENT.read_text(encoding="utf-8")), encoding="utf-8")
