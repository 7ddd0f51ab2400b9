"""Message formats of providers, with structured tool calls and results (pure).

Both providers reject a call that its results do not follow directly, and results without a call. So
calls and results are structured only as a round: an event with calls, directly followed by events
with one result for each call.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from app.conversation.strategies.logic.turns import Format, guarded
from app.platform.sessions.logic.event_text import EventText, Speaker, parts_of, text_of

_MAX_CALL_ID_CHARS = 40
"""OpenAI rejects longer ids."""
_OPENAI_TOOL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_GEMINI_TOOL = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")


@dataclass(frozen=True)
class ShownItem:
    """One shown item: its text in the format, its source, and the event if it is whole."""

    role: str
    text: str
    source: Mapping[str, Any]
    said: EventText | None = None


class _Call(NamedTuple):
    own_id: str | None
    name: str
    payload: Mapping[str, Any]
    """Arguments of a call; for a result, its response."""


class _Round(NamedTuple):
    """Calls of one event, and the results of each following event, with the index of their call."""

    calls: Sequence[_Call]
    results: Sequence[Sequence[tuple[int, _Call]]]


def as_openai(items: Sequence[ShownItem]) -> dict[str, Any]:
    """Return `messages` as chat completions accept them, and one of `sources` for each."""
    messages: list[dict[str, Any]] = []
    sources: list[Mapping[str, Any]] = []
    place = 0
    while place < len(items):
        item, tool_round = items[place], _round_at(items, place, _OPENAI_TOOL)
        length = 1
        if tool_round is None or item.said is None:
            shown = [(item.source, {"role": item.role, "content": item.text})]
        else:
            length += len(tool_round.results)
            shown = list(_openai_round(item.said, tool_round, items[place : place + length]))
        sources += [source for source, _ in shown]
        messages += [message for _, message in shown]
        place += length
    return {"messages": messages, "sources": sources}


def messages_of(said: EventText) -> int:
    """Return the most messages that `as_openai` makes of an event: one for each tool result."""
    if said.speaker is not Speaker.TOOL:
        return 1
    return max(1, sum("functionResponse" in part for part in parts_of(said.content)))


def as_gemini(items: Sequence[ShownItem]) -> dict[str, Any]:
    """Return `contents`, an optional `systemInstruction`, and `sources`.

    `sources` has one entry for each part of the instruction, then one for each of the contents.
    """
    kept = [item for item in items if not _instructs(item)]
    instructions = [item for item in items if _instructs(item)]
    contents: list[dict[str, Any]] = []
    sources: list[dict[str, Any]] = []
    place = 0
    while place < len(kept):
        tool_round = _round_at(kept, place, _GEMINI_TOOL)
        # A call requires an earlier user turn.
        may_call = any(content["role"] == "user" for content in contents)
        if tool_round is not None and may_call:
            length = 1 + len(tool_round.results)
            _add_round(contents, sources, kept[place : place + length], tool_round)
        else:
            length = 1
            contents.append(_gemini_content(kept[place]))
            sources.append(dict(kept[place].source))
        place += length
    answer: dict[str, Any] = {"contents": contents}
    if instructions:
        parts = [{"text": item.text} for item in instructions]
        answer["systemInstruction"] = {"parts": parts}
    answer["sources"] = [*(item.source for item in instructions), *sources]
    return answer


def _round_at(items: Sequence[ShownItem], place: int, names: re.Pattern[str]) -> _Round | None:
    said = items[place].said
    if said is None or said.speaker is not Speaker.AGENT:
        return None
    calls = _calls_in(said, "functionCall", "args", names)
    if not calls or _has_twins(calls):
        return None
    results: list[list[tuple[int, _Call]]] = []
    is_open = dict.fromkeys(range(len(calls)))
    for following in range(place + 1, len(items)):
        item = items[following]
        if not is_open or item.said is None or item.said.speaker is not Speaker.TOOL:
            break
        answers = _answers(calls, is_open, item.said, names)
        if answers is None:
            return None
        results.append(answers)
    return None if is_open else _Round(calls, results)


def _calls_in(
    said: EventText, kind: str, payload: str, names: re.Pattern[str]
) -> Sequence[_Call] | None:
    calls = []
    for part in parts_of(said.content):
        if kind not in part or part.get("text"):
            continue
        call = part[kind]
        own_id, name, value = call.get("id"), call.get("name"), call.get(payload) or {}
        if not isinstance(name, str) or not names.fullmatch(name) or not isinstance(value, dict):
            return None
        calls.append(_Call(own_id if isinstance(own_id, str) and own_id else None, name, value))
    return calls


def _has_twins(calls: Sequence[_Call]) -> bool:
    ids = [call.own_id for call in calls if call.own_id]
    return len(ids) > len(set(ids))


def _answers(
    calls: Sequence[_Call], is_open: dict[int, None], said: EventText, names: re.Pattern[str]
) -> list[tuple[int, _Call]] | None:
    if any("functionResponse" not in part or part.get("text") for part in parts_of(said.content)):
        return None
    answers = []
    for result in _calls_in(said, "functionResponse", "response", names) or ():
        number = next((n for n in is_open if _answers_call(calls[n], result)), None)
        if number is None:
            return None
        del is_open[number]
        answers.append((number, result))
    return answers or None


def _answers_call(call: _Call, result: _Call) -> bool:
    if call.own_id and result.own_id:
        return call.own_id == result.own_id
    return call.name == result.name


def _openai_round(
    said: EventText, tool_round: _Round, items: Sequence[ShownItem]
) -> Iterator[tuple[Mapping[str, Any], dict[str, Any]]]:
    ids = _openai_ids(said, tool_round.calls)
    beside = [part for part in parts_of(said.content) if not _is_call(part)]
    yield (
        items[0].source,
        {
            "role": "assistant",
            "content": text_of({"parts": beside}) or None,
            "tool_calls": [
                {
                    "id": call_id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": _compact(call.payload)},
                }
                for call_id, call in zip(ids, tool_round.calls, strict=True)
            ],
        },
    )
    for item, results in zip(items[1:], tool_round.results, strict=False):
        for number, result in results:
            content = _compact(result.payload)
            yield item.source, {"role": "tool", "tool_call_id": ids[number], "content": content}


def _openai_ids(said: EventText, calls: Sequence[_Call]) -> list[str]:
    ids = [call.own_id or "" for call in calls]
    ids = [own_id if len(own_id) <= _MAX_CALL_ID_CHARS else "" for own_id in ids]
    for place in range(len(ids)):
        number = place + 1
        while not ids[place]:
            new_id = f"call_{said.seq}_{number}"
            ids[place] = "" if new_id in ids else new_id
            number += len(calls)
    return ids


def _compact(payload: Mapping[str, Any]) -> str:
    return json.dumps(payload, ensure_ascii=False, separators=(",", ":"))


def _is_call(part: Mapping[str, Any]) -> bool:
    return "functionCall" in part and not part.get("text")


def _instructs(item: ShownItem) -> bool:
    return item.role == "system" and item.source["kind"] in {"system", "summary"}


def _join_turns(contents: list[dict[str, Any]], sources: list[dict[str, Any]]) -> None:
    while contents[-2]["role"] == contents[-1]["role"] == "model":
        parts, source = contents.pop()["parts"], sources.pop()
        contents[-1]["parts"] += parts
        sources[-1]["lastSeq"] = source.get("lastSeq", source["seq"])


def _add_round(
    contents: list[dict[str, Any]],
    sources: list[dict[str, Any]],
    items: Sequence[ShownItem],
    tool_round: _Round,
) -> None:
    # A call must follow a user turn, so it joins the agent's turn directly before it.
    if contents[-1]["role"] == "model":
        _join_turns(contents, sources)
    if contents[-1]["role"] == "model":
        contents[-1]["parts"] += _gemini_parts(items[0], tool_round)
        sources[-1]["lastSeq"] = items[0].source["seq"]
    else:
        contents.append({"role": "model", "parts": _gemini_parts(items[0], tool_round)})
        sources.append(dict(items[0].source))
    results = [answer for event in tool_round.results for answer in event]
    parts = [
        _gemini_response(tool_round.calls[number], result, tool_round) for number, result in results
    ]
    contents.append({"role": "user", "parts": parts})
    first, last = dict(items[1].source), items[-1].source["seq"]
    sources.append(first if first["seq"] == last else first | {"lastSeq": last})


def _gemini_content(item: ShownItem) -> dict[str, Any]:
    role = "model" if item.role == "assistant" else "user"
    if item.said is None or item.said.speaker is Speaker.SYSTEM:
        return {"role": role, "parts": [{"text": item.text}]}
    return {"role": role, "parts": _gemini_parts(item, None)}


def _gemini_parts(item: ShownItem, tool_round: _Round | None) -> list[dict[str, Any]]:
    content = item.said.content if item.said else None
    calls = iter(tool_round.calls if tool_round else ())
    parts = []
    for part in parts_of(content):
        text = text_of({"parts": [part]})
        if not text:
            continue
        shown: dict[str, Any] = _file(part) or {"text": _guarded_text(text, item)}
        if tool_round is not None and _is_call(part):
            call = next(calls)
            fields = {**_id_of(call, tool_round), "name": call.name, "args": call.payload}
            shown = {"functionCall": fields}
        # Thinking models reject a call without its signature.
        if isinstance(signature := part.get("thoughtSignature"), str) and "text" not in shown:
            shown["thoughtSignature"] = signature
        parts.append(shown)
    return parts


def _guarded_text(text: str, item: ShownItem) -> str:
    return text if item.said is None else guarded(text, item.said.speaker, Format.GEMINI)


def _file(part: Mapping[str, Any]) -> dict[str, Any] | None:
    for kind, where in (("inlineData", "data"), ("fileData", "fileUri")):
        named = part.get(kind) or {}
        if not part.get("text") and named.get("mimeType") and named.get(where):
            return {kind: {"mimeType": named["mimeType"], where: named[where]}}
    return None


def _gemini_response(call: _Call, result: _Call, tool_round: _Round) -> dict[str, Any]:
    response = {"name": call.name, "response": result.payload}
    return {"functionResponse": {**_id_of(call, tool_round), **response}}


def _id_of(call: _Call, tool_round: _Round) -> dict[str, Any]:
    """Return the id of a call if the whole round has ids, since Gemini rejects mixed rounds."""
    results = (result for event in tool_round.results for _, result in event)
    is_known = all(call_or_result.own_id for call_or_result in (*tool_round.calls, *results))
    return {"id": call.own_id} if is_known else {}
