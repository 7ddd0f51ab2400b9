"""Admission of ingested events: masking that keeps event ids distinct."""

from collections.abc import Mapping

from app.kernel.names import EngineName
from app.kernel.wire.privacy_config import Place
from app.memory.erasures.logic.pseudonyms import Pseudonyms
from app.memory.erasures.services.certificates import pseudonyms_of
from app.memory.generation.schemas import MAX_EVENT_ID_CHARS, ContentEvent
from app.memory.generation.services.generation import MASKED_FIELDS
from app.memory.ingestion.schemas import IngestEventsRequest
from app.platform.privacy.services.privacy import PrivacyService

_MARK_CHARS = 16


async def admitted(
    privacy: PrivacyService, name: EngineName, sent: IngestEventsRequest
) -> tuple[IngestEventsRequest, Mapping[str, int]]:
    """Return the masked request, and the number of masked values by kind.

    A stream ignores repeated event ids. A masked id therefore gets a suffix, the keyed digest of
    the original id.

    Raises:
        NotFound: the engine does not exist.
        InvalidArgument: the request contains values that the engine refuses.
    """
    request, masked = await privacy.admit(name, Place.GENERATION, sent, MASKED_FIELDS)
    before, after = sent.direct_contents_source, request.direct_contents_source
    if before is None or after is None:
        return request, masked
    pairs = list(zip(before.events, after.events, strict=True))
    if all(one.event_id == other.event_id for one, other in pairs):
        return request, masked
    async with privacy.db.snapshot() as session:
        pseudonyms = await pseudonyms_of(session, privacy.settings)
    events = [_distinct(one, other, pseudonyms) for one, other in pairs]
    source = after.model_copy(update={"events": events})
    return request.model_copy(update={"direct_contents_source": source}), masked


def _distinct(sent: ContentEvent, masked: ContentEvent, pseudonyms: Pseudonyms) -> ContentEvent:
    if sent.event_id is None or masked.event_id is None or sent.event_id == masked.event_id:
        return masked
    mark = pseudonyms.of({"eventId": sent.event_id})[-_MARK_CHARS:]
    kept = masked.event_id[: MAX_EVENT_ID_CHARS - len(mark) - 1]
    return masked.model_copy(update={"event_id": f"{kept}-{mark}"})
