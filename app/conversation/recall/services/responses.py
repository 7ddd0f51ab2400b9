"""Results of a search in the form of responses: what it found, or an answer made of that."""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from app.adapters.llm.models import check_model
from app.adapters.resources import Resources
from app.conversation.recall.logic.findings import Findings, RecallFact, SentenceSpan, Source
from app.conversation.recall.schemas import (
    RecalledFact,
    RecalledSessionSpan,
    RecalledSpan,
    RecallFields,
    RecallMode,
)
from app.conversation.recall.services.retelling import RecallQuery, retold
from app.conversation.strategies.service import Counter, loaded
from app.kernel.names import EngineName, EventName, SessionName
from app.kernel.wire.memory_policy import CHARS4

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


@dataclass(frozen=True)
class Recalled:
    """Result of a search.

    Attributes:
        fields: the fields that all responses share.
        facts: the matching memories; empty in `summary`.
        sources: the events and memories that an answer rests on; None in `extractive`.
    """

    fields: dict[str, Any]
    facts: Sequence[RecalledFact] = ()
    sources: Sequence[Source] | None = None


async def recalled(
    resources: Resources,
    engine: EngineName,
    request: RecallFields,
    found: Findings,
    counter: Counter,
) -> Recalled:
    """Return the matches that fit, or an answer made of them; `engine` is the stored name.

    Raises:
        BadGateway, ResourceExhausted: see `retold`.
    """
    if request.mode is RecallMode.EXTRACTIVE:
        return await asyncio.to_thread(_listed, engine, request, found, counter)
    answer = await retold(resources, engine, RecallQuery(request, found, counter))
    fields = {
        "mode": request.mode,
        "spans": [],
        "text": answer.text,
        "is_cut": answer.is_cut,
        "model": answer.model,
        "usage": answer.usage,
        "tokens": counter.count(answer.text),
        "counter": counter.name,
    }
    return Recalled(fields, sources=answer.sources)


def names_of(engine: EngineName, sources: Iterable[Source] | None) -> list[str] | None:
    """Return the full names of events and memories, each once; `engine` is the stored name."""
    if sources is None:
        return None
    names = (
        source.name
        if isinstance(source, RecallFact)
        else str(EventName(SessionName(engine, source.session_id), source.event_id))
        for source in sources
    )
    return list(dict.fromkeys(names))


def _listed(
    engine: EngineName, request: RecallFields, found: Findings, counter: Counter
) -> Recalled:
    chosen, passages = found.chosen(request.top_k, request.max_tokens, counter.count)
    facts = [
        RecalledFact(
            memory=fact.name,
            fact=fact.text,
            distance=fact.distance,
            changed=fact.changed,
            tokens=counter.count(fact.text),
        )
        for fact in chosen
    ]
    spans = [_span(engine, span, counter, is_alone=found.is_one_session) for span in passages]
    fields = {
        "mode": request.mode,
        "spans": spans,
        "tokens": sum(fact.tokens for fact in facts) + sum(span.tokens for span in spans),
        "counter": counter.name,
    }
    return Recalled(fields, facts)


def _span(
    engine: EngineName, span: SentenceSpan, counter: Counter, *, is_alone: bool
) -> RecalledSpan:
    """Return a passage; its session and time are left out if all are of one session."""
    said = span.said
    session = SessionName(engine, said.session_id)
    fields: dict[str, Any] = {
        "event": str(EventName(session, said.event_id)),
        "seq": said.seq,
        "speaker": said.speaker.value,
        "start_offset": span.start,
        "end_offset": span.end,
        "text": span.text,
        "tokens": counter.count(span.text),
        "score": round(span.score, _SCORE_DIGITS),
    }
    if is_alone:
        return RecalledSpan(**fields)
    return RecalledSessionSpan(**fields, session=str(session), event_time=said.timestamp)
