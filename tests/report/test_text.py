"""Outcomes as people read them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from rivet.errors import ConfigError, Problem
from rivet.manifest.verdict import Code, Finding, Level
from rivet.outcome import PlannedPartition, PlanOutcome, ValidateOutcome
from rivet.plan.schema import Column, ColumnType, Fidelity, Kind
from rivet.report.errors import error_lines, problems_of
from rivet.report.planned import check_closing, check_lines, plan_error_lines, plan_lines
from rivet.report.summary import run_error_lines, run_lines
from rivet.report.validation import validate_error_lines, validate_lines, verdict_line
from tests.report.outcomes import COMPARISON, COMPLETE, FAILED, PLAN, SKIPPED, VERDICT, run_of


def test_a_complete_export_is_summed_up_in_two_lines() -> None:
    """Rows, NULL rows, partitions by what became of them, scans, consistency, bytes and time are told."""
    assert run_lines(run_of(COMPLETE)) == [
        "events: 3,000,000 rows (1,234 with NULL) in 366 partitions, 1 scan, consistency snapshot, 4.1 s",
        r"  made NULL: 34 values of 'created_at', 1 value of 'näme\n'",
        "  12 written (161.2 MB), 353 unchanged, 2 removed, 1 kept under /out/events/",
    ]


def test_scans_are_counted_in_words() -> None:
    """Several scans are plural, and what did not occur is not mentioned."""
    quiet = replace(
        COMPLETE, scans=3, null_rows=0, unrepresentable_rows={}, partitions_removed=0, partitions_kept=0
    )

    lines = run_lines(run_of(quiet))

    assert ", 3 scans," in lines[0]
    assert "NULL" not in lines[0]
    assert "removed" not in lines[1]
    assert "kept" not in lines[1]


def test_scans_at_once_are_told_with_their_rows() -> None:
    """The smallest and the largest scan, how many of them there were at once, and over what connections."""
    ended = run_lines(run_of(replace(COMPLETE, scans=9, scans_at_once=2, scan_rows=(500, 70_000))))
    planned = "\n".join(plan_lines(replace(PLAN, scans_at_once=2)))

    assert ", 9 scans of 500 to 70,000 rows, 2 at once, consistency" in ended[0]
    assert " 2 scans of 5 to 1,000 rows, 2 at once, over 3 connections, sorting about" in planned


def test_what_is_merged_names_no_scan() -> None:
    """No source is read for it."""
    assert ", 0 scans" not in run_lines(run_of(replace(COMPLETE, scans=0)))[0]


def test_failed_and_skipped_exports_are_told_apart() -> None:
    """A failure is an error with its mend; an export that never ran says why, and is no error."""
    outcome = run_of(FAILED, SKIPPED)

    assert run_lines(outcome) == [
        "orders: failed after 0.5 s",
        "users: skipped, since the run stopped before it",
    ]
    assert run_error_lines(outcome) == [
        "Error: orders: connection to 'db:5432' was reset",
        "Hint: try the same command again",
    ]


def test_findings_of_a_kind_are_summed_up() -> None:
    """Of a thousand notes and of many errors the first five are told and the others counted, errors first."""
    pending = [
        Finding(Level.NOTE, "partition_unfinished", f"d={day}", "the run was broken off")
        for day in range(993)
    ]
    some = [Finding(Level.NOTE, "unlisted_file", f"{n}.txt", "not listed") for n in range(6)]
    uncounted = Finding(Level.NOTE, "partition_unfinished", "", "7 more findings of this kind", 7)
    missing = [Finding(Level.ERROR, "part_missing", f"{n}.parquet", "not there") for n in range(40)]
    verdict = replace(VERDICT, findings=(*pending, *missing, *some, uncounted))

    header, *lines, closing = validate_lines(ValidateOutcome(None, "/out/", 4, verdict))

    assert header.split() == ["level", "code", "path", "finding"]
    told = [(line.split()[:3], line) for line in lines]
    assert [words[2] for words, _ in told[:5]] == [f"{n}.parquet" for n in range(5)]
    assert told[5][0][:2] == ["error", "part_missing"]
    assert told[5][1].endswith("  35 more of this kind, --json lists them")
    assert [words[2] for words, _ in told[6:11]] == [f"d={day}" for day in range(5)]
    assert told[11][1].endswith("  995 more of this kind, --json lists them")
    assert [words[2] for words, _ in told[12:]] == [f"{n}.txt" for n in range(6)]
    assert "40 errors, 1,006 notes" in closing


def test_findings_of_a_run_that_validated_are_errors() -> None:
    """With `--validate`, the findings and the verdict are told even where only errors are."""
    outcome = run_of(
        replace(COMPLETE, exit_code=4, status="failed", verdict=VERDICT, error="it does not validate")
    )

    assert run_lines(outcome)[-1] == f"  validation {verdict_line(VERDICT)}"
    assert any("part_missing" in line for line in run_error_lines(outcome))
    assert run_error_lines(outcome)[-1] == "Error: events: it does not validate"


def test_each_problem_of_a_config_is_its_own_pair() -> None:
    """A config's problems are told one by one, each with its path and its mend."""
    error = ConfigError([Problem("$.source", "no 'type'", "add type"), Problem("$.exports", "empty")])

    assert error_lines(problems_of(error)) == [
        "Error: $.source: no 'type'",
        "Hint: add type",
        "Error: $.exports: empty",
    ]


