"""The command that merges parts."""

from __future__ import annotations

from pathlib import Path

import click

from rivet.cli.commands import ran
from rivet.cli.delivery import Ending
from rivet.cli.invocation import Invocation
from rivet.cli.options import CONFIG, EXPORTS, WAIT, telling
from rivet.clock import new_run_id


@click.command("compact")
@CONFIG
@EXPORTS
@WAIT
@telling
@click.pass_obj
def compact_command(invocation: Invocation, *, config: Path, exports: tuple[str, ...], wait: int) -> Ending:
    """Merge the parts that runs have added to partitions; no row changes."""
    settings = invocation.load(config, exports)

    from rivet.compacting import compact_export
    from rivet.run import run

    invocation.run_id = run_id = new_run_id()
    with invocation.delivery.listener(run_id) as listener:
        invocation.listener = listener
        outcome = run(
            settings,
            exports=exports,
            listener=listener,
            run_id=run_id,
            wait_seconds=wait,
            work=compact_export,
        )
    return ran(invocation, outcome)
