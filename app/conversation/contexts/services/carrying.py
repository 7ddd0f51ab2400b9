"""Content of a user's former sessions in a context; none of it is stored, so erasure reaches all.

It takes what the events of the session itself leave free, up to the policy's `carryOverTokens`. No
model is called: an abstraction selects sentences, of summaries that a model may have written.
"""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from itertools import groupby
from typing import Any, NamedTuple

from app.adapters.db.session import Session
from app.conversation.strategies.logic.rendering import cut_text
from app.conversation.strategies.logic.turns import Composition, label_of, line_of
from app.conversation.strategies.service import WORK_PER_TEXT, Scale
from app.conversation.summaries.logic import Utterance, extract
from app.conversation.summaries.store import lookups
from app.kernel.names import EngineName, SessionName
from app.kernel.wire.memory_policy import CarryOver
from app.language.sentences import longest_fitting
from app.language.tokens import CHARS_PER_TOKEN
from app.platform.sessions.logic.event_text import EventRange, Speaker
from app.platform.sessions.store import event_texts
from app.platform.sessions.store import repository as sessions
from app.platform.sessions.store.tables import SessionRow

MAX_SESSIONS = 20
"""Maximum number of former sessions read for one context."""
_LAST_SESSIONS = 5
"""Number of former sessions of which the last one with content is carried over by `LAST`."""
MAX_EVENTS = 500
"""Maximum number of events read of them, the newest."""
MAX_SUMMARIES = 16
"""Maximum number of summaries read of each, the last ones."""


class FormerPiece(NamedTuple):
    """A summary of a former session, or an event of a session without one, with its speaker."""

    session_id: str
    first_seq: int
    last_seq: int
    text: str
    summary_id: str | None = None
    speaker: Speaker | None = None


class FormerSessions(NamedTuple):
    """Content read of former sessions, oldest first, and the number of their events."""

    pieces: Sequence[FormerPiece]
    events: int

    @property
    def length(self) -> int:
        """Approximate work of carrying them over, in characters."""
        return sum(len(piece.text) + WORK_PER_TEXT for piece in self.pieces)


class CarriedContent(NamedTuple):
    """Content of former sessions in a context; an empty text: none.

    Attributes:
        framing: tokens beyond the text: a separator, and the marks if no summary brings them.
        omitted: number of events of the sessions read that it is not made of.
    """

    text: str
    tokens: int
    framing: int
    sessions: Sequence[Mapping[str, Any]]
    omitted: int


async def read_former(
    session: Session, row: SessionRow, mode: CarryOver | None, now: datetime
) -> FormerSessions:
    """Return the content of the former sessions of a session's user; without a mode, nothing."""
    if mode is None:
        return FormerSessions((), 0)
    most, of_each = (_LAST_SESSIONS, 1) if mode is CarryOver.LAST else (MAX_SESSIONS, MAX_SUMMARIES)
    listed = await sessions.list_former(session, row, now, most)
    found: dict[str, list[FormerPiece]] = {former.session_id: [] for former in reversed(listed)}
    if found and mode is not CarryOver.ALL:
        for one in await lookups.list_of_sessions(session, row.engine_id, [*found], of_each):
            piece = FormerPiece(
                one.session_id, one.first_seq, one.last_seq, one.text, one.summary_id
            )
            found[one.session_id].append(piece)
    ranges, left = [], MAX_EVENTS
    for former in listed:
        if left and not found[former.session_id]:
            first = max(former.cleared_seq, former.last_seq - left) + 1
            ranges.append(EventRange(former.session_id, first, former.last_seq))
            left -= ranges[-1].width
    if ranges:
        newest = await event_texts.list_newest_texts(session, row.engine_id, ranges)
        for event in reversed([event for event in newest if event.text]):
            seq, name = event.seq, event.session_id
            found[name].append(FormerPiece(name, seq, seq, event.text, speaker=event.speaker))
    # A session without text hides none before it.
    with_text = [former for former in listed if found[former.session_id]]
    listed = with_text[:1] if mode is CarryOver.LAST else listed
    pieces = [piece for former in reversed(listed) for piece in found[former.session_id]]
    return FormerSessions(pieces, sum(former.last_seq - former.cleared_seq for former in listed))


def carry(
    read: FormerSessions, composition: Composition, scale: Scale, engine: EngineName
) -> CarriedContent:
    """Return the content that fits beside the session's own; the oldest is left out first."""
    rules, room, pieces = scale.rules, scale.rules.carry_over_tokens, read.pieces
    marks = scale.frame - composition.frame
    if composition.left is not None:
        room = max(0, min(room, composition.left - marks))

    def weigh(text: str) -> tuple[int, int]:
        return scale.of_summary(text, is_first=not composition.frame)

    def fits(text: str) -> bool:
        return sum(weigh(text)) <= room

    if rules.carry_over is CarryOver.ABSTRACTION:
        labels = [label_of(one.speaker, rules) if one.speaker else "" for one in pieces]
        utterances = [
            Utterance(label, one.text, is_summary=one.speaker is None)
            for label, one in zip(labels, pieces, strict=True)
        ]
        text = extract(utterances, room * CHARS_PER_TOKEN)
        if text and not fits(text):
            # Of a text that is cut, the end is lost, not the sentences of least weight.
            text = extract(utterances, len(text) * room // sum(weigh(text)))
        text = cut_text(text, fits)
    else:
        lines = [line_of(p.speaker, p.text, rules) if p.speaker else p.text for p in pieces]
        text, count = _newest(lines, fits)
        pieces = pieces[len(pieces) - count :]
    if not text:
        return CarriedContent("", 0, 0, (), read.events)
    tokens, separator = weigh(text)
    grouped = [list(group) for _, group in groupby(pieces, key=lambda piece: piece.session_id)]
    carried = [
        {
            "session": str(SessionName(engine, group[0].session_id)),
            "firstSeq": group[0].first_seq,
            "lastSeq": group[-1].last_seq,
            "summaries": [piece.summary_id for piece in group if piece.summary_id],
        }
        for group in grouped
    ]
    shown = sum(piece.last_seq - piece.first_seq + 1 for piece in pieces)
    return CarriedContent(text, tokens, separator + marks, carried, read.events - shown)


def _newest(lines: Sequence[str], fits: Callable[[str], bool]) -> tuple[str, int]:
    """Return the newest lines that fit, or the newest one cut, and their number."""
    count = longest_fitting(len(lines), lambda count: fits("\n".join(lines[-count:])))
    if lines and not count:
        return cut_text(lines[-1], fits), 1
    return "\n".join(lines[len(lines) - count :]), count
