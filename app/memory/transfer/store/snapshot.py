"""Snapshot of an engine's rows by server-side cursors; for use in a thread, since calls block.

All statements have the parameters `engine` (the engine's id), `now` and `reads_sensitive`.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple

from psycopg import sql

from app.adapters.db.own_connections import Connection
from app.memory.transfer.logic.fields import TEXT, VECTOR, ArchiveField, LineKind
from app.memory.transfer.logic.kinds import KINDS, NOT_EXPORTED, OMITTED

_FIRST_ROWS = 8
_MOST_ROWS = 500
_BYTES = 1024**2

_Counting = tuple[str, sql.Composed]
"""Reason why rows are left out, and the statement that counts them."""

_IS_SEEN = {
    "memories": "(({0}.delete_time is null"
    " and ({0}.expire_time is null or {0}.expire_time > %(now)s))"
    " or {0}.recover_until > %(now)s)",
    "sessions": "{0}.expire_time > %(now)s",
    "streams": "{0}.pending_count > 0",
    "task_namespaces": "({0}.artifacts > 0 and {0}.expire_time > %(now)s)",
    "task_artifacts": "({0}.state <> 'uploading' and {0}.expire_time > %(now)s)",
}
"""Conditions for rows that are still visible or recoverable."""
_JOINED = {
    "memory_revisions": ("memories", ("memory_id",)),
    "memory_vectors": ("memories", ("memory_id",)),
    "session_events": ("sessions", ("session_id",)),
    "session_summaries": ("sessions", ("session_id",)),
    "stream_events": ("streams", ("scope_hash", "stream_id")),
    "task_artifacts": ("task_namespaces", ("memory", "namespace")),
    "task_pages": ("task_artifacts", ("content_id",)),
}
"""Parent table and its key, by table; a row is exported only if its parent is visible."""
_IS_SENSITIVE = (
    "exists (select from task_namespaces n where n.engine_id = {0}.engine_id"
    " and n.memory = {0}.memory and n.namespace = {0}.namespace and n.sensitive)"
)
_IS_OMITTED = f"(not %(reads_sensitive)s and {_IS_SENSITIVE})"
_IS_OPEN = "o.state in ('PENDING', 'RUNNING')"
_OWN = {
    "memory_revisions": "t.expire_time > %(now)s",
    # Only the serving model, which the header names; the target restarts any re-embedding.
    "memory_vectors": "t.model_id = (select e.embedding_model from engines e"
    " where e.engine_id = %(engine)s) and p.delete_time is null",
    "stream_events": "t.process_time is null",
    "read_lines": "t.expire_time > %(now)s",
    "task_pages": f"not {_IS_OMITTED.format('p')}",
    "operations": "t.state in ('SUCCEEDED', 'FAILED', 'CANCELLED')"
    " and (t.remove_time is null or t.remove_time > %(now)s)"
    f" and t.kind not in {NOT_EXPORTED}",
}
"""Additional conditions on the row `t` and its parent `p`."""


def _selected(kind: LineKind) -> sql.Composed:
    """Return the statement that selects the rows of a kind in archive order."""
    conditions = ["t.engine_id = %(engine)s"]
    source = f"{kind.table} t"
    if kind.table in _IS_SEEN:
        conditions.append(_IS_SEEN[kind.table].format("t"))
    if kind.table in _JOINED:
        parent, key = _JOINED[kind.table]
        same = " and ".join(f"p.{name} = t.{name}" for name in ("engine_id", *key))
        source += f" join {parent} p on {same}"
        conditions.append(_IS_SEEN[parent].format("p"))
    if kind.table in _OWN:
        conditions.append(_OWN[kind.table])
    columns = ", ".join(map(_column, kind.fields))
    codecs = {field.column: field.codec for field in kind.fields}
    order = ", ".join(
        f't.{name} collate "C"' if codecs[name] is TEXT else f"t.{name}" for name in kind.key
    )
    # The text consists of names from this package alone.
    text = f"select {columns} from {source} where {' and '.join(conditions)}"  # noqa: S608 - no input of callers
    return _composed(f"{text} order by {order}" if order else text)


def _column(written: ArchiveField) -> str:
    if written.column == OMITTED:
        return f"case when {_IS_OMITTED.format('t')} then 'sensitive' end"
    if written.codec is VECTOR:
        return f"halfvec_send(t.{written.column})"
    return f"t.{written.column}"


def _composed(text: str) -> sql.Composed:
    return sql.SQL("{}").format(sql.SQL(text))


_MODEL = _composed(
    "select embedding_model from engines where engine_id = %(engine)s and delete_time is null"
)
"""Selects the serving model of an engine that is not deleted."""
_LENGTH = _composed("select dimensions from embedding_models where model_id = %(model)s")
"""Selects a model's vector length, which may be stored on another node than the engine."""


