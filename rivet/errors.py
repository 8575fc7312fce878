"""The tree of errors that Rivet raises on purpose; anything else that escapes is a bug.

    RivetError                          exit 1
    ├─ ConfigError(problems)            exit 2   fix the config or the command line
    ├─ PlanError                        exit 2   the data or the limits must change first
    ├─ SourceError                      exit 2
    │   ├─ SourceUnavailable            exit 3   the same command may be tried again
    │   │   └─ SourceStopped            exit 3   but not at once: a limit, a statement that was killed
    │   ├─ SourceDenied                 exit 2   credentials, rights, TLS
    │   └─ ColumnError                  exit 2   a column or a value that cannot be exported as it is
    ├─ DestinationError                 exit 2
    │   ├─ DestinationUnavailable       exit 3   disk full, unreachable, throttled
    │   ├─ DestinationDenied            exit 2   rights, read-only
    │   ├─ NoConditionalWrites          exit 2   the store cannot keep two writers apart
    │   └─ ObjectNotFound               exit 2
    ├─ SpillUnavailable                 exit 3   no room here for what waits to be sorted
    ├─ IntegrityError                   exit 4   what landed or would land is wrong
    ├─ LedgerError                      exit 2   the history of runs; a run goes on without it
    │   └─ LedgerUnavailable            exit 3
    ├─ LockHeld                         exit 5   another run is at work
    │   └─ LockLost                     exit 5   another run has taken this one's place
    └─ Interrupted                      exit 130

Pure. Edges translate every driver's or SDK's error into one of these; the cli turns `exit_code` into the
process's exit code and prints `str(error)` and `hint`. No message holds a secret.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar


class RivetError(Exception):
    """Base of every error that Rivet raises on purpose."""

    exit_code: ClassVar[int] = 1

    def __init__(self, message: str, *, hint: str | None = None) -> None:
        super().__init__(message)
        self.hint = hint


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing that is wrong with a config.

    Attributes:
        path: Where it stands, such as `$.exports[0].partition_by`.
        message: What was found and what is wrong with it.
        hint: The mend, or None where the message says it.
    """

    path: str
    message: str
    hint: str | None = None

    def __str__(self) -> str:
        return f"{self.path}: {self.message}"


class ConfigError(RivetError):
    """The config or the command line must change first."""

    exit_code = 2

    def __init__(self, problems: Sequence[Problem] | str, *, hint: str | None = None) -> None:
        """Carry either a list of problems, each with its own path, or one plain message."""
        self.problems: tuple[Problem, ...] = () if isinstance(problems, str) else tuple(problems)
        text = problems if isinstance(problems, str) else "\n".join(str(p) for p in problems)
        super().__init__(text, hint=hint)


class PlanError(RivetError):
    """The export cannot be planned: the data, a limit or the tree at the root stands against it."""

    exit_code = 2


class SourceError(RivetError):
    """The source refused or cannot serve the export; the config or the data must change first."""

    exit_code = 2


class SourceUnavailable(SourceError):
    """The source failed in a way that may pass: unreachable, reset, timed out, cut off."""

    exit_code = 3


class SourceStopped(SourceUnavailable):
    """The source ended it by a limit, by hand or for want of room, and at once would do so again."""


class SourceDenied(SourceError):
    """The source refused the credentials, the rights or the security of the connection."""


class ColumnError(SourceError):
    """A column or a value in it cannot be exported as it is; the message names the column."""


class DestinationError(RivetError):
    """The destination refused; the config or the place must change first."""

    exit_code = 2


class DestinationUnavailable(DestinationError):
    """The destination failed in a way that may pass: disk full, quota, unreachable, throttled."""

    exit_code = 3


class DestinationDenied(DestinationError):
    """The destination refused the rights that are needed."""


class NoConditionalWrites(DestinationError):
    """The store writes whatever a condition says, or takes none."""


class ObjectNotFound(DestinationError):
    """Nothing stands under that name."""


class SpillUnavailable(RivetError):
    """The temporary files of a sort cannot be written or read on this side."""

    exit_code = 3


class IntegrityError(RivetError):
    """What landed, or would land, is not what the source said or the manifest claims."""

    exit_code = 4


class LedgerError(RivetError):
    """The ledger cannot be used as it is; a run warns and goes on, and only `history` fails."""

    exit_code = 2


class LedgerUnavailable(LedgerError):
    """The ledger failed in a way that may pass: unreachable, locked, a full disk."""

    exit_code = 3


class LockHeld(RivetError):
    """Another run is at work on this export."""

    exit_code = 5


class LockLost(LockHeld):
    """Another run has taken this one's place, which must publish nothing more."""


class Interrupted(RivetError):
    """The run was asked to stop by a signal."""

    exit_code = 130
