"""Whether the process that holds a lock surely lives no more."""

from __future__ import annotations

import os
from dataclasses import replace

import pytest

from rivet.lock.process import Process, is_surely_dead, this_process


@pytest.mark.parametrize(
    "process",
    [
        pytest.param(Process("db1", 2**22 + 1, "", "1"), id="a machine that does not tell"),
        pytest.param(Process("db1", 2**22 + 1, "another boot", "1"), id="another machine or start of it"),
        pytest.param(replace(this_process(), started=""), id="a start that is not told"),
    ],
)
def test_what_cannot_be_known_is_not_sure(process: Process) -> None:
    """The number of a process says nothing on another machine, nor after it was started again."""
    assert not is_surely_dead(process, this_process())


def test_a_child_that_has_ended_is_dead_before_its_parent_has_asked() -> None:
    """A process that waits for its parent to take notice holds no lock."""
    child = os.fork()
    if child == 0:
        os._exit(0)
    here = this_process()
    os.waitid(os.P_PID, child, os.WEXITED | os.WNOWAIT)
    try:
        assert is_surely_dead(replace(here, pid=child), here)
    finally:
        os.waitpid(child, 0)
