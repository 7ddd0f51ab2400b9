"""Choice of the events to show under a token budget, and their rendering for a model (pure).

Strategies differ only in their `Rules`. In every composition each event of the session is shown
verbatim, covered by exactly one shown summary, or omitted. An erased event that no summary covers
counts as omitted.

`messages` has the roles system, user and assistant. Tool results have the role user and are
recognisable by their format. `openai` and `gemini` can be sent to a provider unchanged. In these
formats tool calls are structured if their results follow directly (`shapes.py`); otherwise both are
text. `text` has lines such as `Human: ...` and `AI: ...`; continuation lines are indented to
prevent a text from imitating another speaker. All summaries together stand between marks that
declare them to be data, as memories do, and no content can forge the closing mark. A policy may
leave out the marks of summaries (`framing`); then each is a message of its own, as it was written.

The rendered texts together are never longer than the pieces of all items, which are counted. A file
counts only as the text that mentions it.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar
from unicodedata import normalize

from app.conversation.strategies.logic.policies import Combine, Rules
from app.conversation.strategies.logic.shapes import ShownItem, as_gemini, as_openai
from app.conversation.strategies.logic.turns import (
    SUMMARY_BEGIN,
    SUMMARY_END,
    SUMMARY_NOTE,
    SYSTEM_MARK,
    Composition,
    ContextTurn,
    Fixed,
    Format,
    History,
    Shares,
    SourceField,
    TurnSummary,
    guarded,
    line,
    line_of,
)
from app.kernel.errors import InvalidArgument, Reason
from app.kernel.wire.memory_policy import AGENT_RESERVE
from app.language.sentences import CONTEXT_BEGIN, CONTEXT_END, longest_fitting
from app.language.tokens import estimate_tokens
from app.platform.sessions.logic.event_text import EventText, Speaker, parts_of, text_of


class BudgetTooSmall(InvalidArgument):
    """The mandatory content does not fit into the window; the error reports the numbers.

    `what` is the beginning of the message, as in "The system prompt needs".
    """

    def __init__(self, what: str, limit: int, reserved: int, needed: int) -> None:
        numbers = {"limit": limit, "reserved": reserved, "needed": needed}
        super().__init__(
            f"{what} {needed} tokens; the limit of {limit} leaves"
            f" {max(0, limit - reserved)} beside the {reserved} that reserveOutputTokens keeps"
            f" for the answer (unless given, {AGENT_RESERVE} with agent_summary, else 0).",
            Reason.BUDGET_TOO_SMALL,
            metadata={name: str(number) for name, number in numbers.items()},
        )


class Costly(Protocol):
    """Anything that takes tokens of a prompt."""

    @property
    def cost(self) -> int:
        """Number of tokens."""
        ...


_T = TypeVar("_T", bound=Costly)


def newest_within(items: Sequence[_T], budget: int | None) -> Sequence[_T]:
    """Return the newest (last) items that fit into a token budget, or all items without one."""
    if budget is None:
        return items
    count = 0
    for item in reversed(items):
        budget -= item.cost
        if budget < 0:
            break
        count += 1
    return items[len(items) - count :]


def total(items: Iterable[Costly]) -> int:
    """Return the tokens of all items."""
    return sum(item.cost for item in items)


def gaps(covered: Iterable[tuple[int, int]], last: int) -> Sequence[tuple[int, int]]:
    """Return the ranges between 1 and `last` that the ascending ranges `covered` leave out."""
    missing: list[tuple[int, int]] = []
    reached = 0
    for start, end in [*covered, (last + 1, last + 1)]:
        if start > reached + 1:
            missing.append((reached + 1, start - 1))
        reached = end
    return missing


def shares_of(rules: Rules, fixed: Fixed) -> Shares:
    """Divide the window into shares, or raise BudgetTooSmall if the fixed parts do not fit.

    Without a limit, `SPLIT` has no shares and never summarises.
    """
    if rules.limit is None:
        return Shares(None)
    needed = fixed.system + fixed.pending
    room = rules.limit - rules.reserved - needed
    if room < 0:
        what = "The system prompt and the pending message need"
        raise BudgetTooSmall(what, rules.limit, rules.reserved, needed)
    summarising = rules.summarising
    if summarising is None or summarising.combine is not Combine.SPLIT:
        return Shares(room)
    divided = room if rules.count_pending else room + fixed.pending
    unit = divided // (summarising.stm + summarising.lts)
    return Shares(room, summarising.stm * unit, summarising.lts * unit)


def compose(
    rules: Rules,
    history: History,
    shares: Shares,
    least: Callable[[ContextTurn], int] | None = None,
) -> Composition:
    """Choose the summaries and events of a context.

    If they exceed the budget, the oldest events are omitted first, then the oldest summaries. If
    even the newest event does not fit, it is cut to the remaining room. This requires room for at
    least `least(event)` tokens, its shortest form; the default is the overhead plus one.

    Raises:
        BudgetTooSmall: all events must be shown but do not fit.
    """
    if not rules.shows:
        return Composition((), (), _left_out(history, (), ()), shares.room)
    turns = _in_window(rules, history)
    if not rules.may_omit:
        _check_fits(rules, turns, shares)
    room = shares.room
    summaries = newest_within(history.summaries, None if room is None else room - history.frame)
    frame = frame_of(history, summaries)
    left = None if room is None else room - frame - total(summaries)
    space = min((most for most in (left, rules.window_tokens) if most is not None), default=None)
    shown = newest_within(turns, space)
    cut = _cut(turns, shown, space, least or (lambda _: rules.overhead + 1))
    if cut:
        shown = turns[-1 - len(shown) :]
        left = None if left is None or space is None else left - space
    else:
        left = _without(left, shown)
    omitted = _left_out(history, summaries, shown)
    return Composition(summaries, shown, omitted, left, cut, frame)


def frame_of(history: History, summaries: Sequence[TurnSummary]) -> int:
    """Return the tokens of the marks around these summaries; 0 if none of them has a text."""
    return history.frame if total(summaries) else 0


def _check_fits(rules: Rules, turns: Sequence[ContextTurn], shares: Shares) -> None:
    if rules.limit is None or shares.room is None or total(turns) <= shares.room:
        return
    needed = rules.limit - rules.reserved - shares.room + total(turns)
    what = "With all events of the session, the context needs at least"
    raise BudgetTooSmall(what, rules.limit, rules.reserved, needed)


def _cut(
    turns: Sequence[ContextTurn],
    shown: Sequence[ContextTurn],
    space: int | None,
    least: Callable[[ContextTurn], int],
) -> dict[int, int]:
    if space is None or len(shown) == len(turns) or total(shown):
        return {}
    turn = turns[-1 - len(shown)]
    return {turn.seq: space} if space >= least(turn) else {}


def _in_window(rules: Rules, history: History) -> Sequence[ContextTurn]:
    turns = history.turns
    if rules.window is None:
        return turns
    return [turn for turn in turns if turn.exchange > history.complete - rules.window]


def _without(budget: int | None, items: Iterable[Costly]) -> int | None:
    return None if budget is None else budget - total(items)


def _left_out(
    history: History, summaries: Sequence[TurnSummary], turns: Sequence[ContextTurn]
) -> Sequence[tuple[int, int]]:
    covered = [(summary.first_seq, summary.last_seq) for summary in summaries]
    return gaps([*covered, *((turn.seq, turn.seq) for turn in turns)], history.last_seq)


CUT = "[... cut]"
"""Mark at the end of an event that was cut."""
_CUT_SHORT = "\u2026"
_MARKER_NAMES = (CONTEXT_BEGIN.strip("<>"), SUMMARY_BEGIN.strip("<>"))
_NOT_OF_NAME = re.compile(r"[^a-z_]")
"""All characters outside the markers' names, such as invisible characters and accents."""
_BRACKETS = str.maketrans("<>\uff1c\uff1e\ufe64\ufe65", "\u2039\u203a" * 3)

