"""Runs the command in child processes, each of which a fault befalls at one step.

Reads one JSON object per line: `arguments` of the command, `output`, the file for what it says, `fault`, or
null, and `kill_after_seconds`, or null. It answers each, when the child has ended, with `ended`, the exit
code or `killed`, and `steps`, how often each step came, where the child ended by itself. Forking from one
process that has everything imported makes each run cheap.
"""

from __future__ import annotations

import functools
import json
import os
import select
import signal
import sys
from typing import Any

import boto3
import botocore.session

import rivet.export.sorter
import rivet.source.mysql.source
import rivet.source.pipe
import rivet.source.postgres.source
import rivet.source.sqlite.session
import tests.run.imported  # noqa: F401 - once, before the forks
from rivet.cli.main import main
from rivet.destination import local_conditional
from rivet.destination.gcs.destination import GcsDestination
from rivet.destination.s3.destination import S3Destination
from rivet.destination.store.retrying import Patience
from rivet.destination.store.spool import Spool
from rivet.lock import object_lock
from rivet.lock.timing import Timing
from tests.faults.steps import Steps

# Stores and guards of the dead are not waited for, locks are renewed often, rows come in several batches, and
# what waits for a store waits on the disk.
_HASTY = Patience(attempts=3, first_pause_seconds=0.01, longest_pause_seconds=0.02)
_TIMING = Timing(0.03, 90.0, 0.05)


def _make_hasty() -> None:
    vars(object_lock).update(TIMING=_TIMING)
    vars(local_conditional).update(_BREAK_AFTER_SECONDS=3.0)
    vars(rivet.source.pipe).update(BLOCK_BYTES=4096)
    vars(rivet.source.sqlite.session).update(_BATCH_ROWS=64)
    for kind in (S3Destination, GcsDestination):
        kind.__init__.__defaults__ = (_HASTY,)
    Spool.__init__.__defaults__ = (0, 1024**2)


def _run(task: dict[str, Any], answer: int) -> None:
    output = os.open(task["output"], os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_APPEND)
    for descriptor in (1, 2):
        os.dup2(output, descriptor)
    steps = Steps(task["fault"])
    steps.install()
    sys.argv = ["rivet", *task["arguments"]]
    code = 1
    try:
        code = main()
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
        os.write(answer, json.dumps(steps.counts).encode())
        os._exit(code)


def _answer(task: dict[str, Any]) -> dict[str, Any]:
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        _run(task, writing)
    os.close(writing)
    with os.fdopen(reading) as file:
        if not select.select([file], [], [], task["kill_after_seconds"])[0]:
            os.kill(child, signal.SIGKILL)
        counts = file.read()
    _, status = os.waitpid(child, 0)
    ended = "killed" if os.WIFSIGNALED(status) else os.WEXITSTATUS(status)
    return {"ended": ended, "steps": json.loads(counts or "{}")}


if __name__ == "__main__":
    _make_hasty()
    # The SDK's data files are read here, once.
    botocore.session.create_loader = functools.cache(botocore.session.create_loader)
    boto3.client("s3", region_name="us-east-1", aws_access_key_id="none", aws_secret_access_key="none")
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_answer(json.loads(line))) + "\n")
        sys.stdout.flush()
