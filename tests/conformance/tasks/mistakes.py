"""Requests to task memory that are refused, each with a text in it that no answer may repeat."""

import base64
import json
from collections.abc import Mapping
from typing import Any

Sent = Mapping[str, Any]


def mistakes(engine: str, namespace: str, secret: str) -> dict[str, Sent]:
    """Return requests, by what is wrong with them; their paths are below `/v1beta1/`."""
    memory = f"{engine}/taskMemories/tools"
    found = _of_outputs(f"{memory}:processOutput", secret)
    found |= _of_readers(namespace, secret)
    return found | _of_places(memory, namespace, secret)


def _post(path: str, body: object) -> Sent:
    return {"method": "POST", "url": path, "json": body}


def _raw(path: str, content: bytes, media_type: str = "application/json") -> Sent:
    headers = {"Content-Type": media_type}
    return {"method": "POST", "url": path, "content": content, "headers": headers}


def _of_outputs(path: str, secret: str) -> dict[str, Sent]:
    text = {"kind": "text", "text": secret}
    good = {"tool": "web", "activity": "fetch", "offPrompt": True, "output": text}
    whole = json.dumps(good).encode()
    bodies: dict[str, Any] = {
        "no tool": {"activity": "fetch", "output": text},
        "no output": {"tool": "web", "activity": "fetch", "callId": secret},
        "unknown field": {**good, secret: secret},
        "unknown field of the output": {**good, "output": {**text, secret: secret}},
        "tool is no name": {**good, "tool": f"{secret}/../x"},
        "tool is an object": {**good, "tool": {secret: secret}},
        "activity is no name": {**good, "activity": f"{secret} "},
        "namespace is no name": {**good, "namespace": f"../{secret}"},
        "artifact is no name": {**good, "output": {**text, "name": f"{secret}\u00e9"}},
        "media type is none": {**good, "output": {**text, "mediaType": secret}},
        "media type of no charset": {
            **good,
            "output": {**text, "mediaType": f'text/plain; charset="{secret} "'},
        },
        "off prompt is no choice": {**good, "offPrompt": secret},
        "life is no length": {**good, "ttl": secret},
        "sensitive is no choice": {**good, "sensitive": secret},
        "models are no list": {**good, "allowedModels": secret},
        "call is too long": {**good, "callId": secret * 20},
        "unknown kind": {**good, "output": {"kind": secret, "text": secret}},
        "kind is a list": {**good, "output": {"kind": [secret], "text": secret}},
        "kind of other fields": {**good, "output": {"kind": "json", "text": secret}},
        "text is an object": {**good, "output": {"kind": "text", "text": {secret: secret}}},
        "text and data": {**good, "output": {**text, "data": "eHg="}},
        "no base64": {**good, "output": {"kind": "blob", "data": f"!{secret}"}},
        "long information": {**good, "output": {"kind": "info", "text": secret * 200}},
        "long error": {**good, "output": {"kind": "error", "text": secret * 200}},
        "list in a list": {
            **good,
            "output": {
                "kind": "list",
                "elements": [text, {"kind": "list", "elements": [text]}],
            },
        },
        "unknown kind in a list": {
            **good,
            "output": {"kind": "list", "elements": [text, {"kind": secret, secret: 1}]},
        },
        "one name twice": {
            **good,
            "output": {"kind": "list", "elements": [{**text, "name": "a"}] * 2},
        },
        "half a sign": {**good, "output": {"kind": "text", "text": f"{secret}\ud800"}},
        "body is a list": [good, secret],
        "body is a text": secret,
    }
    found = {name: _post(path, body) for name, body in bodies.items() if name != "half a sign"}
    found["half a sign"] = _raw(path, json.dumps(bodies["half a sign"]).encode())
    found["broken off"] = _raw(path, whole[:-1])
    found["no UTF-8"] = _raw(path, whole.replace(b"fetch", b"\xff\xfe"))
    found["no number"] = _raw(path, b'{"tool": NaN, "x": "' + secret.encode() + b'"}')
    found["no JSON"] = _raw(path, secret.encode())
    found["declared as a text"] = _raw(path, whole, "text/plain")
    found["declared as what is none"] = _raw(path, whole, f"{secret}/x")
    return found