Count = Callable[[str], int]
_ROLES = {
    Speaker.USER: "user",
    Speaker.AGENT: "assistant",
    Speaker.TOOL: "user",
    Speaker.SYSTEM: "system",
}


@dataclass(frozen=True)
class ContextContent:
    """Content of a context, in the order in which it is shown, the oldest first.

    Attributes:
        summaries: id and text of each summary.
        carried: text of former sessions, named by `carried_from`; empty: none.
        cut: maximum tokens, with overhead, of each event to cut, by seq.
        memories: name and fact of each memory, best first.
        pending: message that the model must answer.
        raw: raw events as JSON texts, by seq; only the format `messages` includes them.
    """

    session: str
    system: str | None = None
    summaries: Sequence[tuple[str, str]] = ()
    carried: str = ""
    carried_from: Sequence[str] = ()
    said: Sequence[EventText] = ()
    cut: Mapping[int, int] = field(default_factory=dict)
    memories: Sequence[tuple[str, str]] = ()
    pending: str | None = None
    raw: Mapping[int, str] = field(default_factory=dict)


def render(
    shown: ContextContent, rules: Rules, form: Format, count: Count = estimate_tokens
) -> dict[str, Any]:
    """Return a context in a format, ready for JSON.

    `messages` has `messages[]`, each with role, content, source, and the raw event if there is one.
    `openai` has `messages[]` as chat completions accept them, and one of `sources[]` for each.
    `gemini` has `contents[]`, an optional `systemInstruction`, and `sources[]`: one for each part
    of the instruction, then one for each of the contents. `text` has only `text`. Contents made of
    several events have the first event as their source and the last one as its `lastSeq`.

    The conversation may begin with the agent if the budget excludes the question.
    """
    items = list(_items(shown, rules, form, count))
    if form is Format.TEXT:
        return {"text": _as_text(items, rules)}
    if form is Format.MESSAGES:
        return {
            "messages": [
                {"role": item.role, "content": item.text, "source": item.source}
                | _raw_event(item, shown.raw)
                for item in items
            ]
        }
    return as_openai(items) if form is Format.OPENAI else as_gemini(items)


