"""Replies of models' providers, in the protocols of OpenAI and Anthropic, whole and as streams."""

import json
from collections.abc import Iterable
from typing import Any

from tests.support.model_server import Behaviour

_EVENTS = {"content-type": "text/event-stream"}
_USAGE = {"input_tokens": 3, "output_tokens": 2}


def chunks(*texts: str) -> Behaviour:
    """Stream a chat completion."""
    events = [_chunk({"content": text}) for text in texts]
    return _stream([(None, event) for event in [*events, _chunk({}, "stop")]], "data: [DONE]\n\n")


def _chunk(delta: Any, finish: str | None = None) -> Any:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m"}
    return {**head, "choices": [choice]}


def response(text: str, id_: str = "resp_1", *more: Any) -> Behaviour:
    """Answer a request for a response."""
    return Behaviour(body=json.dumps(_response(text, id_, *more)).encode())


def _response(text: str, id_: str, *more: Any) -> Any:
    part = {"type": "output_text", "text": text, "annotations": []}
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
    output = [*more, {**message, "content": [part]}] if text else [*more]
    head = {"id": id_, "object": "response", "created_at": 1, "model": "m", "status": "completed"}
    rest = {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    return {**head, **rest, "output": output}


def response_events(*texts: str) -> Behaviour:
    """Stream a response."""
    place = {"item_id": "m", "output_index": 0, "content_index": 0, "logprobs": []}
    deltas = [{"type": "response.output_text.delta", "delta": text, **place} for text in texts]
    whole = _response("".join(texts), "resp_1")
    item = {**whole["output"][0], "content": []}
    part = {"type": "output_text", "text": "", "annotations": []}
    events: list[Any] = [
        {"type": "response.created", "response": {**whole, "output": []}},
        {"type": "response.output_item.added", "output_index": 0, "item": item},
        {"type": "response.content_part.added", "part": part, **place},
        *deltas,
        {"type": "response.completed", "response": whole},
    ]
    return _stream([(event["type"], event | {"sequence_number": 0}) for event in events])


def message(text: str, *blocks: Any) -> Behaviour:
    """Answer a request for a message."""
    said = [{"type": "text", "text": text}] if text else []
    return Behaviour(body=json.dumps(_message([*said, *blocks])).encode())


def _message(content: list[Any]) -> Any:
    head = {"id": "m", "type": "message", "role": "assistant", "model": "m", "content": content}
    return {**head, "stop_reason": "end_turn", "stop_sequence": None, "usage": _USAGE}


def message_events(*texts: str) -> Behaviour:
    """Stream a message."""
    deltas = [{"type": "text_delta", "text": text} for text in texts]
    events: list[Any] = [
        {"type": "message_start", "message": _message([])},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": _USAGE},
        {"type": "message_stop"},
    ]
    return _stream([(event["type"], event) for event in events])


def _stream(events: Iterable[tuple[str | None, Any]], end: str = "") -> Behaviour:
    rows = [
        f"{f'event: {name}' + chr(10) if name else ''}data: {json.dumps(event)}\n\n"
        for name, event in events
    ]
    return Behaviour(headers=_EVENTS, body="".join([*rows, end]).encode())
