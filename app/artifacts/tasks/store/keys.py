"""Keys of task memory, and the conditions by which statements select its rows."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple

from sqlalchemy import ColumnElement, and_

from app.artifacts.tasks.logic.kinds import ArtifactState
from app.artifacts.tasks.store.tables import (
    ArtifactRow,
    ChunkRow,
    NamespaceRow,
    PageRow,
    VectorRow,
)
from app.kernel.names import NamespaceName


class NamespaceKey(NamedTuple):
    """Key of a namespace."""

    engine_id: int
    memory: str
    namespace: str


@dataclass(frozen=True)
class ContentPlace:
    """Key of an artifact's content."""

    engine_id: int
    memory: str
    namespace: str
    content_id: str

    @classmethod
    def of(cls, row: ArtifactRow) -> "ContentPlace":
        """Return the key of an artifact's content."""
        return cls(row.engine_id, row.memory, row.namespace, row.content_id)

    @property
    def columns(self) -> dict[str, Any]:
        """Columns of the key in the tables of pages and chunks."""
        return {
            "engine_id": self.engine_id,
            "memory": self.memory,
            "namespace": self.namespace,
            "content_id": self.content_id,
        }


Table = type[NamespaceRow] | type[ArtifactRow] | type[PageRow] | type[ChunkRow] | type[VectorRow]
Placed = NamespaceKey | ContentPlace | NamespaceRow | Table
"""Key, row or table with the columns of a namespace's key."""


def is_in(table: Table, namespace: NamespaceName | Placed) -> ColumnElement[bool]:
    """Select the rows of a table that are in a namespace, or in the one of another table's row."""
    if isinstance(namespace, NamespaceName):
        memory = namespace.memory
        namespace = NamespaceKey(memory.engine.engine, memory.memory, namespace.namespace)
    return and_(
        table.engine_id == namespace.engine_id,
        table.memory == namespace.memory,
        table.namespace == namespace.namespace,
    )


def is_readable(now: datetime) -> ColumnElement[bool]:
    """Select the artifacts that are completely uploaded and have not expired."""
    return and_(ArtifactRow.state != ArtifactState.UPLOADING, ArtifactRow.expire_time > now)
