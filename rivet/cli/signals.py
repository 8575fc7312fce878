"""SIGINT and SIGTERM as one orderly stop."""

from __future__ import annotations

import os
import signal
import threading
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
        self._settled = False

    def install(self) -> None:
        """Take over the signals; one that the parent had ignored, as `nohup` and `&` do, stays ignored."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        # The main thread may be deep in a driver's C code, where Python's own handlers wait for its return.
        threading.Thread(target=_end_at_third, args=(reading,), daemon=True).start()
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._interrupt)

    def settle(self) -> None:
        """Interrupt nothing from here on: how the command ended is known and is being told."""
        self._settled = True

    def _interrupt(self, _number: int, _frame: FrameType | None) -> None:
        if not self._settled:
            self._settled = True
            raise KeyboardInterrupt


def _end_at_third(signals: int) -> None:
    """Read one byte for each signal that has a handler, and end the process at the third."""
    for _ in range(3):
        os.read(signals, 1)
    if os.isatty(2):
        os.write(2, SHOW_CURSOR)
    os._exit(Interrupted.exit_code)