def _of_readers(namespace: str, secret: str) -> dict[str, Sent]:
    query, summarize = f"{namespace}:query", f"{namespace}:summarize"
    asked = {"query": f"What is {secret}?"}
    extract, row = f"{namespace}:extract", {"type": "object", "properties": {"item": {}}}
    bodies: dict[str, tuple[str, Any]] = {
        "no question": (query, {"model": secret}),
        "long question": (query, {"query": secret * 200}),
        "question is a list": (query, {"query": [secret]}),
        "unknown model": (query, {**asked, "model": secret}),
        "model is an address": (query, {**asked, "model": f"http://{secret}/"}),
        "unknown field of a question": (query, {**asked, secret: 1}),
        "tokens are none": (query, {**asked, "answerTokens": secret}),
        "count is none": (query, {**asked, "topK": secret}),
        "no room for the answer": (query, {**asked, "answerTokens": 8_192, "model": "off_prompt"}),
        "template without text": (summarize, {"template": secret}),
        "template of other places": (summarize, {"template": f"{{text}} {{{secret}}}"}),
        "template of open braces": (summarize, {"template": f"{{text}} {{{secret}"}),
        "two wishes": (summarize, {"template": f"{secret} {{text}}", "instructions": secret}),
        "long wish": (summarize, {"instructions": secret * 200}),
        "schema is a text": (extract, {"schema": secret}),
        "schema of another type": (extract, {"schema": {"type": secret}}),
        "schema leads elsewhere": (extract, {"schema": {**row, "$ref": f"http://{secret}/"}}),
        "pattern is none": (extract, {"schema": {**row, "pattern": f"({secret}"}}),
        "place of rows is none": (extract, {"schema": row, "source": {"path": secret}}),
        "column of rows is none": (extract, {"schema": row, "source": {"columns": {secret: 1}}}),
        "artifacts without text": (extract, {"schema": row, "artifacts": [secret]}),
        "unknown sink": (f"{namespace}:export", {"sink": secret}),
        "sink is a path": (f"{namespace}:export", {"sink": f"../{secret}"}),
        "folder leads out": (f"{namespace}:export", {"sink": "files", "directory": f"../{secret}"}),
        "artifacts are no names": (
            f"{namespace}:export",
            {"sink": "files", "artifacts": [f"{secret}/"]},
        ),
        "information is not stored": (
            f"{namespace}:store",
            {"artifacts": [{"kind": "info", "text": secret}]},
        ),
        "unknown kind to store": (f"{namespace}:store", {"artifacts": [{"kind": secret}]}),
        "nothing to store": (f"{namespace}:store", {"artifacts": [], "userId": secret}),
    }
    return {name: _post(path, body) for name, (path, body) in bodies.items()}


def _of_places(memory: str, namespace: str, secret: str) -> dict[str, Sent]:
    artifact, policy = f"{namespace}/artifacts/upload", f"{memory}/toolPolicies/web"
    encoded = base64.b64encode(secret.encode()).decode()
    put = {"method": "PUT", "url": artifact, "content": secret.encode()}
    return {
        "media type of an upload": {**put, "headers": {"Content-Type": f"{secret}"}},
        "digest of an upload": {**put, "headers": {"Content-Digest": f"sha-256=:{encoded}:"}},
        "digest of other bytes": {
            **put,
            "headers": {"Content-Digest": f"sha-256=:{'A' * 43}=:"},
        },
        "life of an upload": {**put, "params": {"ttl": secret}},
        "unknown parameter of an upload": {**put, "params": {"ttl": "1s", "userId": secret * 40}},
        "etag of an upload": {**put, "headers": {"If-Match": f'"{secret}"'}},
        "range of nothing": {
            "method": "GET",
            "url": f"{namespace}/artifacts/artifact-1/content",
            "headers": {"Range": "bytes=99999999-"},
        },
        "policy of no choice": {"method": "PUT", "url": policy, "json": {"offPrompt": secret}},
        "policy of another field": {"method": "PUT", "url": policy, "json": {secret: secret}},
        "namespace of no choice": {
            "method": "PATCH",
            "url": namespace,
            "json": {"localOnly": secret},
        },
        "namespace of another field": {"method": "PATCH", "url": namespace, "json": {secret: 1}},
        "namespace of a stale etag": {
            "method": "PATCH",
            "url": namespace,
            "json": {"sensitive": True, "etag": secret},
        },
        "page of another list": {
            "method": "GET",
            "url": f"{memory}/namespaces",
            "params": {"pageToken": secret},
        },
        "size of a page": {
            "method": "GET",
            "url": f"{memory}/namespaces",
            "params": {"pageSize": secret},
        },
        "memory of the tools": {
            "method": "GET",
            "url": f"{memory.partition('/taskMemories')[0]}/toolSpecs",
            "params": {"memory": f"{secret}/"},
        },
        "id of a request": {
            "method": "POST",
            "url": f"{memory}:processOutput",
            "json": {
                "tool": "web",
                "activity": "fetch",
                "output": {"kind": "text", "text": secret},
            },
            "headers": {"Idempotency-Key": secret * 10},
        },
    }
