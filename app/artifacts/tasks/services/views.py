"""Conversion of task memory rows to wire types; no content is included."""

from collections.abc import Iterable, Sequence

from pydantic import TypeAdapter

from app.artifacts.tasks.logic import Allowed, ArtifactState, Kind, OffPrompt, Reader, Warned
from app.artifacts.tasks.schemas import (
    MAX_LISTED,
    ActivityPolicy,
    Artifact,
    ArtifactReference,
    Namespace,
    Reference,
    Source,
    ToolPolicy,
)
from app.artifacts.tasks.store.listing import Contents, ListedArtifact
from app.artifacts.tasks.store.tables import ArtifactRow, NamespaceRow, ToolPolicyRow
from app.kernel.auth import Caller
from app.kernel.media_types import has_rows
from app.kernel.names import ArtifactName, NamespaceName, TaskMemoryName, ToolPolicyName
from app.kernel.permissions import Permission
from app.settings.settings import Settings

_ACTIVITIES = TypeAdapter[dict[str, ActivityPolicy]](dict[str, ActivityPolicy])
_EMPTY = Contents(0, 0, has_text=False)
MAX_PROMPT_CHARS = 400
_CUT = "\u2026"
_LEAST = 2
"""Minimum length of a name that is cut: its first character and the ellipsis."""
_TEXT = (
    "{who}: stored off prompt as memory={memory} namespace={namespace}; {count} {noun} ({types}),"
    " {total_bytes} bytes; readers: {readers}"
)


def reference_of(settings: Settings, row: NamespaceRow, inside: Contents | None) -> Reference:
    """Return the reference of a namespace; prompts may show it.

    Its readers are those that can use it: see `usable`.
    """
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
        readable_with=_readers(
            settings,
            row,
            contents.artifacts,
            has_text=contents.has_text,
            has_image=bool(contents.has_image),
        ),
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


def _readers(
    settings: Settings,
    row: NamespaceRow,
    artifacts: Iterable[ListedArtifact | ArtifactRow],
    *,
    has_text: bool,
    has_image: bool,
) -> list[Reader]:
    allowed, models = Allowed(row.local_only, row.allowed_models), settings.task_readers
    takers = [(name, one.locality == "local") for name, one in models.items() if one.reads]
    takes_images = any(allowed.takes(name, is_local=near) for name, near in takers)
    are_rows = any(has_rows(artifact.media_type) for artifact in artifacts)
    readers = readable_with(
        has_text=has_text or has_image,
        has_reader=(has_text and allowed.takes_any(models)) or (has_image and takes_images),
        has_rows=has_text and (are_rows or allowed.takes_model(models)),
        has_sinks=bool(settings.task_export_sinks),
    )
    return [reader for reader in readers if row.readers is None or reader in row.readers]


def artifact_of(
    settings: Settings,
    memory: TaskMemoryName,
    namespace: NamespaceRow,
    row: ArtifactRow,
    caller: Caller,
    *,
    is_silent: bool,
) -> Artifact:
    """Return an artifact, with sniffed type and digest only for callers who may see content.

    `is_silent`: whether the indexing of its text was given up.
    """
    sources = [Source(namespace=source[0], name=source[1]) for source in _sources(row.derived_from)]
    may_see_content = caller.may(Permission.ARTIFACTS_CONTENT)
    state = ArtifactState.READY if is_silent else ArtifactState(row.state)
    return Artifact(
        name=str(ArtifactName(NamespaceName(memory, row.namespace), row.name)),
        kind=Kind(row.kind),
        media_type=row.media_type,
        size_bytes=row.size_bytes,
        token_estimate=row.token_estimate,
        state=state,
        readable_with=usable(
            _readers(
                settings,
                namespace,
                [row],
                has_text=row.chunks > 0 or state is ArtifactState.INDEXING,
                has_image=row.is_image,
            ),
            caller,
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
    settings: Settings,
    memory: TaskMemoryName,
    row: NamespaceRow,
    inside: Contents | None,
    caller: Caller,
) -> Namespace:
    """Return a namespace in wire form."""
    reference = reference_of(settings, row, inside)
    readers = usable(reference.readable_with, caller)
    return Namespace(
        name=str(NamespaceName(memory, row.namespace)),
        reference=reference.model_copy(update={"readable_with": readers}),
        user_id=row.user_id,
        tool=row.tool,
        activity=row.activity,
        sensitive=row.sensitive,
        local_only=row.local_only,
        allowed_models=row.allowed_models,
        readers=None if row.readers is None else [Reader(name) for name in row.readers],
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
        local_only=row.local_only,
        allowed_models=row.allowed_models,
        readers=None if row.readers is None else [Reader(name) for name in row.readers],
        activities=row.activities and _ACTIVITIES.validate_python(row.activities),
        create_time=row.create_time,
        update_time=row.update_time,
        etag=str(row.version),
    )


def readable_with(
    *, has_text: bool, has_reader: bool, has_rows: bool, has_sinks: bool
) -> list[Reader]:
    """Return the readers that can use the artifacts; `has_rows`: rows can be extracted."""
    reading = [Reader.QUERY, Reader.SUMMARIZE] if has_text and has_reader else []
    reading += [Reader.EXTRACT] if reading and has_rows else []
    return [*reading, Reader.EXPORT] if has_sinks else reading


def usable(readers: list[Reader], caller: Caller) -> list[Reader]:
    """Return the readers that a caller may use: all of them need the same permission."""
    return readers if caller.may(Permission.ARTIFACTS_DERIVE) else []


def warned(reference: Reference) -> list[Warned]:
    """Return the warnings for an agent's developer about a stored output."""
    return [] if {*reference.readable_with} - {Reader.EXPORT} else [Warned.NO_READER]


def prompt_text(reference: Reference, tool: str, activity: str) -> str:
    """Return the prompt text for a stored output: at most 400 characters.

    The names of memory and namespace are never cut, since tools need them. Tool, activity and media
    types share the remaining room.
    """
    types = (
        ", ".join(dict.fromkeys(artifact.media_type for artifact in reference.artifacts)) or "none"
    )
    room = MAX_PROMPT_CHARS - len(_filled(reference, "", "", ""))
    return _filled(reference, *_shortened((tool, activity, types), room))


def _filled(reference: Reference, tool: str, activity: str, types: str) -> str:
    return _TEXT.format(
        who=f"{tool}.{activity}",
        memory=reference.memory,
        namespace=reference.namespace,
        count=reference.count,
        noun="artifact" if reference.count == 1 else "artifacts",
        types=types,
        total_bytes=reference.total_bytes,
        readers=", ".join(reference.readable_with) or "none",
    )


def _shortened(texts: Sequence[str], room: int) -> list[str]:
    shares: dict[int, int] = {}
    # Shortest first: room that short texts do not use goes to longer ones.
    for number, place in enumerate(sorted(range(len(texts)), key=lambda n: len(texts[n]))):
        share = max(room // (len(texts) - number), _LEAST)
        shares[place] = min(len(texts[place]), share)
        room -= shares[place]
    return [_cut(text, shares[place]) for place, text in enumerate(texts)]


def _cut(text: str, most: int) -> str:
    return text if len(text) <= most else text[: most - 1] + _CUT