def test_context_that_an_error_gathered_is_told() -> None:
    """Notes that were added to an error as it passed stand behind its message."""
    error = ConfigError("no such file", hint="create it")
    error.add_note("export 'events'")

    assert error_lines(problems_of(error)) == ["Error: no such file; export 'events'", "Hint: create it"]


def test_a_plan_shows_each_partition_with_rows_and_path() -> None:
    """Facts, then one line per partition in order, NULL last, then warnings."""
    assert plan_lines(PLAN) == [
        "events:",
        "  source          shop at db:5432",
        "  engine          postgres, consistency snapshot",
        "  primary key     'id'",
        "  partitioned by  'created_at', day in UTC; no index leads with it",
        f"  rows            1,005 (5 with NULL), from {PLAN.minimum} to {PLAN.maximum}",
        "  made NULL       2 values of 'price'",
        "  partitions      3",
        "  read in         2 scans, sorting about 5.0 MB at the source",
        "  destination     /out/events/",
        "  day         expected rows  path",
        "  2023-01-01            400  day=2023-01-01",
        "  2023-01-02            600  day=2023-01-02",
        "  NULL                    5  day=__HIVE_DEFAULT_PARTITION__",
        "  warning: no index leads with 'created_at'",
    ]


def test_a_plan_of_many_partitions_is_cut_in_the_middle() -> None:
    """Ten thousand partitions do not scroll the facts away, and none is left out in silence."""
    many = tuple(PlannedPartition(f"{n:05d}", f"day={n:05d}", 1) for n in range(10_000))

    lines = plan_lines(replace(PLAN, partitions=many))

    assert len(lines) < 100
    assert "  ... 9,940 partitions left out, --json lists all ..." in lines
    assert any("day=00000" in line for line in lines)
    assert any("day=09999" in line for line in lines)


def test_a_check_shows_both_types_of_each_column() -> None:
    """The source's own type name stands beside the Arrow type."""
    lines = check_lines(replace(PLAN, partitions=None, scans=None, rows=None))

    assert "  created_at  timestamp with time zone  timestamp[us, UTC]  exact" in lines
    assert "  price       numeric(12,2)             decimal128(12,2)    exact" in lines
    assert lines[-1] == "  warning: no index leads with 'created_at'"


