"""Runs, plans and checks the exports of a config: opens the edges and calls the rooms in order."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

from rivet.clock import Clock, new_run_id, utc_now
from rivet.config.hiding import hiding
from rivet.config.read_settings import EVERY_WINDOW, AskedWindows
from rivet.config.settings import ExportSettings, Settings
from rivet.destination.opening import open_destination
from rivet.destination.protocol import Destination
from rivet.destination.trial import try_writing
from rivet.errors import ConfigError, IntegrityError, Interrupted, Problem, RivetError
from rivet.events import Event, Listener
from rivet.history import History
from rivet.locking import lock_records
from rivet.outcome import ExportOutcome, PlanOutcome, RunOutcome
from rivet.plan.advice import key_advice, type_advice
from rivet.plan.readers import readers
from rivet.plan.resolve import near_miss
from rivet.preparing.continuing import chunks_digest, with_kept_chunks
from rivet.preparing.described import describe
from rivet.preparing.planned import outcome_of, with_plan
from rivet.preparing.prepare import estimated, last_pace, prepare, refuse_vanished, spanned
from rivet.preparing.resuming import finished_partitions, finished_told, settings_digest, without_finished
from rivet.preparing.selecting import asked_in_vain, choose
from rivet.preparing.shared import shared
from rivet.publish.tree import read_tree
from rivet.source.opening import open_source
from rivet.source.protocol import Source

if TYPE_CHECKING:
    from rivet.exporting import Context


def run(
    settings: Settings,
    *,
    exports: Sequence[str] = (),
    asked: AskedWindows = EVERY_WINDOW,
    validate: bool = False,
    listener: Listener,
    clock: Clock = utc_now,
    run_id: str | None = None,
    wait_seconds: float = 0.0,
    sleep: Callable[[float], None] = time.sleep,
    work: Callable[[Context, ExportSettings], ExportOutcome] | None = None,
) -> RunOutcome:
    """Export what a config names, one export after the other.

    A failed export is an outcome, not an exception. So are an interruption and a bug, which end the run:
    they are the outcome's `cause`.

    Args:
        exports: Names to run; empty: all.
        asked: The windows to read, whatever the config says; nothing is asked for: as it says.
        validate: Read again, at full depth, what this run published.
        wait_seconds: How long each export waits for another run that is at work on it.
        work: What is done for each; None: it is exported.

    Raises:
        ConfigError: A name in exports is not in the config.
    """
    from rivet.exporting import Context, run_export

    chosen = [replace(e, asked=asked) for e in chosen_exports(settings, exports)]
    run_id = run_id or new_run_id()
    started_at = clock()
    source = open_source(settings.source)
    history = History(
        settings, chosen, source=source.label, run_id=run_id, started_at=started_at, listener=listener
    )
    context = Context(
        source,
        settings.source.consistency,
        run_id,
        clock,
        history.listen,
        wait_seconds=wait_seconds,
        retries=settings.source.retries,
        sleep=sleep,
        ledger=lock_records(settings),
        keep_going=settings.on_error == "continue",
        parallel=settings.source.parallel,
    )
    outcomes: list[ExportOutcome] = []
    stopped = False
    cause: BaseException | None = None
    for export in chosen:
        if stopped:
            outcomes.append(ExportOutcome(export.name, "skipped", 0, export.destination.label))
            history.ended(outcomes[-1])
            continue
        begun = time.monotonic()
        try:
            outcome = (work or run_export)(context, export)
            if validate and outcome.exit_code == 0:
                outcome = _validated(export, outcome)
        except RivetError as error:
            outcome = _failed(export, error)
        except (KeyboardInterrupt, Exception) as error:  # noqa: BLE001 - told with what ended before
            cause = error
            outcome = _struck(export, error)
        outcomes.append(replace(outcome, duration_seconds=time.monotonic() - begun))
        history.ended(outcomes[-1])
        if cause is None:
            try:
                listener(_ending(outcome))
            except (KeyboardInterrupt, Exception) as error:  # noqa: BLE001 - what has ended stays so
                cause = error
        stopped = cause is not None or (outcome.exit_code != 0 and settings.on_error == "stop")
    ended = RunOutcome(run_id, started_at, clock(), tuple(outcomes), cause)
    try:
        return replace(ended, warnings=history.close(ended.finished_at, ended.exit_code))
    except (KeyboardInterrupt, Exception) as error:  # noqa: BLE001 - what has ended stays so
        return replace(ended, cause=cause or error)


def plan(
    settings: Settings,
    *,
    exports: Sequence[str] = (),
    asked: AskedWindows = EVERY_WINDOW,
    listener: Listener,
) -> tuple[PlanOutcome, ...]:
    """Find out what a run would do: partitions, expected rows, scans; nothing is written."""

    def look(source: Source, stated: ExportSettings, destination: Destination) -> PlanOutcome:
        export = replace(stated, asked=asked)
        with source.session() as session:
            described = describe(session, export, settings.source.consistency)
            tree = read_tree(destination, described.layout)
            chosen = choose(session, export, described, tree)
            finished = finished_partitions(export, described, destination, tree, source.label)
            prepared = prepare(
                session,
                export,
                chosen.described,
                count=True,
                selection=without_finished(chosen.selection, finished, described.axis),
                is_narrowed=chosen.is_narrowed,
                pace=last_pace(export, tree),
            )
            if chosen.is_narrowed:
                prepared = spanned(session, export, described, prepared, tree.entries.values())
            sha256 = chunks_digest(settings_digest(export, described, source.label), export)
            prepared = with_kept_chunks(
                session, export, prepared, destination=destination, tree=tree, settings_sha256=sha256
            )
            prepared = shared(session, export, prepared, settings.source.parallel)
            refuse_vanished(export, prepared, tree.entries.values())
            estimate = estimated(session, prepared)
        outcome = outcome_of(described, export.name, source=source.label, destination=destination.uri)
        outcome = replace(with_plan(outcome, prepared), estimate=estimate)
        unread = {path for path, entry in tree.entries.items() if not prepared.is_selected(entry)}
        return replace(
            outcome,
            partitions_unread=len(unread | finished.keys()),
            selected_by=chosen.why or None,
            warnings=(
                *outcome.warnings,
                *chosen.warnings,
                *asked_in_vain(export, tree, prepared.counts),
                *finished_told(finished),
            ),
        )

    return _look(settings, exports, listener, look)


def check(
    settings: Settings, *, exports: Sequence[str] = (), write: bool = False, listener: Listener
) -> tuple[PlanOutcome, ...]:
    """Find out what each export's columns become, and where readers would be misled; nothing is written.

    Args:
        write: Write a small object to each destination after all, and remove it.
    """

    def look(source: Source, export: ExportSettings, destination: Destination) -> PlanOutcome:
        with source.session() as session:
            described = describe(session, export, settings.source.consistency)
        if write:
            try_writing(destination, new_run_id())
        outcome = outcome_of(described, export.name, source=source.label, destination=destination.uri)
        told_by_readers = key_advice(described.layout)
        return replace(
            outcome,
            writable=True if write else None,
            readers=readers(described.written, described.layout),
            warnings=(
                *(warning for warning in outcome.warnings if warning not in told_by_readers),
                *type_advice(described.relation.columns, export.columns),
            ),
        )

    return _look(settings, exports, listener, look)


def _look(
    settings: Settings,
    exports: Sequence[str],
    listener: Listener,
    look: Callable[[Source, ExportSettings, Destination], PlanOutcome],
) -> tuple[PlanOutcome, ...]:
    source = open_source(settings.source)
    outcomes = []
    for export in chosen_exports(settings, exports):
        listener(Event("started", export.name, f"{export.name}: looking at {source.label}"))
        try:
            with hiding(export.variables), closing(open_destination(export.destination)) as destination:
                outcome = look(source, export, destination)
                outcomes.append(replace(outcome, warnings=(*outcome.warnings, *destination.warnings)))
        except RivetError as error:
            failed = PlanOutcome(export.name, export.destination.label, source=source.label)
            outcomes.append(replace(failed, exit_code=error.exit_code, error=str(error), hint=error.hint))
    return tuple(outcomes)


def chosen_exports(settings: Settings, names: Sequence[str]) -> list[ExportSettings]:
    """Give the exports of these names, in the config's order; no names: all.

    Raises:
        ConfigError: A name is not in the config.
    """
    known = [e.name for e in settings.exports]
    problems = []
    for name in names:
        if name not in known:
            near = near_miss(name, known)
            hint = f"did you mean {near!r}?" if near else f"the exports are: {', '.join(known)}"
            problems.append(Problem("--export", f"no export {name!r} in the config", hint))
    if problems:
        raise ConfigError(problems)
    return [e for e in settings.exports if not names or e.name in names]


def _validated(export: ExportSettings, outcome: ExportOutcome) -> ExportOutcome:
    from rivet.validate import validate

    with closing(open_destination(export.destination)) as destination:
        verdict = validate(destination, "", depth="full", strict=False)
    if verdict.passed:
        return replace(outcome, verdict=verdict)
    error = IntegrityError(
        "what landed does not validate",
        hint="the findings say what a reader would get wrong: move foreign files away, or run it again",
    )
    return replace(
        outcome,
        status="failed",
        exit_code=error.exit_code,
        error=str(error),
        hint=error.hint,
        verdict=verdict,
    )


def _failed(export: ExportSettings, error: RivetError) -> ExportOutcome:
    return ExportOutcome(
        export.name,
        "failed",
        error.exit_code,
        export.destination.label,
        error=str(error),
        hint=error.hint,
    )


def _struck(export: ExportSettings, cause: BaseException) -> ExportOutcome:
    """Fail an export that was interrupted or met a bug; a bug's words may hold a secret, so none is taken."""
    if isinstance(cause, KeyboardInterrupt):
        hint = "run the same command again: it finishes or undoes what was begun"
        return _failed(export, Interrupted("interrupted", hint=hint))
    return _failed(export, RivetError("internal error"))


def _ending(outcome: ExportOutcome) -> Event:
    facts: dict[str, object]
    if outcome.error is not None:
        facts = {"exit_code": outcome.exit_code, "hint": outcome.hint}
        return Event("failed", outcome.name, outcome.error, facts)
    facts = {"rows": outcome.rows, "partitions": outcome.partitions}
    return Event("finished", outcome.name, "complete", facts)
