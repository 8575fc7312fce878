"""The commands and their options; each gives an ending, and prints nothing itself.

Everything heavy is imported inside a command, so that `--help` and a refused command line are instant.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from rivet import __version__
from rivet.cli import streams
from rivet.cli.delivery import Ending
from rivet.cli.explanation import explain
from rivet.cli.invocation import Invocation
from rivet.cli.options import CONFIG, EXPORTS, JSON, WAIT, telling, windows
from rivet.clock import new_run_id
from rivet.errors import Problem
from rivet.outcome import PlanOutcome, RunOutcome, worst_exit_code

if TYPE_CHECKING:
    from rivet.config.read_settings import AskedWindows
    from rivet.validate import Depth

_EXIT_CODES = (
    "Exit codes: 0 done, 1 internal error, 2 something must be changed first, 3 the same command may be "
    "tried again, 4 data missing or altered, 5 another run is at work, 130 interrupted."
)


@click.group("rivet", no_args_is_help=False, epilog=_EXIT_CODES)
@click.version_option(__version__, prog_name="rivet", message="%(prog)s %(version)s")
def rivet() -> None:
    """Export SQL tables and queries to Hive-partitioned Parquet trees, with every row accounted for."""


@rivet.command("run")
@CONFIG
@EXPORTS
@windows
@click.option("--validate", is_flag=True, help="Re-read at full depth what this run published.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, as `plan` does; write nothing.")
@WAIT
@telling
@click.pass_obj
def run_command(
    invocation: Invocation,
    *,
    config: Path,
    exports: tuple[str, ...],
    asked: AskedWindows,
    validate: bool,
    dry_run: bool,
    wait: int,
) -> Ending:
    """Export, each row accounted for."""
    if dry_run:
        return _plan(invocation, config, exports, asked)
    settings = invocation.load(config, exports)

    from rivet.run import run

    invocation.run_id = run_id = new_run_id()
    with invocation.delivery.listener(run_id) as listener:
        invocation.listener = listener
        outcome = run(
            settings,
            exports=exports,
            asked=asked,
            validate=validate,
            listener=listener,
            run_id=run_id,
            wait_seconds=wait,
        )
    return ran(invocation, outcome)


def ran(invocation: Invocation, outcome: RunOutcome) -> Ending:
    """Tell how exports went."""
    from rivet.report.document import run_export
    from rivet.report.errors import error_lines
    from rivet.report.summary import run_error_lines, run_lines

    errors = run_error_lines(outcome)
    problems: tuple[Problem, ...] = ()
    if outcome.cause is not None:
        told = explain(outcome.cause, invocation.secrets)
        problems = told.problems
        errors += [*told.traceback, *error_lines(problems)]
    return Ending(
        outcome.exit_code,
        invocation.document(
            outcome.exit_code,
            [run_export(e) for e in outcome.exports],
            problems=problems,
            warnings=outcome.warnings,
            started_at=outcome.started_at,
            finished_at=outcome.finished_at,
        ),
        run_lines(outcome),
        errors,
    )


@rivet.command("plan")
@CONFIG
@EXPORTS
@windows
@JSON
@click.pass_obj
def plan_command(
    invocation: Invocation,
    *,
    config: Path,
    exports: tuple[str, ...],
    asked: AskedWindows,
) -> Ending:
    """Show what a run would do; write nothing."""
    return _plan(invocation, config, exports, asked)


@rivet.command("check")
@CONFIG
@EXPORTS
@click.option("--write", is_flag=True, help="Write a small object to each destination, and remove it.")
@JSON
@click.pass_obj
def check_command(invocation: Invocation, *, config: Path, exports: tuple[str, ...], write: bool) -> Ending:
    """Check config, connection, columns and types; write nothing, unless with --write."""
    settings = invocation.load(config, exports)

    from rivet.report.planned import check_closing, check_lines
    from rivet.run import check

    outcomes = check(settings, exports=exports, write=write, listener=invocation.listener)
    lines = [line for outcome in outcomes for line in check_lines(outcome)]
    return _planned(invocation, outcomes, [*lines, *check_closing(outcomes)])


@rivet.command("validate")
@click.option(
    "--prefix",
    metavar="P",
    help="A partition or a root: a path, s3://… or gs://…; with --config as the config spells it.",
)
@click.option(
    "--config", metavar="C", type=click.Path(path_type=Path), help="Validate the trees of this config."
)
@EXPORTS
@click.option(
    "--depth",
    type=click.Choice(["quick", "full"]),
    help="Markers, manifests and footers (default in a bucket), or every byte (default on local disk).",
)
@click.option("--strict", is_flag=True, help="Take every unlisted file for an error.")
@click.option(
    "--source", is_flag=True, help="With --config, count the rows at the source too, window by window."
)
@JSON
@click.pass_obj
def validate_command(
    invocation: Invocation,
    *,
    prefix: str | None,
    config: Path | None,
    exports: tuple[str, ...],
    depth: Depth | None,
    strict: bool,
    source: bool,
) -> Ending:
    """Re-check what landed."""
    if config is None:
        if prefix is None:
            raise click.UsageError("give --prefix P or --config C", click.get_current_context())
        for option, given in (("--export", exports), ("--source", source)):
            if given:
                raise click.UsageError(f"{option} needs --config", click.get_current_context())
        invocation.secrets = ()

        from rivet.validation import validate_prefix

        outcomes = [validate_prefix(prefix, Path.cwd(), depth=depth, strict=strict)]
    else:
        settings = invocation.load(config, exports)

        from rivet.validation import validate_exports

        outcomes = validate_exports(
            settings,
            config.absolute().parent,
            names=exports,
            prefix=prefix,
            depth=depth,
            strict=strict,
            compared=source,
        )

    from rivet.report.document import validated_export
    from rivet.report.validation import validate_error_lines, validate_lines

    exit_code = worst_exit_code([o.exit_code for o in outcomes])
    return Ending(
        exit_code,
        invocation.document(exit_code, [validated_export(o) for o in outcomes]),
        [line for o in outcomes for line in validate_lines(o)],
        validate_error_lines(outcomes),
    )


@rivet.command("history")
@click.option(
    "--config",
    metavar="C",
    type=click.Path(path_type=Path),
    help="The ledger of this config and its exports; without it the user's own ledger.",
)
@EXPORTS
@click.option(
    "--limit",
    metavar="K",
    type=click.IntRange(1, 10_000),
    default=20,
    show_default=True,
    help="How many exports of runs, the latest first.",
)
@JSON
@click.pass_obj
def history_command(
    invocation: Invocation, *, config: Path | None, exports: tuple[str, ...], limit: int
) -> Ending:
    """Show how the latest runs went."""
    from rivet.history import look_back

    if config is None:
        from rivet.config.settings import StateSettings

        invocation.secrets = ()
        outcome = look_back(StateSettings(), limit, names=exports)
    else:
        settings = invocation.load(config, exports)

        from rivet.run import chosen_exports

        outcome = look_back(settings.state, limit, exports=chosen_exports(settings, exports))

    from rivet.report.document import history_entry
    from rivet.report.history import history_lines

    return Ending(
        0,
        invocation.document(0, [history_entry(e) for e in outcome.entries or ()]),
        history_lines(outcome),
    )


@rivet.command("schema")
def schema_command() -> Ending:
    """Print the JSON Schema of the config."""
    from rivet.config.jsonschema import json_schema

    streams.write_output(streams.to_json(json_schema()))
    return Ending(0)


def _plan(invocation: Invocation, config: Path, exports: Sequence[str], asked: AskedWindows) -> Ending:
    settings = invocation.load(config, exports)

    from rivet.report.planned import plan_lines
    from rivet.run import plan

    outcomes = plan(settings, exports=exports, asked=asked, listener=invocation.listener)
    return _planned(invocation, outcomes, [line for outcome in outcomes for line in plan_lines(outcome)])


def _planned(invocation: Invocation, outcomes: Sequence[PlanOutcome], lines: Sequence[str]) -> Ending:
    from rivet.report.planned import plan_error_lines
    from rivet.report.planned_document import planned_export

    exit_code = worst_exit_code([o.exit_code for o in outcomes])
    return Ending(
        exit_code,
        invocation.document(exit_code, [planned_export(o) for o in outcomes]),
        lines,
        plan_error_lines(outcomes),
    )