def piece(said: EventText, rules: Rules, form: Format) -> str:
    """Return the text used to count an event's tokens; empty if the event is not shown."""
    if form is Format.GEMINI and said.speaker in {Speaker.USER, Speaker.TOOL}:
        # Each part is also a part of the message.
        texts = (text_of({"parts": [part]}) for part in parts_of(said.content))
        return "\n".join(guarded(text, said.speaker, form) for text in texts if text)
    return _render_event(said, said.text, rules, form) if said.text else ""


def least(said: EventText, rules: Rules, form: Format, count: Count) -> int:
    """Return the tokens of the shortest form of a cut event, with the message overhead."""
    overhead = 0 if form is Format.TEXT else rules.overhead
    return overhead + min(
        count(_render_event(said, mark, rules, form)) for mark in (CUT, _CUT_SHORT)
    )


def piece_of(kind: SourceField, text: str, rules: Rules, form: Format) -> str:
    """Return the text used to count a system prompt, memory block or pending message."""
    if not text:
        return ""
    ending = "\n" if form is Format.TEXT else ""
    if kind is SourceField.PENDING:
        return _render_pending(text, rules, form) + ending
    return text + ending


def summary_piece(text: str, rules: Rules, form: Format, *, is_first: bool) -> str:
    """Return the text used to count a summary, without the marks around all summaries."""
    if not rules.framing:
        return text + (rules.joiner or "\n") if form is Format.TEXT else text
    shown = _escape_markers(text) + ("" if is_first else rules.joiner)
    return line("", shown) if form is Format.TEXT else shown


def frame_piece(rules: Rules, form: Format) -> str:
    """Return the text used to count the marks around all summaries; empty without marks."""
    if not rules.framing:
        return ""
    return _summary_block("", form) + ("\n" if form is Format.TEXT else "")


def memory_block(facts: Sequence[str]) -> str:
    """Return facts as a block of escaped lines, which cannot forge its end; empty without facts."""
    if not facts:
        return ""
    return "\n".join((CONTEXT_BEGIN, *map(memory_line, facts), CONTEXT_END))


def memory_line(fact: str) -> str:
    """Return a fact as one line of the memory block."""
    return f"- {_escape_markers(' '.join(fact.split()))}"


def cut_text(text: str, fits: Callable[[str], bool]) -> str:
    """Return the longest prefix of a text that fits, with a cut mark unless nothing is cut."""
    if fits(text):
        return text
    for mark in (CUT, _CUT_SHORT):
        if fits(mark):
            return _beginning(text, fits, mark)
    return ""


def _beginning(text: str, fits: Callable[[str], bool], mark: str) -> str:
    # Very long texts are never counted as a whole.
    low, high = 0, min(64, len(text))
    while high < len(text) and fits(_marked(text[:high], mark)):
        low, high = high, min(high * 2, len(text))
    length = longest_fitting(high, lambda n: fits(_marked(text[:n], mark)), low)
    return _marked(text[:length], mark)


