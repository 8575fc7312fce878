"""Says how the columns of an export differ from those of the run before.

Pure. Every run reads all windows anew, so a tree mixes old columns and new ones only where partitions are
kept; what changed is told, since readers may rely on it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

Schema = Sequence[Mapping[str, object]]


def changed_columns(old: Schema, new: Schema) -> str:
    """Say what is added, left out, of another type or in another place; empty where nothing is.

    >>> old = [{"name": "id", "type": "int32", "source_type": "integer"}]
    >>> changed_columns(old, [{"name": "id", "type": "int64", "source_type": "bigint"}])
    "'id' is int64, was int32"
    """
    before, now = ({column["name"]: column for column in schema} for schema in (old, new))
    changes = [f"{name!r} is new" for name in now if name not in before]
    changes += [f"{name!r} is gone" for name in before if name not in now]
    for name, column in now.items():
        was = before.get(name, column)
        told = next((what for what in ("type", "source_type") if was.get(what) != column.get(what)), None)
        if told is not None:
            changes.append(f"{name!r} is {column.get(told)}, was {was.get(told)}")
    kept = [name for name in before if name in now]
    if list(now)[: len(kept)] != kept:
        changes.append("old columns stand in other places: read them by name")
    return "; ".join(changes)
