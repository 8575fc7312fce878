"""The file of `--summary-file`: checked before the run begins, replaced in one step when it has ended."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from rivet.errors import ConfigError, DestinationUnavailable

HINT = "name a file in a directory that exists and that this user may write to"
_ELSEWHERE = "name a file of its own, outside the trees that the config names"


@dataclass(frozen=True, slots=True)
class SummaryFile:
    """A file that holds the old document or the new one, never half of one.

    What is no regular file, such as /dev/stderr or a named pipe, is written to and not replaced.
    """

    name: str

    def check(self, *, outside: Iterable[Path] = (), unlike: Iterable[Path] = ()) -> None:
        """Prove that the file can be written and stands in nobody's place, leaving nothing behind.

        Args:
            outside: Directories that hold something else, at any depth.
            unlike: Files that are something else.

        Raises:
            ConfigError: It cannot, or it does.
        """
        if not self.name:
            raise ConfigError("--summary-file: the name is empty", hint=HINT)
        for directory in outside:
            if self._target().is_relative_to(os.path.realpath(directory)):
                raise ConfigError(
                    f"--summary-file: {self.name!r} lies inside {str(directory)!r}, the root of an export",
                    hint=_ELSEWHERE,
                )
        for file in unlike:
            if self._target() == Path(os.path.realpath(file)):
                raise ConfigError(
                    f"--summary-file: {self.name!r} is the config, or a file that it names", hint=_ELSEWHERE
                )
        try:
            if not self._is_special():
                os.close(self._create(temporary := self._temporary()))
                temporary.unlink()
        except OSError as exc:
            raise ConfigError(
                f"--summary-file: cannot write {self.name!r}: {exc.strerror}", hint=HINT
            ) from exc

    def write(self, data: bytes) -> None:
        """Replace the file's content, durably.

        Raises:
            DestinationUnavailable: It could not be written; what stood there before still stands.
        """
        try:
            if self._is_special():
                Path(self.name).write_bytes(data)
                return
            temporary = self._temporary()
            try:
                with os.fdopen(self._create(temporary), "wb") as file:
                    file.write(data)
                    file.flush()
                    os.fsync(file.fileno())
                temporary.replace(self._target())
            except BaseException:
                with suppress(OSError):
                    temporary.unlink()
                raise
        except OSError as exc:
            raise DestinationUnavailable(
                f"--summary-file: cannot write {self.name!r}: {exc.strerror}"
            ) from exc

    def _target(self) -> Path:
        # A link stays a link; the file it names is replaced.
        return Path(os.path.realpath(self.name))

    def _is_special(self) -> bool:
        try:
            mode = Path(self.name).stat().st_mode
        except FileNotFoundError:
            return False
        if stat.S_ISDIR(mode):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        return not stat.S_ISREG(mode)

    def _temporary(self) -> Path:
        return self._target().with_name(f".{os.urandom(8).hex()}.rivet-summary")

    @staticmethod
    def _create(path: Path) -> int:
        return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666)
