"""The shapes in which providers take messages, with calls of tools and their results (pure).

Both providers refuse a call without its results directly after it, and results without their call.
So they are structured only as a round: the event with the calls, and right after it the events
with one result for each. All other calls and results are text, in the form of `spoken.text_of`.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from app.conversation.strategies.logic.forms import Format
from app.conversation.strategies.logic.marks import guarded
from app.platform.sessions.logic.spoken import Said, Speaker, parts_of, text_of

_MAX_CALL_ID_CHARS = 40
"""OpenAI refuses longer ones."""
_OPENAI_TOOL = re.compile(r"[A-Za-z0-9_-]{1,64}")
_GEMINI_TOOL = re.compile(r"[A-Za-z_][A-Za-z0-9_.:-]{0,63}")


@dataclass(frozen=True)
class Item:
    """One thing shown: its text as the form has it, and where it comes from.

    Attributes:
        said: the event, if it is one that is shown whole.
    """

    role: str
    text: str
    source: Mapping[str, Any]
    said: Said | None = None


@dataclass(frozen=True)
class _Call:
    own_id: str | None
    name: str
    told: Mapping[str, Any]
    """The arguments of a call; of a result, what came of it."""


@dataclass(frozen=True)
class _Round:
    """Calls of one event, and for each event after it, the results with their calls' numbers."""

    calls: Sequence[_Call]
    results: Sequence[Sequence[tuple[int, _Call]]]


def as_openai(items: Sequence[Item]) -> dict[str, Any]:
    """Return `messages`, which chat completions takes as they are, and the `sources` of each."""
    messages: list[dict[str, Any]] = []
    sources: list[Mapping[str, Any]] = []
    place = 0
    while place < len(items):
        item, found = items[place], _round_at(items, place, _OPENAI_TOOL)
        length = 1
        if found is None or item.said is None:
            made = [(item.source, {"role": item.role, "content": item.text})]
        else:
            length += len(found.results)
            made = list(_openai_round(item.said, found, items[place : place + length]))
        sources += [source for source, _ in made]
        messages += [message for _, message in made]
        place += length
    return {"messages": messages, "sources": sources}


def messages_of(said: Said) -> int:
    """Return how many messages `as_openai` may make of an event: one for each of its results."""
    if said.speaker is not Speaker.TOOL:
        return 1
    return max(1, sum("functionResponse" in part for part in parts_of(said.content)))


def as_gemini(items: Sequence[Item]) -> dict[str, Any]:
    """Return `contents`, `systemInstruction` if there is one, and `sources`.

    There is a source for each part of the instruction, then one for each of the contents.
    """
    kept = [item for item in items if not _instructs(item)]
    instructions = [item for item in items if _instructs(item)]
    contents: list[dict[str, Any]] = []
    sources: list[dict[str, Any]] = []
    place = 0
    while place < len(kept):
        found = _round_at(kept, place, _GEMINI_TOOL)
        if found is not None and _may_call(contents):
            length = 1 + len(found.results)
            _add_round(contents, sources, kept[place : place + length], found)
        else:
            length = 1
            contents.append(_plain(kept[place]))
            sources.append(dict(kept[place].source))
        place += length
    answer: dict[str, Any] = {"contents": contents}
    if instructions:
        parts = [{"text": item.text} for item in instructions]
        answer["systemInstruction"] = {"parts": parts}
    answer["sources"] = [*(item.source for item in instructions), *sources]
    return answer


def _round_at(items: Sequence[Item], place: int, names: re.Pattern[str]) -> _Round | None:
    """Return the round that begins with the item at a place, if one does."""
    said = items[place].said
    if said is None or said.speaker is not Speaker.AGENT:
        return None
    calls = _named(said, "functionCall", "args", names)
    if not calls or _has_twins(calls):
        return None
    results: list[list[tuple[int, _Call]]] = []
    is_open = dict.fromkeys(range(len(calls)))
    for following in range(place + 1, len(items)):
        item = items[following]
        if not is_open or item.said is None or item.said.speaker is not Speaker.TOOL:
            break
        found = _answers(calls, is_open, item.said, names)
        if found is None:
            return None
        results.append(found)
    return None if is_open else _Round(calls, results)


def _named(said: Said, kind: str, told: str, names: re.Pattern[str]) -> Sequence[_Call] | None:
    """Return the calls or results of an event; None: one of them is not fit to be structured."""
    found = []
    for part in parts_of(said.content):
        if kind not in part or part.get("text"):
            continue
        call = part[kind]
        own_id, name, value = call.get("id"), call.get("name"), call.get(told) or {}
        if not isinstance(name, str) or not names.fullmatch(name) or not isinstance(value, dict):
            return None
        found.append(_Call(own_id if isinstance(own_id, str) and own_id else None, name, value))
    return found


def _has_twins(calls: Sequence[_Call]) -> bool:
    given = [call.own_id for call in calls if call.own_id]
    return len(given) > len(set(given))


def _answers(
    calls: Sequence[_Call], is_open: dict[int, None], said: Said, names: re.Pattern[str]
) -> list[tuple[int, _Call]] | None:
    """Return which open calls an event answers, and close them; None: it says something else."""
    if any("functionResponse" not in part or part.get("text") for part in parts_of(said.content)):
        return None
    found = []
    for result in _named(said, "functionResponse", "response", names) or ():
        number = next((n for n in is_open if _answers_call(calls[n], result)), None)
        if number is None:
            return None
        del is_open[number]
        found.append((number, result))
    return found or None


