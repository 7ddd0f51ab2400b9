"""Content of a user's former sessions in a context; none of it is stored, so erasure reaches all.

It takes what the events of the session itself leave free, up to the policy's `carryOverTokens`. No
model is called: an abstraction selects sentences, of summaries that a model may have written.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, NamedTuple

from app.adapters.db.session import Session
from app.conversation.strategies.logic.policies import Rules
from app.conversation.strategies.logic.rendering import cut_text
from app.conversation.strategies.logic.turns import Composition, label_of, lines_of
from app.conversation.strategies.service import WORK_PER_TEXT, Scale
from app.conversation.summaries.logic import Utterance, extract
from app.conversation.summaries.store import lookups
from app.conversation.summaries.store.lookups import ListedSummary
from app.kernel.names import EngineName, SessionName
from app.kernel.wire.memory_policy import CarryOver
from app.language.sentences import longest_fitting
from app.language.tokens import CHARS_PER_TOKEN
from app.platform.sessions.logic.event_text import EventRange, EventText
from app.platform.sessions.store import event_texts
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.tables import SessionRow

MAX_SESSIONS = 20
"""Maximum number of former sessions read for one context."""
MAX_EVENTS = 500
"""Maximum number of events read of them, the newest."""
MAX_SUMMARIES = 16
"""Maximum number of summaries read of each, the last ones."""


class FormerSession(NamedTuple):
    """Content read of a former session: its last summaries or its newest events, oldest first."""

    session_id: str
    events: int
    """Number of its events that are not cleared."""
    summaries: Sequence[ListedSummary]
    said: Sequence[EventText]


@dataclass(frozen=True)
class Carried:
    """Content of former sessions in a context; an empty text: none.

    Attributes:
        framing: tokens that it takes beyond its text within the marks, and between summaries.
        sessions: the range of events that it shows or covers of each session, and the summaries.
        omitted: number of events of the sessions read that it neither shows nor covers.
    """

    text: str
    tokens: int
    framing: int
    sessions: Sequence[Mapping[str, Any]]
    omitted: int


async def read_former(
    session: Session, row: SessionRow, mode: CarryOver, now: datetime
) -> list[FormerSession]:
    """Return the former sessions to carry over from, newest first."""
    is_last, engine_id = mode is CarryOver.LAST, row.engine_id
    most = 1 if is_last else MAX_SESSIONS
    listed = await sessions.list_former(session, row, now, most)
    summaries: Mapping[str, Sequence[ListedSummary]] = {}
    if listed and mode is not CarryOver.ALL:
        ids = [former.session_id for former in listed]
        most = 1 if is_last else MAX_SUMMARIES
        summaries = await lookups.list_of_sessions(session, engine_id, ids, most)
    ranges, left = [], MAX_EVENTS
    for former in listed:
        if left and former.session_id not in summaries:
            first = max(former.cleared_seq, former.last_seq - left) + 1
            ranges.append(EventRange(former.session_id, first, former.last_seq))
            left -= former.last_seq - first + 1
    newest = await event_texts.list_newest_texts(session, engine_id, ranges) if ranges else []
    return [
        FormerSession(
            session_id=former.session_id,
            events=former.last_seq - former.cleared_seq,
            summaries=summaries.get(former.session_id, ()),
            said=[
                event
                for event in reversed(newest)
                if event.session_id == former.session_id and event.text
            ],
        )
        for former in listed
    ]


def length_of(read: Sequence[FormerSession]) -> int:
    """Return the approximate work of carrying sessions over, in characters."""
    texts = [event.text for former in read for event in former.said]
    texts += [summary.text or "" for former in read for summary in former.summaries]
    return sum(map(len, texts)) + WORK_PER_TEXT * len(texts)


def carry(
    read: Sequence[FormerSession], composition: Composition, scale: Scale, engine: EngineName
) -> Carried:
    """Return the content that fits beside the session's own; the oldest is left out first."""
    rules, oldest_first = scale.rules, read[::-1]
    most = rules.carry_over_tokens
    room = None
    if composition.left is not None:
        room = composition.left - (scale.frame - composition.frame)

    def fits(text: str) -> bool:
        tokens, framing = _weigh(text, composition, scale)
        return tokens <= most and (room is None or tokens + framing <= room)

    if rules.carry_over is CarryOver.ABSTRACTION:
        chars = (most if room is None else max(0, min(most, room))) * CHARS_PER_TOKEN
        text = cut_text(extract(_utterances(oldest_first, rules), chars), fits)
        shown = oldest_first
    elif any(former.summaries for former in read):
        text = cut_text(read[0].summaries[-1].text or "", fits)
        shown = read
    else:
        text, shown = _newest_messages(oldest_first, rules, fits)
    ranges = {
        former.session_id: (
            [(summary.first_seq, summary.last_seq) for summary in former.summaries]
            or [(event.seq, event.seq) for event in former.said]
        )
        for former in shown
        if text
    }
    tokens, framing = _weigh(text, composition, scale)
    counted = sum(last - first + 1 for each in ranges.values() for first, last in each)
    return Carried(
        text=text,
        tokens=tokens,
        framing=framing,
        sessions=[
            {
                "session": str(SessionName(engine, former.session_id)),
                "firstSeq": ranges[former.session_id][0][0],
                "lastSeq": ranges[former.session_id][-1][1],
                "summaries": [summary.summary_id for summary in former.summaries],
            }
            for former in shown
            if ranges.get(former.session_id)
        ],
        omitted=sum(former.events for former in read) - counted,
    )


def beside(composition: Composition, carried: Carried, scale: Scale) -> Composition:
    """Return a composition with the room and the marks that carried content leaves."""
    if not carried.text:
        return composition
    left = composition.left
    if left is not None:
        left -= scale.frame - composition.frame + carried.tokens + carried.framing
    return replace(composition, left=left, frame=scale.frame)


def _weigh(text: str, composition: Composition, scale: Scale) -> tuple[int, int]:
    return scale.of_summary(text, is_first=not composition.frame)


def _utterances(oldest_first: Sequence[FormerSession], rules: Rules) -> Iterator[Utterance]:
    for former in oldest_first:
        for summary in former.summaries:
            yield Utterance("", summary.text or "", is_summary=True)
        for event in former.said:
            yield Utterance(label_of(event.speaker, rules), event.text)


def _newest_messages(
    oldest_first: Sequence[FormerSession], rules: Rules, fits: Callable[[str], bool]
) -> tuple[str, Sequence[FormerSession]]:
    """Return the newest messages that fit as lines, or the newest one cut, and their sessions."""
    said = [event for former in oldest_first for event in former.said]
    lines = lines_of(said, rules)
    low, high = 0, min(1, len(lines))
    # All lines together may be far too many to count.
    while high < len(lines) and fits("\n".join(lines[-high:])):
        low, high = high, min(2 * high, len(lines))
    count = longest_fitting(high, lambda count: fits("\n".join(lines[-count:])), low)
    text = "\n".join(lines[-count:]) if count else ""
    if lines and not count:
        text, count = cut_text(lines[-1], fits), 1
    kept = {(event.session_id, event.seq) for event in said[len(said) - count :]}
    return text, [
        former._replace(said=[one for one in former.said if (one.session_id, one.seq) in kept])
        for former in oldest_first
    ]
