"""Runs one export: opens its destination, waits for its turn, and begins each attempt at it."""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace

from rivet.attempt.ahead import ReadAhead
from rivet.clock import Clock
from rivet.config.hiding import hiding
from rivet.config.settings import ExportSettings
from rivet.destination.opening import open_destination
from rivet.destination.protocol import Destination
from rivet.events import Event, Listener
from rivet.lock.protocol import Records
from rivet.lock.turn import Turn
from rivet.locking import open_lock_of
from rivet.outcome import ExportOutcome
from rivet.plan.names import EXPORT_FILE
from rivet.plan.selection import EVERYTHING
from rivet.preparing.continuing import chunks_digest, with_kept_chunks
from rivet.preparing.described import describe
from rivet.preparing.prepare import last_pace, prepare, spanned
from rivet.preparing.resuming import finished_partitions, settings_digest, without_finished
from rivet.preparing.selecting import Chosen, asked_in_vain, choose, reads_all, watermark_after
from rivet.preparing.shared import must_count, shared
from rivet.publish.tree import read_tree
from rivet.retrying import begun_anew
from rivet.source.protocol import Source


@dataclass(frozen=True, slots=True)
class Context:
    """What all exports of a run share.

    Attributes:
        wait_seconds: How long each waits for another run that holds its lock.
        retries: How often each is begun anew where the source failed in a way that may pass.
        keep_going: Whether other partitions are published where one fails.
        ledger: What the ledger's database keeps for their locks; None where the config names none.
        parallel: Connections that may read at once.
    """

    source: Source
    consistency: str | None
    run_id: str
    clock: Clock
    listener: Listener
    wait_seconds: float = 0.0
    retries: int = 0
    sleep: Callable[[float], None] = time.sleep
    ledger: Records | None = None
    keep_going: bool = True
    parallel: int = 1


def run_export(context: Context, export: ExportSettings) -> ExportOutcome:
    """Export one table or query.

    Raises:
        RivetError: Anything that keeps it from being complete. Nothing was then published, unless with
            `publish: eager`, or the publishing itself failed, which the next run finishes or undoes.
        LockHeld: Another run is at work on it, or has taken this one's place.
    """
    started_at = context.clock()
    context.listener(Event("started", export.name, f"reading {context.source.label}"))

    def work(destination: Destination, turn: Turn) -> ExportOutcome:
        return begun_anew(
            lambda attempt: turn.take(
                hiding(export.variables)(
                    lambda: _run(context, export, destination, started_at, turn=turn, attempt=attempt)
                )
            ),
            retries=context.retries,
            tell=lambda text: context.listener(Event("warning", export.name, text)),
            sleep=context.sleep,
        )

    return in_turn(context, export, work)


def in_turn(
    context: Context, export: ExportSettings, work: Callable[[Destination, Turn], ExportOutcome]
) -> ExportOutcome:
    """Do work at an export's destination, which waits for its turn there.

    What the destination and the lock have to warn of is told however the work ends, and is in its outcome.
    """
    with closing(open_destination(export.destination)) as destination:
        lock = open_lock_of(
            export,
            destination,
            context.run_id,
            ledger=context.ledger,
            clock=context.clock,
            wait_seconds=context.wait_seconds,
            on_wait=lambda text: context.listener(Event("waiting", export.name, text)),
        )
        try:
            with Turn(lock, destination, EXPORT_FILE) as turn:
                outcome = work(destination, turn)
        finally:
            for warning in (*destination.warnings, *lock.warnings):
                context.listener(Event("warning", export.name, warning))
        return replace(outcome, warnings=(*outcome.warnings, *destination.warnings, *lock.warnings))


def _run(
    context: Context,
    export: ExportSettings,
    destination: Destination,
    started_at: str,
    *,
    turn: Turn,
    attempt: int,
) -> ExportOutcome:
    with ExitStack() as snapshot:
        session = snapshot.enter_context(context.source.session())
        described = describe(session, export, context.consistency)
        tree = None
        chosen = Chosen(described, EVERYTHING)
        if not reads_all(export):
            tree = read_tree(destination, described.layout)
            chosen = choose(session, export, described, tree)
        shares = 1 if export.scan == "single" else context.parallel
        ahead = snapshot.enter_context(ReadAhead(session, export, chosen.described, shares))
        deals = must_count(export, context.parallel, is_indexed=described.is_indexed)
        if export.resume == "redo" and not deals:  # then all that is chosen is read, whatever stands there
            ahead.begin()
            if chosen.described.relation.is_few:  # all of them are awaited before anything is planned
                import rivet.attempt.attempt  # noqa: F401 - takes its time, as below
        tree = tree or read_tree(destination, described.layout)
        finished = finished_partitions(export, described, destination, tree, context.source.label)
        # What is published before the total is known, and may be kept, is held to counts of its own.
        count = export.publish == "eager" and (export.vanished == "error" or export.resume == "reuse")
        prepared = prepare(
            session,
            export,
            chosen.described,
            count=count or deals or not chosen.holds_rows,  # a window may have none any more
            selection=without_finished(chosen.selection, finished, described.axis),
            is_narrowed=chosen.is_narrowed,
            is_checked=ahead.checks,
            ask=ahead.probe,
            pace=last_pace(export, tree),
        )
        if chosen.is_narrowed:
            prepared = spanned(session, export, described, prepared, tree.entries.values())
        sha256 = settings_digest(export, described, context.source.label)
        prepared = with_kept_chunks(
            session,
            export,
            prepared,
            destination=destination,
            tree=tree,
            settings_sha256=chunks_digest(sha256, export),
        )
        prepared = shared(session, export, prepared, context.parallel)
        # What writes and publishes takes its time to load, in which the source is at work.
        from rivet.attempt.attempt import Attempt
        from rivet.attempt.record import Record
        from rivet.export.memory import make_ready

        make_ready()
        record = Record(
            export,
            prepared.described,
            destination,
            context.run_id,
            started_at,
            context.clock,
            settings_sha256=sha256,
            attempt=attempt,
            watermark=watermark_after(chosen, tree),
        )
        in_vain = asked_in_vain(export, tree, prepared.counts)
        advice = (*prepared.advice, *chosen.warnings, *in_vain)
        prepared = replace(prepared, why=chosen.why, adds_from=chosen.adds_from, advice=advice)
        attempted = Attempt(
            record,
            prepared,
            tree,
            turn,
            listener=context.listener,
            finished=finished,
            keep_going=context.keep_going,
        )
        return attempted.run(ahead, snapshot)
