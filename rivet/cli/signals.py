"""SIGINT and SIGTERM as one orderly stop."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType
from typing import TYPE_CHECKING

from rivet.errors import Interrupted
from rivet.interruption import hurry_all, postpone

if TYPE_CHECKING:
    from sys import UnraisableHookArgs

SHOW_CURSOR = b"\x1b[?25h"  # a progress bar hides it
_AGAIN_SECONDS = 0.05


class Stop:
    """What the process does when it is asked to stop, once `install` was called.

    The first signal raises KeyboardInterrupt in the main thread, once a step that readers must see as one is
    done, unless the ending is already being delivered. The second does nothing, since `timeout` signals the
    process and then its group. The third ends the process at once: a killed run leaves every partition old or
    new.
    """

    def __init__(self) -> None:
        self._settled = False
        self._allowed = 3
        self._number = signal.SIGTERM

    def install(self) -> None:
        """Take over the signals; one that the parent had ignored, as `nohup` and `&` do, stays ignored."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
        # The main thread may be deep in a driver's C code, where Python's own handlers wait for its return.
        threading.Thread(target=self._end_at_third, args=(reading,), daemon=True).start()
        sys.unraisablehook = self._unraisable
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, self._interrupt)

    def settle(self) -> None:
        """Interrupt nothing from here on: how the command ended is known and is being told."""
        self._settled = True

    def _interrupt(self, number: int, _frame: FrameType | None) -> None:
        if not self._settled:
            self._settled = True
            self._number = signal.Signals(number)
            if not postpone():
                raise KeyboardInterrupt

    def _unraisable(self, lost: UnraisableHookArgs) -> None:
        """Ask once more where the interrupt came inside a callback or a finaliser, which no error leaves."""
        if lost.exc_type is not KeyboardInterrupt:
            sys.__unraisablehook__(lost)
            return
        self._allowed += 1
        self._settled = False
        # Not from here: this hook, too, is a place that no error leaves.
        main = threading.main_thread().ident
        again = threading.Timer(_AGAIN_SECONDS, signal.pthread_kill, (main, self._number))
        again.daemon = True
        again.start()

    def _end_at_third(self, signals: int) -> None:
        """Read one byte for each signal that has a handler: hurry all at the first, end at the third."""
        seen = 0
        while seen < self._allowed:
            os.read(signals, 1)
            if not seen:
                hurry_all()
            seen += 1
        if os.isatty(2):
            os.write(2, SHOW_CURSOR)
        os._exit(Interrupted.exit_code)
