"""Runs configs in child processes that may be killed from outside at any request they make of a store.

Reads paths of configs from standard input, a line each. It answers each at once with the process id of the
run and, when that has ended, with its exit code or `killed`. Forking from one process that has everything
imported makes each run cheap. The argument is the size beyond which objects are large.
"""

from __future__ import annotations

import functools
import os
import sys

import boto3
import botocore.session

import tests.run.imported  # noqa: F401 - once, before the forks
from rivet.cli.main import main
from rivet.destination.store import staged


def _run(config: str) -> int:
    sys.argv = ["rivet", "run", "--config", config, "--quiet"]
    code = 1
    try:
        code = main()
    finally:
        sys.stderr.flush()
        os._exit(code)


def _say(word: object) -> None:
    sys.stdout.write(f"{word}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    staged.SMALL_BYTES = int(sys.argv[1])
    # The SDK's data files are read here, once.
    botocore.session.create_loader = functools.cache(botocore.session.create_loader)
    boto3.client("s3", region_name="us-east-1", aws_access_key_id="none", aws_secret_access_key="none")
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            _run(line.rstrip("\n"))
        _say(child)
        _, status = os.waitpid(child, 0)
        _say("killed" if os.WIFSIGNALED(status) else os.WEXITSTATUS(status))
