"""The text that readers get of an artifact, page by page, for callers who may see content."""

from app.adapters.resources import Resources
from app.artifacts.readers import store
from app.artifacts.readers.schemas import TextPage
from app.artifacts.readers.services.reading_session import ExplainedArtifact, not_ready
from app.artifacts.readers.store import Unreadable
from app.artifacts.tasks.logic import ArtifactState
from app.artifacts.tasks.store import repository
from app.artifacts.tasks.store.indexing import failures
from app.artifacts.tasks.store.listing import list_indexing_failed
from app.artifacts.tasks.store.tables import ArtifactRow
from app.kernel.errors import InvalidArgument, Reason
from app.kernel.names import ArtifactName
from app.platform.engines.store import repository as engines


async def read_page(resources: Resources, name: ArtifactName, page: int) -> TextPage:
    """Return a page of the text of an artifact.

    Raises:
        Aborted: the text is still being indexed.
        InvalidArgument: the artifact has no text, or not as many pages.
        NotFound: the artifact does not exist, or the caller has no access to it.
    """
    namespace = name.namespace
    async with resources.db.snapshot() as session:
        await engines.get(session, namespace.memory.engine)
        row = await repository.get_artifact(session, name, resources.clock.now())
        is_given_up = bool(await list_indexing_failed(session, [row]))
        if row.state == ArtifactState.READY and row.chunks:
            bounds = await store.find_bounds(session, row, page)
            if page > bounds.pages:
                raise InvalidArgument.of_field(
                    "page", f"must be from 1 to {bounds.pages}; got {page}."
                )
            text = await store.read_text(session, row, bounds)
            return TextPage(
                text=text, page=page, pages=bounds.pages, start=bounds.start, end=bounds.end
            )
        failed = await failures(session, row.engine_id, [row.content_id])
    if row.state == ArtifactState.INDEXING and not is_given_up:
        raise await not_ready(resources, namespace, [row.content_id])
    raise _unreadable(row, failed.get(row.content_id))


def _unreadable(row: ArtifactRow, failure: str | None) -> InvalidArgument:
    artifact = Unreadable(
        name=row.name,
        content_id=row.content_id,
        media_type=row.media_type,
        sniffed_type=row.sniffed_type,
        size=row.size_bytes,
        depth=row.depth,
        is_image=row.is_image,
    )
    reason = ExplainedArtifact(artifact, failure, is_for_images=False).reason
    message = f"artifacts/{row.name} has no readable text. {reason}"
    return InvalidArgument(message, Reason.NO_READABLE_ARTIFACTS)
