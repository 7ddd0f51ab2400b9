"""The application does what its OpenAPI document says, whatever it is sent.

Requests are generated from the document, good ones and bad ones, for every operation.
"""

from typing import Any
from urllib.parse import urlsplit

import pytest
import requests
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as hypothesis_settings
from schemathesis.checks import not_a_server_error
from schemathesis.core.result import Ok
from schemathesis.core.transport import Response
from schemathesis.generation import GenerationMode
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from app.platform.operations.services.runner import Runner
from app.process.main import create_app
from app.process.start import offline_resources
from app.settings.settings import Settings
from tests.conftest import ADMIN_KEY
from tests.support.asgi import Answer, Sent, call

_Operation = APIOperation[Any, Any, Any, Any]
_Case = schemathesis.Case[Any]

_BASE = "http://test"
_EXAMPLES = hypothesis_settings().max_examples * 3 // 100
"""The examples of each mode."""
_NOT_SERVED = 501
_CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
# Every other request goes to what is there.
_KNOWN = {
    "project": "default",
    "location": "local",
    "engine": "1",
    "memory": "known",
    "session": "known",
}


@schemathesis.serializer("application/x-ndjson")
def _lines(_: object, value: object) -> bytes:
    """Send what is documented as text, or something else."""
    return str(value).encode("utf-8", "replace")


_schema = schemathesis.openapi.from_dict(create_app(offline_resources(Settings())).openapi())
_schema.config.update(base_url=_BASE)
_OPERATIONS: list[_Operation] = [
    found.ok() for found in _schema.get_all_operations() if isinstance(found, Ok)
]


def _cases(operation: _Operation, mode: GenerationMode) -> list[_Case]:
    found: list[_Case] = []

    @hypothesis_settings(
        max_examples=_EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(operation.as_strategy(generation_mode=mode))
    def collect(case: _Case) -> None:
        found.append(case)

    collect()
    return found


def _prepared(case: _Case) -> requests.PreparedRequest:
    arguments: dict[str, Any] = case.as_transport_kwargs(base_url=_BASE)
    names = ("method", "url", "headers", "params", "data", "json", "files", "cookies", "auth")
    request = requests.Request(**{name: arguments[name] for name in names if name in arguments})
    prepared = request.prepare()
    # The document knows two ways to send a key; a made-up one would go first.
    prepared.headers.pop("x-goog-api-key", None)
    prepared.headers["Authorization"] = f"Bearer {ADMIN_KEY}"
    if "requestId=" in str(prepared.url):
        prepared.headers.pop("idempotency-key", None)
    return prepared


async def _sent(app: FastAPI, prepared: requests.PreparedRequest) -> Answer:
    url = urlsplit(str(prepared.url))
    body = prepared.body or b""
    assert isinstance(body, str | bytes)
    headers = [
        (
            name.lower().encode("latin-1"),
            value if isinstance(value, bytes) else value.encode("latin-1"),
        )
        for name, value in prepared.headers.items()
    ]
    sent = Sent(
        str(prepared.method),
        url.path.encode("latin-1"),
        url.query.encode("latin-1"),
        headers,
        body.encode() if isinstance(body, str) else body,
    )
    return await call(app, sent)


def _response(answer: Answer, prepared: requests.PreparedRequest) -> Response:
    headers = {name: [value] for name, value in answer.headers.items()}
    return Response(answer.status, headers, answer.body, prepared, elapsed=0.0, verify=False)


@pytest.fixture
async def filled(app: FastAPI) -> FastAPI:
    """The application with a memory and a session in it."""
    body = b'{"fact": "I like tea.", "scope": {"user_id": "42"}, "displayName": "d"}'
    path = b"/v1/reasoningEngines/1/memories"
    assert (await call(app, Sent("POST", path, b"memoryId=known", body=body))).status == 200
    path, body = b"/v1/reasoningEngines/1/sessions", b'{"userId": "42", "sessionState": {"k": 1}}'
    assert (await call(app, Sent("POST", path, b"sessionId=known", body=body))).status == 200
    return app


def _modes(operation: _Operation) -> list[GenerationMode]:
    """Return both modes, but for a probe, to which nothing can be sent that is wrong."""
    takes_anything = [*operation.iter_parameters(), *operation.body]
    return list(GenerationMode) if takes_anything else [GenerationMode.POSITIVE]


@pytest.mark.parametrize("operation", [pytest.param(one, id=one.label) for one in _OPERATIONS])
async def test_every_answer_is_documented(
    filled: FastAPI, runner: Runner, operation: _Operation
) -> None:
    cases = [case for mode in _modes(operation) for case in _cases(operation, mode)]
    for number, case in enumerate(cases):
        if number % 2:
            known = {name: _KNOWN[name] for name in case.path_parameters if name in _KNOWN}
            case.path_parameters.update(known)
        prepared = _prepared(case)
        answer = await _sent(filled, prepared)
        if answer.status != _NOT_SERVED:
            case.validate_response(_response(answer, prepared), checks=_CHECKS)
    await runner.run_pending()
