"""Wire types of exports of artifacts."""

from pydantic import ConfigDict, Field

from app.artifacts.tasks.logic.fields import Directory
from app.kernel.wire.base import WireModel
from app.kernel.wire.scalars import Int64
from app.kernel.wire.task_fields import TaskId, TaskModel

MAX_TO_EXPORT = 1_000


class ExportNamespaceRequest(TaskModel):
    """Destination for the artifacts of a namespace."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"sink": "reports", "directory": "2026/november"}]}
    )

    sink: TaskId = Field(description="Name of a configured sink.")
    directory: Directory | None = Field(
        None,
        description="Folder for the files: names with `/` between them, below"
        " ENGINE/MEMORY/NAMESPACE in the sink.",
    )
    artifacts: list[TaskId] | None = Field(
        None,
        min_length=1,
        max_length=MAX_TO_EXPORT,
        description="Names of the artifacts to export; absent: all.",
    )


class ExportedFile(WireModel):
    """A file that was written."""

    artifact: TaskId = Field(description="Name of the artifact within its namespace.")
    path: str = Field(description="Path within the sink.")
    size_bytes: Int64 = Field(description="Size of the file in bytes.")


class ExportNamespaceResponse(WireModel):
    """The files that were written."""

    sink: str = Field(description="Name of the sink that was written to.")
    files: list[ExportedFile] = Field(
        description="Written files, one for each artifact, in the order of the artifacts."
    )
    total_bytes: Int64 = Field(description="Size of all files together, in bytes.")
