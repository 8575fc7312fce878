"""Keys and values that are refused by name: those of later versions, and those of the older tool.

Pure. The older tool is the public `rivet-cli`, whose command has the same name; its keys were read from the
JSON Schema that its version 0.32.2 prints.
"""

from __future__ import annotations

LATER = "comes with a later version of Rivet"
OLDER = "is a key of the older tool of this name"

_WHOLE = "remove it: `mode: full` reads a partition of any size in bounded memory"
_CURSOR = "write `mode: incremental` and `cursor_column`"
_STORE = "write `type: local`, `s3` or `gcs`, and copy the tree to where it shall be"
_AGAIN = "remove it: the same command finishes or undoes what a failed run began"

LATER_KEYS = {
    "old_parts_seconds": "remove it: old files go as soon as the new ones are published",
}

LATER_VALUES: dict[str, tuple[str, ...]] = {
    "partition_granularity": ("hour", "week", "quarter"),
    "snapshot": ("run",),
}

_NOT_OFFERED = "remove it: Rivet has no such thing"
_TUNING = "remove it: Rivet sizes batches itself; time limits are `statement_timeout_seconds` of the source"
_WINDOW = "write `partition_by` and `partition_granularity`, or a `query` that selects the time you want"
_AFTERWARDS = "remove it, and check the tree with `rivet validate`"
_SIDE_BY_SIDE = "remove it, and start one `rivet run --export NAME` for each export"
_AZURE = "remove it: Azure is no destination of Rivet"

OLDER_KEYS = {
    "notifications": "remove it, and let the scheduler tell; `rivet run --summary-file` writes what happened",
    "parallel_exports": _SIDE_BY_SIDE,
    "parallel_export_processes": _SIDE_BY_SIDE,
    "load": "remove it: Rivet ends at the files, which the warehouse reads by itself",
    "target": "remove it: `rivet check` warns about every reader",
    "environment": "write the limits themselves: `statement_timeout_seconds`, `max_sort_size`",
    "tuning": _TUNING,
    "batch_size": _TUNING,
    "batch_size_memory_mb": _TUNING,
    "throttle_ms": _TUNING,
    "statement_timeout_s": "write `statement_timeout_seconds`",
    "mongo": _NOT_OFFERED,
    "accept_invalid_certs": "write `mode: require`, which encrypts and checks no certificate",
    "accept_invalid_hostnames": "write `mode: verify-ca`, which checks who signed, not the host's name",
    "tables": "write one export for each table, with what they share under `defaults`",
    "cdc": _NOT_OFFERED,
    "incremental_cursor_mode": _CURSOR,
    "settle": "write `lag`, with `mode: incremental`",
    "chunk_dense": _WHOLE,
    "chunk_size_memory_mb": "write `max_file_size`; memory is bounded without it",
    "chunk_by_days": "write `partition_by` and `partition_granularity: day`",
    "chunk_checkpoint": _AGAIN,
    "chunk_max_attempts": _AGAIN,
    "keyset_incremental": _CURSOR,
    "wave": "remove it: exports run in the order of the config",
    "parallel_safe": _SIDE_BY_SIDE,
    "source_group": _NOT_OFFERED,
    "time_column": _WINDOW,
    "time_column_type": _WINDOW,
    "days_window": _WINDOW,
    "compression_profile": "write `compression` and `compression_level`",
    "verify": "remove it, and run with `--validate`, which reads back every byte",
    "meta_columns": "write the columns into a `query`",
    "quality": _AFTERWARDS,
    "reconcile_required": "remove it: every run counts its rows against the source",
    "on_schema_drift": "remove it: the manifest holds the schema and its fingerprint",
    "shape_drift_warn_factor": _NOT_OFFERED,
    "parquet": "remove it: row groups are sized by rows and bytes",
    "endpoint": "write `endpoint_url`",
    "aws_profile": "write `profile`",
    "allow_anonymous": "write `anonymous: true`, for GCS",
    "oneshot_budget_mb": _NOT_OFFERED,
    "account_name": _AZURE,
    "account_key_env": _AZURE,
    "sas_token_env": _AZURE,
}

OLDER_VALUES = {
    ("mode", "time_window"): "remove it: with `partition_by` each partition is a window of time; without it,"
    " write a `query` that selects the time you want",
    ("mode", "cdc"): _NOT_OFFERED,
    ("format", "csv"): "write `format: parquet`",
    ("type", "azure"): _STORE,
    ("type", "stdout"): _STORE,
    ("type", "mariadb"): "write `type: mysql`, which serves MariaDB too",
}


def key_refusal(key: str) -> tuple[str, str] | None:
    """Word the refusal of a key that is known but not taken: message and mend, or None for a stranger.

    >>> key_refusal("--parallel-export-processes")[0]
    'is a key of the older tool of this name'
    """
    name = key.lstrip("-").replace("-", "_").lower()
    if name in LATER_KEYS:
        return LATER, LATER_KEYS[name]
    return (OLDER, OLDER_KEYS[name]) if name in OLDER_KEYS else None


def value_refusal(key: str, value: object, expected: str) -> tuple[str, str] | None:
    """Word the refusal of a key's value that is known but not taken; `{found}` in the message shows it."""
    if isinstance(value, str) and value in LATER_VALUES.get(key, ()):
        return "found {found}, which " + LATER, f"today: {expected}"
    older = OLDER_VALUES.get((key, value)) if isinstance(value, str) else None
    return ("found {found}, expected " + expected, older) if older is not None else None
