"""SIGINT and SIGTERM as one orderly stop."""

from __future__ import annotations

import os
import signal
from types import FrameType

from rivet.errors import Interrupted

SHOW_CURSOR = b"\x1b[?25h"  # a progress bar hides it


class Stop:
    """What the process does when it is asked to stop, once `install` was called.

    The first signal raises KeyboardInterrupt in the main thread, unless the ending is already being
    delivered. The second does nothing, since `timeout` signals the process and then its group. The third
    ends the process at once: a killed run leaves every partition old or new.
    """

    def __init__(self) -> None:
        self._received = 0
        self._settled = False

    def install(self) -> None:
        """Take over the signals; one that the parent had ignored, as `nohup` and `&` do, stays ignored."""
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._handle)

    def settle(self) -> None:
        """Interrupt nothing from here on: how the command ended is known and is being told."""
        self._settled = True

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        self._received += 1
        if self._received == 1 and not self._settled:
            raise KeyboardInterrupt
        if self._received >= 3:
            if os.isatty(2):
                os.write(2, SHOW_CURSOR)
            os._exit(Interrupted.exit_code)