def test_a_check_says_once_that_it_looked_at_no_values() -> None:
    """Whatever the number of exports; and not at all where it came to look at none."""
    failed = PlanOutcome("orders", "/out/orders/", exit_code=2, error="no table")

    assert check_closing([PLAN, failed, PLAN]) == [
        "values were not checked: `rivet plan` counts rows, and the values that it can tell not to fit"
    ]
    assert check_closing([failed]) == []


def test_a_check_says_what_lossy_means() -> None:
    """Once, under the columns, where one is lossy; else nothing is said of it."""
    lossy = Column("n", ColumnType(Kind.FLOAT64), "numeric", Fidelity.LOSSY)
    lines = check_lines(replace(PLAN, columns=(*PLAN.columns, lossy, replace(lossy, name="m"))))
    meaning = (
        "  lossy: this type cannot hold every value of its source type; the run fails at the first value "
        "that it cannot hold, and rounds nothing"
    )

    assert lines.count(meaning) == 1
    assert lines[lines.index(meaning) - 1].startswith("  m ")
    assert meaning not in check_lines(PLAN)


def test_a_check_shows_what_each_reader_makes_of_the_tree() -> None:
    """One line for each thing to know, the reader named once, and a reader without any reads it as it is."""
    readers = {"DuckDB": (), "pyarrow": ("fails at a\nb", "refuses"), "Spark": ("shows",)}
    lines = check_lines(replace(PLAN, partitions=None, scans=None, rows=None, readers=readers))

    assert lines[-6:-1] == [
        "  reader   what it makes of this tree",
        "  DuckDB   reads it as it is",
        r"  pyarrow  fails at a\nb",
        "           refuses",
        "  Spark    shows",
    ]


def test_an_export_that_could_not_be_planned_says_what_was_known() -> None:
    """A failed plan shows its name and destination, and its error with the mend."""
    failed = PlanOutcome(
        "events",
        "/out/events/",
        exit_code=2,
        source="shop",
        error="no table 'event'",
        hint="did you mean 'events'?",
    )

    assert plan_lines(failed) == ["events:", "  source       shop", "  destination  /out/events/"]
    assert plan_error_lines([failed]) == ["Error: events: no table 'event'", "Hint: did you mean 'events'?"]


def test_a_verdict_lists_errors_first_and_closes_with_the_totals() -> None:
    """Findings have level, code, path and message; the last line says failed, how deeply, and how much."""
    assert validate_lines(ValidateOutcome("events", "/out/events/", 4, VERDICT)) == [
        "level  code           path                    finding",
        "error  part_missing   d=2023-01-01/a.parquet  listed, and not there",
        "note   unlisted_file  notes.txt               not listed",
        "events: failed at full depth: 1 error, 1 note, 2 partitions, 3 parts, 10 rows, 2.0 kB",
    ]


def test_a_clean_tree_passes_in_one_line() -> None:
    """Without findings there is no table, and without a config the prefix names the tree."""
    clean = replace(VERDICT, findings=(), depth="quick")

    assert validate_lines(ValidateOutcome(None, "out/", 0, clean)) == [
        "out/: passed at quick depth: 2 partitions, 3 parts, 10 rows, 2.0 kB"
    ]


@pytest.mark.parametrize(
    ("code", "is_of_a_run"),
    [(Code.EXPORT_UNFINISHED, True), (Code.EXPORT_PARTIAL, True), (Code.UNLISTED_FILE, False)],
)
def test_a_verdict_on_what_a_run_has_left_says_to_run_again(code: Code, *, is_of_a_run: bool) -> None:
    """A killed run leaves errors that the same command mends; of other errors that is not said."""
    damaged = Finding(Level.ERROR, Code.UNLISTED_PARQUET, "d=2023-01-01/b.parquet", "no manifest lists it")
    failed = replace(VERDICT, findings=(damaged, Finding(Level.NOTE, code, "x", "told")))
    expected = ["Error: events: a run has not ended, or has not published everything"] if is_of_a_run else []

    assert validate_error_lines([ValidateOutcome("events", "/out/events/", 4, failed)])[:1] == expected

    passed = replace(failed, findings=failed.findings[1:])
    assert validate_error_lines([ValidateOutcome("events", "/out/events/", 0, passed)]) == []


