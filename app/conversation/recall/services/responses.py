"""Handling of request and response fields that all searches share."""

from collections.abc import Sequence
from typing import Any

from app.adapters.llm.named import check_model
from app.adapters.resources import Resources
from app.conversation.recall.logic.spans import SentenceSpan
from app.conversation.recall.schemas import RecalledSessionSpan, RecallFields, RecallMode
from app.conversation.recall.services.retelling import Retold
from app.conversation.strategies.service import Counter, loaded
from app.kernel.names import EngineName, EventName, SessionName
from app.kernel.wire.memory_policy import CHARS4
from app.platform.sessions.logic.event_text import EventText

_SCORE_DIGITS = 4


async def check_names(resources: Resources, request: RecallFields) -> Counter:
    """Check the model that a request names, and return its counter.

    Raises:
        InvalidArgument: the model or counter does not exist.
    """
    counter = await loaded(request.counter or CHARS4, resources.settings, "counter")
    if request.model is not None:
        check_model(request.model, resources.models, "model")
    return counter


def span_fields(session: SessionName, span: SentenceSpan, counter: Counter) -> dict[str, Any]:
    """Return the fields of a `RecalledSpan`."""
    return {
        "event": str(EventName(session, span.said.event_id)),
        "seq": span.said.seq,
        "speaker": span.said.speaker.value,
        "start_offset": span.start,
        "end_offset": span.end,
        "text": span.text,
        "tokens": counter.count(span.text),
        "score": round(span.score, _SCORE_DIGITS),
    }


def event_name(engine: EngineName, said: EventText) -> str:
    """Return the full name of an event; `engine` is the stored name."""
    return str(EventName(SessionName(engine, said.session_id), said.event_id))


def session_spans(
    engine: EngineName, spans: Sequence[SentenceSpan], counter: Counter
) -> list[RecalledSessionSpan]:
    """Return passages in the form of responses; `engine` is the stored name."""
    told = []
    for span in spans:
        session = SessionName(engine, span.said.session_id)
        fields = span_fields(session, span, counter)
        told.append(
            RecalledSessionSpan(**fields, session=str(session), event_time=span.said.timestamp)
        )
    return told


def answer_fields(answer: Retold, counter: Counter) -> dict[str, Any]:
    """Return all fields of an answer in the mode `summary` except its sources."""
    return {
        "mode": RecallMode.SUMMARY,
        "spans": [],
        "text": answer.text,
        "is_cut": answer.is_cut,
        "model": answer.model,
        "usage": answer.usage,
        "tokens": counter.count(answer.text),
        "counter": counter.name,
    }
