"""Conversion of task memory rows to wire types; no content is included."""

from collections.abc import Iterable

from app.artifacts.tasks.logic.allowing import Allowed
from app.artifacts.tasks.logic.kinds import ArtifactState, Kind, OffPrompt, Reader
from app.artifacts.tasks.schemas.policies import ToolPolicy
from app.artifacts.tasks.schemas.tasks import (
    MAX_LISTED,
    Artifact,
    ArtifactReference,
    Namespace,
    Reference,
    Source,
)
from app.artifacts.tasks.services.references import readable_with
from app.artifacts.tasks.store.listing import Contents, ListedArtifact
from app.artifacts.tasks.store.tables import ArtifactRow, NamespaceRow, ToolPolicyRow
from app.kernel.names import ArtifactName, NamespaceName, TaskMemoryName, ToolPolicyName
from app.settings.settings import Settings

_EMPTY = Contents(0, 0, has_text=False)


def reference_of(settings: Settings, row: NamespaceRow, inside: Contents | None) -> Reference:
    """Return the reference of a namespace; prompts may show it."""
    contents = inside or _EMPTY
    sources = list(
        dict.fromkeys(
            source for artifact in contents.artifacts for source in _sources(artifact.sources)
        )
    )
    return Reference(
        memory=row.memory,
        namespace=row.namespace,
        artifacts=[_to_reference(artifact) for artifact in contents.artifacts],
        count=contents.count,
        total_bytes=contents.bytes,
        created_time=row.create_time,
        expire_time=row.expire_time,
        readable_with=_readers(settings, row, has_text=contents.has_text),
        derived_from=[
            Source(namespace=source[0], name=source[1]) for source in sources[:MAX_LISTED]
        ]
        or None,
    )


def _to_reference(row: ListedArtifact) -> ArtifactReference:
    return ArtifactReference(
        name=row.name,
        kind=Kind(row.kind),
        media_type=row.media_type,
        size_bytes=row.size_bytes,
        token_estimate=row.token_estimate,
    )


def _sources(sources: Iterable[dict[str, str]] | None) -> list[tuple[str, str]]:
    return [(source["namespace"], source["name"]) for source in sources or ()]


def _readers(settings: Settings, row: NamespaceRow, *, has_text: bool) -> list[Reader]:
    allowed = Allowed(row.local_only, row.allowed_models)
    return readable_with(
        has_text=has_text,
        has_reader=allowed.takes_any(settings.task_readers),
        has_sinks=bool(settings.task_export_sinks),
    )


def artifact_of(
    settings: Settings,
    memory: TaskMemoryName,
    namespace: NamespaceRow,
    row: ArtifactRow,
    *,
    may_see_content: bool,
    is_silent: bool,
) -> Artifact:
    """Return an artifact, with sniffed type and digest only for callers who may see content.

    `is_silent`: whether the indexing of its text was given up.
    """
    sources = [Source(namespace=source[0], name=source[1]) for source in _sources(row.derived_from)]
    state = ArtifactState.READY if is_silent else ArtifactState(row.state)
    return Artifact(
        name=str(ArtifactName(NamespaceName(memory, row.namespace), row.name)),
        kind=Kind(row.kind),
        media_type=row.media_type,
        size_bytes=row.size_bytes,
        token_estimate=row.token_estimate,
        state=state,
        readable_with=_readers(
            settings, namespace, has_text=row.chunks > 0 or state is ArtifactState.INDEXING
        ),
        derived_from=sources[:MAX_LISTED] or None,
        source_deleted=row.source_deleted or None,
        depth=row.depth or None,
        sniffed_type=row.sniffed_type if may_see_content else None,
        sha256=row.sha256.hex() if may_see_content and row.sha256 else None,
        create_time=row.create_time,
        expire_time=row.expire_time,
        etag=row.content_id,
    )


def namespace_of(
    settings: Settings, memory: TaskMemoryName, row: NamespaceRow, inside: Contents | None
) -> Namespace:
    """Return a namespace in wire form."""
    return Namespace(
        name=str(NamespaceName(memory, row.namespace)),
        reference=reference_of(settings, row, inside),
        user_id=row.user_id,
        tool=row.tool,
        activity=row.activity,
        sensitive=row.sensitive,
        local_only=row.local_only,
        allowed_models=row.allowed_models,
        embedding_model=row.embedding_model,
        create_time=row.create_time,
        update_time=row.update_time,
        expire_time=row.expire_time,
        etag=str(row.version),
    )


def policy_of(memory: TaskMemoryName, row: ToolPolicyRow) -> ToolPolicy:
    """Return the policy of a tool in wire form."""
    return ToolPolicy(
        name=str(ToolPolicyName(memory, row.tool)),
        off_prompt=OffPrompt(row.off_prompt),
        max_inline_tokens=row.max_inline_tokens,
        sensitive=row.sensitive,
        ttl=row.ttl,
        create_time=row.create_time,
        update_time=row.update_time,
        etag=str(row.version),
    )
