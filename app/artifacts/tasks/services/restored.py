"""Last step of a restore: recomputation of task memory data that archives do not contain."""

from app.adapters.db.session import Session
from app.adapters.documents.extracting import is_readable
from app.adapters.resources import Resources
from app.artifacts.tasks.store import repository
from app.artifacts.tasks.store.indexing import index_restored
from app.artifacts.tasks.store.tables import ContentPlace
from app.kernel.errors import InvalidArgument, Reason
from app.kernel.media_types import BYTES
from app.platform.engines.store.tables import EngineRow


async def complete(resources: Resources, session: Session, engine: EngineRow) -> None:
    """Recompute the counts of an engine's namespaces, and enqueue the chunking of texts.

    Raises:
        InvalidArgument: the pages of an artifact do not match its size or digest.
    """
    wrong = await repository.find_incomplete(session, engine.engine_id)
    if wrong is not None:
        message = f"{wrong}: sizeBytes and sha256 must agree with its pages."
        raise InvalidArgument(message, Reason.ARCHIVE_INVALID)
    await repository.count_again(session, engine.engine_id)
    readable, others = [], []
    for namespace, artifact in await repository.list_begun(session, engine.engine_id):
        if is_readable(artifact.media_type, artifact.sniffed_type or BYTES):
            readable.append((namespace, ContentPlace.of(artifact)))
        else:
            others.append(artifact.content_id)
    await repository.make_ready(session, engine.engine_id, others)
    if readable:
        now = resources.clock.now()
        await index_restored(session, resources.settings, engine, readable, now)