def _answers_call(call: _Call, result: _Call) -> bool:
    if call.own_id and result.own_id:
        return call.own_id == result.own_id
    return call.name == result.name


def _openai_round(
    said: Said, found: _Round, items: Sequence[Item]
) -> Iterator[tuple[Mapping[str, Any], dict[str, Any]]]:
    ids = _openai_ids(said, found.calls)
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
                    "function": {"name": call.name, "arguments": _compact(call.told)},
                }
                for call_id, call in zip(ids, found.calls, strict=True)
            ],
        },
    )
    for item, results in zip(items[1:], found.results, strict=False):
        for number, result in results:
            told = _compact(result.told)
            yield item.source, {"role": "tool", "tool_call_id": ids[number], "content": told}


def _openai_ids(said: Said, calls: Sequence[_Call]) -> list[str]:
    """Return an id for each of the calls, its own where that will do; no two are the same."""
    ids = [one.own_id or "" for one in calls]
    ids = [own_id if len(own_id) <= _MAX_CALL_ID_CHARS else "" for own_id in ids]
    for place in range(len(ids)):
        number = place + 1
        while not ids[place]:
            made = f"call_{said.seq}_{number}"
            ids[place] = "" if made in ids else made
            number += len(calls)
    return ids


def _compact(told: Mapping[str, Any]) -> str:
    return json.dumps(told, ensure_ascii=False, separators=(",", ":"))


def _is_call(part: Mapping[str, Any]) -> bool:
    return "functionCall" in part and not part.get("text")


def _instructs(item: Item) -> bool:
    """Say whether an item is at the stable beginning that is apart from the contents."""
    return item.role == "system" and item.source["kind"] in {"system", "summary"}


def _may_call(contents: Sequence[Mapping[str, Any]]) -> bool:
    """Say whether a call may come next: after the user, in one turn with all the agent's since."""
    return any(one["role"] == "user" for one in contents)


def _join_turns(contents: list[dict[str, Any]], sources: list[dict[str, Any]]) -> None:
    """Make one turn of those of the agent at the end."""
    while contents[-2]["role"] == contents[-1]["role"] == "model":
        parts, source = contents.pop()["parts"], sources.pop()
        contents[-1]["parts"] += parts
        sources[-1]["lastSeq"] = source.get("lastSeq", source["seq"])


def _add_round(
    contents: list[dict[str, Any]],
    sources: list[dict[str, Any]],
    items: Sequence[Item],
    found: _Round,
) -> None:
    # A call has its turn with what the agent said just before: it must follow the user's.
    if contents[-1]["role"] == "model":
        _join_turns(contents, sources)
    if contents[-1]["role"] == "model":
        contents[-1]["parts"] += _gemini_parts(items[0], found)
        sources[-1]["lastSeq"] = items[0].source["seq"]
    else:
        contents.append({"role": "model", "parts": _gemini_parts(items[0], found)})
        sources.append(dict(items[0].source))
    results = [one for event in found.results for one in event]
    parts = [_response(found.calls[number], result, found) for number, result in results]
    contents.append({"role": "user", "parts": parts})
    first, last = dict(items[1].source), items[-1].source["seq"]
    sources.append(first if first["seq"] == last else first | {"lastSeq": last})


def _plain(item: Item) -> dict[str, Any]:
    role = "model" if item.role == "assistant" else "user"
    if item.said is None or item.said.speaker is Speaker.SYSTEM:
        return {"role": role, "parts": [{"text": item.text}]}
    return {"role": role, "parts": _gemini_parts(item, None)}


def _gemini_parts(item: Item, found: _Round | None) -> list[dict[str, Any]]:
    """Return what is shown of an event's parts, with calls as such where they are of a round."""
    content = item.said.content if item.said else None
    calls = iter(found.calls if found else ())
    parts = []
    for part in parts_of(content):
        text = text_of({"parts": [part]})
        if not text:
            continue
        shown: dict[str, Any] = _file(part) or {"text": _own(text, item)}
        if found is not None and _is_call(part):
            shown = {"functionCall": _called(next(calls), found)}
        # Without its signature a call is refused by models that think.
        if isinstance(signature := part.get("thoughtSignature"), str) and "text" not in shown:
            shown["thoughtSignature"] = signature
        parts.append(shown)
    return parts


def _own(text: str, item: Item) -> str:
    return text if item.said is None else guarded(text, item.said.speaker, Format.GEMINI)


def _file(part: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return a file as Gemini takes it, if there is enough of it."""
    for kind, where in (("inlineData", "data"), ("fileData", "fileUri")):
        named = part.get(kind) or {}
        if not part.get("text") and named.get("mimeType") and named.get(where):
            return {kind: {"mimeType": named["mimeType"], where: named[where]}}
    return None


def _called(call: _Call, found: _Round) -> dict[str, Any]:
    return {**_id_of(call, found), "name": call.name, "args": call.told}


def _response(call: _Call, result: _Call, found: _Round) -> dict[str, Any]:
    told = {"name": call.name, "response": result.told}
    return {"functionResponse": {**_id_of(call, found), **told}}


def _id_of(call: _Call, found: _Round) -> dict[str, Any]:
    """Return the id of a call, where all of its round have one: some with and some without fail."""
    results = (result for event in found.results for _, result in event)
    is_known = all(one.own_id for one in (*found.calls, *results))
    return {"id": call.own_id} if is_known else {}