def test_a_comparison_lists_partitions_with_both_counts() -> None:
    """Errors alone are listed, after the verdict; what is kept is counted at the end, with both moments."""
    outcome = ValidateOutcome("events", "/out/events/", 4, replace(VERDICT, findings=()), COMPARISON)

    assert validate_lines(outcome)[1:] == [
        "partition         rows in tree  at source  difference  written at",
        "2023-01-01               3,301      3,300          +1  2023-01-02 03:04:05Z",
        "NULL                         -      1,200      -1,200  -",
        "fits no calendar             -          2          -2  -",
        (
            "events: not as many rows as at the source: 2 of 60 partitions differ, 200,401 rows in the "
            "tree and 201,202 there; none there any more of 1 kept partition; counted at 2023-01-02 "
            "09:00:00Z in shop at db:5432, the tree is of 2023-01-02 03:04:05Z"
        ),
    ]
    told = "Error: events: not as many rows as the source"
    assert validate_error_lines([outcome])[0] == told
    assert "vanished" not in validate_error_lines([outcome])[1]
    gone = tuple(replace(d, level=Level.ERROR) for d in COMPARISON.differences)
    of_gone = validate_error_lines([replace(outcome, comparison=replace(COMPARISON, differences=gone))])
    assert of_gone[0] == told
    assert of_gone[1].endswith("vanished: remove or keep says what becomes")

    agreed = replace(outcome, exit_code=0, comparison=replace(COMPARISON, differences=()))
    assert validate_lines(agreed)[1:] == [
        (
            "events: as many rows as at the source: 60 partitions, 201,202 rows; counted at 2023-01-02 "
            "09:00:00Z in shop at db:5432, the tree is of 2023-01-02 03:04:05Z"
        )
    ]
    assert validate_error_lines([agreed]) == []


def test_a_long_list_of_differing_partitions_is_cut() -> None:
    """Of thousands the first and the last are shown, and how many are between them."""
    many = tuple(replace(COMPARISON.differences[1], value=f"{year}") for year in range(2000, 5000))
    outcome = ValidateOutcome(
        None, "out/", 4, replace(VERDICT, findings=()), replace(COMPARISON, differences=many)
    )

    _, header, *rows, _ = validate_lines(outcome)

    assert header.startswith("partition")
    assert (rows[0].split()[0], rows[-1].split()[0]) == ("2000", "4999")
    assert "... 2,940 partitions left out, --json lists all ..." in rows
    assert len(rows) == 61


def test_hostile_names_cannot_forge_lines() -> None:
    """A line break in an export's name, an error, a path or a finding never begins a line of its own."""
    evil = "x\nError: forged\x1b[2J"
    finding = Finding(Level.ERROR, "part_missing", evil, evil)
    difference = replace(COMPARISON.differences[1], value=evil, started_at=evil)
    outcome = run_of(
        replace(COMPLETE, name=evil, destination=evil), replace(FAILED, name=evil, error=evil, hint=evil)
    )
    plan = replace(
        PLAN, name=evil, source=evil, warnings=(evil,), partitions=(PlannedPartition(evil, evil, 1),)
    )

    lines = [
        *run_lines(outcome),
        *run_error_lines(outcome),
        *plan_lines(plan),
        *validate_lines(
            ValidateOutcome(
                evil,
                evil,
                4,
                replace(VERDICT, findings=(finding,)),
                replace(COMPARISON, source=evil, started_at=evil, differences=(difference,)),
            )
        ),
    ]

    assert all(line.isprintable() for line in lines)
    assert not any(line.startswith("Error: forged") for line in lines)