def _marked(kept: str, mark: str) -> str:
    kept = kept.rstrip()
    return f"{kept} {mark}" if kept else mark


def _escape_markers(text: str) -> str:
    plain = _NOT_OF_NAME.sub("", normalize("NFKD", text).lower())
    return text.translate(_BRACKETS) if any(name in plain for name in _MARKER_NAMES) else text


def _items(shown: ContextContent, rules: Rules, form: Format, count: Count) -> Iterator[ShownItem]:
    if shown.system:
        yield ShownItem("system", shown.system, {"kind": SourceField.SYSTEM})
    yield from _summary_items(shown, rules, form)
    for said in shown.said:
        if text := _event_text(said, shown.cut.get(said.seq), rules, form, count):
            name = f"{shown.session}/events/{said.event_id}"
            source: dict[str, Any] = {"kind": SourceField.EVENT, "event": name, "seq": said.seq}
            whole = None if said.seq in shown.cut else said
            yield ShownItem(_ROLES[said.speaker], text, source, whole)
    if block := memory_block([fact for _, fact in shown.memories]):
        names = [name for name, _ in shown.memories]
        yield ShownItem("system", block, {"kind": SourceField.MEMORY, "memories": names})
    if shown.pending:
        pending = _render_pending(shown.pending, rules, form)
        yield ShownItem("user", pending, {"kind": SourceField.PENDING})


def _summary_items(shown: ContextContent, rules: Rules, form: Format) -> Iterator[ShownItem]:
    kind, role = SourceField.SUMMARY, rules.role.value
    summaries = [named for named in shown.summaries if named[1]]
    texts = [text for _, text in summaries]
    sources: list[dict[str, Any]] = [{"kind": kind, "summary": named[0]} for named in summaries]
    if shown.carried:
        texts.insert(0, shown.carried)
        sources.insert(0, {"kind": kind, "sessions": [*shown.carried_from]})
    if not rules.framing:
        for text, source in zip(texts, sources, strict=True):
            yield ShownItem(role, text, source)
    elif texts:
        source = (sources[1] if shown.carried and summaries else {}) | sources[0]
        if len(summaries) > 1:
            source["summaries"] = [summary_id for summary_id, _ in summaries]
        block = _summary_block(rules.joiner.join(map(_escape_markers, texts)), form)
        yield ShownItem(role, block, source)


def _event_text(
    said: EventText, tokens: int | None, rules: Rules, form: Format, count: Count
) -> str:
    text = said.text
    if tokens is not None and text:
        most = tokens - (0 if form is Format.TEXT else rules.overhead)
        text = cut_text(text, lambda kept: count(_render_event(said, kept, rules, form)) <= most)
    if not text:
        return ""
    dressed = _render_event(said, text, rules, form)
    return dressed.removesuffix("\n") if form is Format.TEXT else dressed


def _raw_event(item: ShownItem, raw: Mapping[int, str]) -> dict[str, Any]:
    text = None if item.said is None else raw.get(item.said.seq)
    return {} if text is None else {"rawEvent": json.loads(text)}


def _render_event(said: EventText, text: str, rules: Rules, form: Format) -> str:
    if form is Format.TEXT:
        return line_of(said.speaker, text, rules) + "\n"
    if form is Format.GEMINI and said.speaker is Speaker.SYSTEM:
        return SYSTEM_MARK + text
    return guarded(text, said.speaker, form)


def _render_pending(text: str, rules: Rules, form: Format) -> str:
    if form is Format.TEXT:
        return line_of(Speaker.USER, text, rules)
    return guarded(text, Speaker.USER, form)


def _summary_block(escaped: str, form: Format) -> str:
    block = f"{SUMMARY_BEGIN}\n{SUMMARY_NOTE}\n{escaped}\n{SUMMARY_END}"
    return line("", block) if form is Format.TEXT else block


def _as_text(items: Sequence[ShownItem], rules: Rules) -> str:
    summaries = [item.text for item in items if item.source["kind"] is SourceField.SUMMARY]
    lines = [item.text for item in items if item.source["kind"] is not SourceField.SUMMARY]
    if summaries:
        place = 1 if items[0].source["kind"] is SourceField.SYSTEM else 0
        lines.insert(place, rules.joiner.join(summaries))
    return "\n".join(lines)
