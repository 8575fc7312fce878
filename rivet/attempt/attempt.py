"""One attempt at one export: scan, prove, publish, account."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from time import monotonic

from rivet.attempt.adding import Addition, addition_of
from rivet.attempt.ahead import ReadAhead
from rivet.attempt.ending import Ending
from rivet.attempt.noting import notes_of
from rivet.attempt.reading import reading_of, rows_expected, scans_alone, with_pace
from rivet.attempt.record import Record
from rivet.attempt.staging import shape_of, stager_of
from rivet.attempt.telling import Telling
from rivet.errors import IntegrityError, RivetError, SourceStopped, SourceUnavailable
from rivet.events import Listener
from rivet.export.chunk_keeping import ChunkLine, Keeping
from rivet.export.passing import Read, run_scans
from rivet.export.scan import Account, prove, prove_windows
from rivet.export.split import Splitter
from rivet.export.stage import Stager
from rivet.export.workers import run_at_once
from rivet.lock.turn import Turn
from rivet.manifest.model import PartitionEntry
from rivet.outcome import ExportOutcome, Reading, changes_of, worst_exit_code
from rivet.plan.changes import changed_columns
from rivet.plan.scans import Scan
from rivet.plan.windows import NULL_VALUE
from rivet.preparing.prepare import refuse_vanished
from rivet.preparing.prepared import Prepared
from rivet.preparing.resuming import finished_told, require_finished
from rivet.publish.publisher import Publisher
from rivet.publish.recover import recover
from rivet.publish.tree import Tree
from rivet.publish.vanished import decide_vanished

# With `publish: eager`, partitions that have been passed are published in groups, since each group
# rewrites the export file.
_EAGER_GROUP_PARTITIONS = 64


class Attempt:
    """One attempt at an export whose plan stands, from the first staged row to the account.

    Args:
        finished: What failed runs have finished and the plan leaves out, by path.
        keep_going: Whether other partitions are published where one fails.
    """

    def __init__(
        self,
        record: Record,
        prepared: Prepared,
        tree: Tree,
        turn: Turn,
        *,
        listener: Listener,
        finished: Mapping[str, PartitionEntry],
        keep_going: bool,
    ) -> None:
        self._record = record
        self._export = record.export
        self._described = record.described
        self._layout = record.described.layout
        self._axis = record.described.axis
        self._prepared = prepared
        self._tree = tree
        self._turn = turn
        self._finished_before = finished
        self._keep_going = keep_going
        self._account = Account()
        self._notes = notes_of(record, prepared)
        self._adding: Addition | None = None
        self._reading: Reading | None = None
        self._telling = Telling(
            listener, record.export.name, prepared, lambda: record.destination.uploaded_bytes
        )
        self._warnings = [
            *record.described.run_advice,
            *prepared.advice,
            *finished_told(finished),
            *tree.warnings(),
            *self._changes(),
        ]

    def run(self, ahead: ReadAhead, snapshot: ExitStack) -> ExportOutcome:
        """Read, prove, publish and account.

        Args:
            ahead: Reads the scans, one of which may have begun.
            snapshot: What holds the source's snapshot; closed once everything is read.

        Raises:
            RivetError: As `rivet.exporting.run_export` says.
        """
        refuse_vanished(self._export, self._prepared, self._tree.entries.values())
        self._turn.hold()
        self._telling.plan(self._warnings)
        ahead.check(self._described, self._prepared.scans, self._telling.rows)
        # From here on what counts is the tree as it stands after a killed run was finished or undone.
        tree = replace(self._tree, spared=self._prepared.left_by)
        self._tree = recover(self._record.destination, self._layout, tree, self._turn)
        require_finished(self._finished_before, self._tree.entries)
        self._adding = addition_of(self._record, self._prepared, self._tree)
        publisher = Publisher(
            self._record.destination,
            self._layout,
            self._tree,
            self._record.blank(),
            fence=self._turn,
            keep_going=self._keep_going,
            on_wave=self._telling.wave,
        )
        publisher.begin()
        try:
            if self._notes is not None:
                self._notes.take_over()
            with self._stager() as stager:
                begun = monotonic()
                self._scan(ahead, stager, publisher)
                self._reading = reading_of(
                    self._prepared, self._account.rows, monotonic() - begun, ahead.intake
                )
                snapshot.close()  # before publishing, so that the source's snapshot is not held meanwhile
                return self._publish(stager, publisher)
        except BaseException as error:
            with suppress(RivetError):
                # What did not add up in the end may be wrong in what was published before.
                self._abandon(publisher, doubtful=isinstance(error, IntegrityError))
            has_published = publisher.published.written or publisher.published.removed
            if isinstance(error, SourceUnavailable) and has_published and self._export.resume == "redo":
                # Of two moments, one is published already: the next run reads all of one moment again.
                raise SourceStopped(str(error), hint=error.hint) from error
            raise

    def _abandon(self, publisher: Publisher, *, doubtful: bool) -> None:
        notes = self._notes
        if notes is not None and doubtful:
            notes.give_up()
        publisher.abandon(doubtful=doubtful, keeps=notes is not None and notes.is_held and not doubtful)

    def _stager(self) -> Stager:
        at_once, adding = self._prepared.at_once, self._adding
        if adding is None:
            lasts = self._notes is not None
            return stager_of(self._record, self._account.unrepresentable, at_once, lasts=lasts)
        return stager_of(self._record, adding.unrepresentable, at_once, adding.extended)

    def _scan(self, ahead: ReadAhead, stager: Stager, publisher: Publisher) -> None:
        relation, column = self._described.relation, self._described.column
        passed = 0
        passing = threading.Lock()  # of several scans, one at a time publishes

        def on_passed() -> None:
            nonlocal passed
            with passing:
                passed += 1
                publish_some()

        def publish_some() -> None:
            if self._export.publish == "eager" and passed % _EAGER_GROUP_PARTITIONS == 0:
                partitions = stager.take()
                if self._described.is_steady:
                    paths = [staged.partition.path for staged in partitions]
                    expected = rows_expected(self._prepared, self._account.failed)
                    prove_windows(self._account, paths, expected or {})
                publisher.publish(partitions)
                stager.release(partitions)

        def pass_on(
            scans: Sequence[Scan],
            read: Read,
            taker: ChunkLine,
            on_rows: Callable[[int], None],
            first: int = 1,
        ) -> None:
            run_scans(
                scans if self._described.is_steady else [replace(s, expected_rows=None) for s in scans],
                read,
                taker if self._adding is None else self._adding.sifted(taker),
                self._account,
                shape=shape_of(self._described) if self._adding is None else self._adding.shape,
                splitter=None if self._axis is None or column is None else Splitter(self._axis, column.name),
                partition_of=self._layout.partition,
                selection=self._prepared.selection,
                alone=self._alone,
                on_rows=on_rows,
                on_passed=on_passed,
                keeping=None if self._notes is None else Keeping(self._notes, taker),
                first=first,
                of=len(self._prepared.scans),
            )

        all_scans, told = self._prepared.scans, self._telling.rows
        if self._prepared.at_once > 1:
            lines = stager.lines(self._prepared.at_once)
            run_at_once(all_scans, lambda: ahead.apart(self._described), lines, pass_on, told)
        else:
            pass_on(all_scans, lambda scan: ahead.read(self._described, scan, told), stager, told)
        null_path = None if self._axis is None else self._layout.partition(None).path
        prove(
            self._account,
            self._prepared.probe,
            relation.consistency,
            axis=self._axis,
            null_path=null_path,
            expected=rows_expected(self._prepared, self._account.failed),
            whole=self._prepared.reads_everything and not (self._account.failed or self._prepared.taken),
            of_one_moment=not self._prepared.taken,
        )

    def _alone(self, scan: Scan) -> dict[str, Scan] | None:
        per_partition = self._export.scan == "per_partition"
        return scans_alone(self._prepared, scan, per_partition=per_partition) if self._keep_going else None

    def _changes(self) -> list[str]:
        """Tell how the columns differ from those of the run before."""
        if self._tree.export is None:
            return []
        changes = changed_columns(self._tree.export.schema, self._record.blank().schema)
        since = f"the columns have changed since run {self._tree.export.run_id!r}"
        return [f"{since}: {changes}"] if changes else []

    def _publish(self, stager: Stager, publisher: Publisher) -> ExportOutcome:
        account, prepared = self._account, self._prepared
        present = {*account.written, *account.failed}
        for partition, failure in account.failed.values():
            publisher.failures.add(partition, failure)
        ending = Ending(self._record, prepared, account, self._tree, self._adding)
        if not self._export.skip_empty:
            for partition in ending.empty_partitions():
                stager.add_empty(partition)
                present.add(partition.path)
        partitions = stager.take()
        vanished = decide_vanished(
            # Where rows are added, none of what stands is held to what the source has.
            (e for e in self._tree.entries.values() if prepared.is_selected(e) and self._adding is None),
            present,
            policy=self._export.vanished,
            axis=self._axis,
            span=ending.span,
        )
        publisher.publish(partitions, vanished.remove)
        publisher.keep(vanished.keep)
        ended = with_pace(self._export, self._reading, ending.export_file(publisher.failures.errors))
        finished = publisher.complete(ended, keeps=self._notes is not None)
        null_rows = sum(p.row_count for p in finished.partitions if p.value == NULL_VALUE)
        published = publisher.published
        self._telling.published(
            written=published.written,
            unchanged=published.unchanged,
            removed=published.removed,
            bytes_written=published.bytes_written,
        )
        failures = publisher.failures
        error, hint = failures.told(len(finished.partitions))
        return ExportOutcome(
            name=self._export.name,
            status="complete" if error is None else "failed",
            exit_code=worst_exit_code([e.exit_code for e in failures.errors.values()]),
            destination=self._record.destination.uri,
            rows=finished.row_count,
            null_rows=null_rows,
            partitions=len(finished.partitions),
            partitions_written=published.written,
            partitions_unchanged=published.unchanged
            + (0 if self._adding is None else self._adding.unchanged),
            partitions_removed=published.removed,
            partitions_kept=len(vanished.keep),
            partitions_unread=sum(not prepared.is_selected(e) for e in self._tree.entries.values()),
            changes=changes_of(finished, self._record.run_id, vanished.remove),
            unrepresentable_rows=finished.unrepresentable_rows,
            bytes_written=published.bytes_written,
            scans=len(prepared.queries),
            reading=self._reading,
            scans_at_once=self._prepared.at_once,
            block_ranges=self._prepared.block_ranges,
            scan_rows=self._prepared.scan_rows,
            consistency=finished.source.consistency,
            warnings=tuple(self._warnings),
            error=error,
            hint=hint,
        )