def _count(source: str, condition: str) -> sql.Composed:
    return _composed(
        f"select count(*) from {source} o where o.engine_id = %(engine)s and {condition}"  # noqa: S608 - as in `_selected`
    )


_LEFT: Mapping[str, _Counting] = {
    "pendingOperations": ("they had not ended", _count("operations", _IS_OPEN)),
    "previews": (
        "they would be out of date",
        _count("operations", f"o.kind = 'generation.preview' and not {_IS_OPEN}"),
    ),
    "sensitiveArtifacts": (
        "the key lacks artifacts.content",
        _count(
            "task_artifacts",
            f"{_IS_SEEN['task_artifacts'].format('o')} and {_IS_OMITTED.format('o')}",
        ),
    ),
    "uploads": (
        "they were not complete",
        _count("task_artifacts", "o.state = 'uploading' and o.expire_time > %(now)s"),
    ),
}
"""Rows that every export leaves out, with the reason."""
_UNWANTED: Mapping[str, _Counting] = {
    "artifacts": (
        "the request has artifacts=false",
        _count("task_artifacts", _IS_SEEN["task_artifacts"].format("o")),
    ),
    "sessions": (
        "the request has sessions=false",
        _count("sessions", _IS_SEEN["sessions"].format("o")),
    ),
}
"""Rows that an export leaves out if the option of their name is False, with the reason."""
_STATEMENTS = {kind.name: _selected(kind) for kind in KINDS}


class Pace:
    """Rows per fetch: at most 500, and about 1 MiB in total if all are as large as the last row.

    The number at most doubles with each row and shrinks at once after a large row.
    """

    def __init__(self) -> None:
        self.rows = _FIRST_ROWS

    def note(self, size: int) -> None:
        """Adapt the number to the size of a row, in bytes."""
        self.rows = max(1, min(_MOST_ROWS, 2 * self.rows, _BYTES // max(size, 1)))


class ServingModel(NamedTuple):
    """The model that serves an engine, and its vector length; None if there are no vectors."""

    model_id: str | None
    dimensions: int | None


class EngineSnapshot:
    """Consistent view of one engine, in an open snapshot transaction, without expired rows.

    `reads_sensitive` reads the bytes of sensitive artifacts.
    """

    def __init__(
        self, connection: Connection, engine_id: int, now: datetime, *, reads_sensitive: bool
    ) -> None:
        self._connection = connection
        self._values = {"engine": engine_id, "now": now, "reads_sensitive": reads_sensitive}

    def model(self) -> ServingModel | None:
        """Return the model that serves the engine; None: the engine does not exist."""
        row = self._connection.execute(_MODEL, self._values).fetchone()
        if row is None:
            return None
        (model_id,) = row
        length = self._connection.execute(_LENGTH, {"model": model_id}).fetchone()
        return ServingModel(model_id, None if length is None else length[0])

    def rows(self, kind: LineKind, pace: Pace) -> Iterator[Sequence[Any]]:
        """Yield the rows of a kind in archive order, as many per fetch as `pace` says."""
        with self._connection.cursor(name=kind.name) as cursor:
            cursor.execute(_STATEMENTS[kind.name], self._values)
            while fetched := cursor.fetchmany(pace.rows):
                yield from fetched

    def left_out(self, options: Mapping[str, bool]) -> dict[str, dict[str, Any]]:
        """Return reason and count of the rows that an export leaves out, by name."""
        unwanted = {name: counting for name, counting in _UNWANTED.items() if not options[name]}
        counted = {**_LEFT, **unwanted}
        counts = {name: self._count(statement) for name, (_, statement) in counted.items()}
        return {
            name: {"count": count, "reason": counted[name][0]}
            for name, count in counts.items()
            if count
        }

    def _count(self, statement: sql.Composed) -> int:
        row = self._connection.execute(statement, self._values).fetchone()
        return 0 if row is None else int(row[0])
