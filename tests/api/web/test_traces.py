"""Traces tell what was done and how it ended, and nothing of what was said.

A receiver on the loopback address speaks OTLP, and a model's server a provider's protocol.
"""

import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import httpx
import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span
from prometheus_client import REGISTRY
from typing_extensions import override

from app.adapters.llm.factory import open_models
from app.adapters.resources import Resources
from app.adapters.tracing import traced
from app.platform.operations.services.runner import Runner
from app.settings.settings import Settings
from tests.support.bank import ok
from tests.support.generation import said
from tests.support.model_server import ModelServer, model_server, status
from tests.support.operations import path_of
from tests.support.scripted import facts

CANARY = "canaryfinch"
_MODEL = "openai:any"
_SCOPE = {"user_id": CANARY}
_TRACE, _SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
_PARENT = {"traceparent": f"00-{_TRACE}-{_SPAN}-01"}


@pytest.fixture
def received(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[bytes]]:
    """What has been exported so far."""
    with _receiver() as (url, bodies):
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", url)
        yield bodies


@contextmanager
def _receiver() -> Iterator[tuple[str, list[bytes]]]:
    bodies: list[bytes] = []

    class Receiver(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            bodies.append(self.rfile.read(int(self.headers["content-length"])))
            self.send_response(200)
            self.end_headers()

        @override
        def log_message(self, format: str, *args: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Receiver)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", bodies
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as found:
        found.always(facts(f"I like {CANARY}."))
        yield found


@pytest.fixture
async def resources(resources: Resources, server: ModelServer) -> AsyncIterator[Resources]:
    """The resources of a bank that a model over the network writes for."""
    settings = Settings(
        data_dir=resources.settings.data_dir, model=_MODEL, model_base_url=server.url
    )
    models = open_models(settings)
    yield replace(resources, models=models)
    await models.close()


def _spans(bodies: list[bytes]) -> list[Span]:
    exported = [ExportTraceServiceRequest.FromString(body) for body in bodies]
    scopes = [
        one for each in exported for spans in each.resource_spans for one in spans.scope_spans
    ]
    return [span for each in scopes for span in each.spans]


async def _work(client: httpx.AsyncClient, runner: Runner, server: ModelServer) -> None:
    """Do work that succeeds, and work that is refused, each with the canary all over it."""
    body = {"scope": _SCOPE, **said(f"I like {CANARY}.")}
    asked = ok(await client.post("/memories:generate", json=body, headers=_PARENT))
    await runner.run_pending()
    assert "error" not in ok(await client.get(path_of(asked["name"])))
    search = {"scope": _SCOPE, "similaritySearchParams": {"searchQuery": CANARY}}
    found = ok(await client.post("/memories:retrieve", json=search))
    assert CANARY in str(found)
    ok(await client.get("/memories", params={"filter": f'fact="{CANARY}"'}))
    assert (await client.get(f"/memories/{CANARY}")).status_code == 404
    assert (await client.post("/memories", json={CANARY: CANARY})).status_code == 400
    server.always(status(401))
    refused = {"scope": {"user_id": "other"}, **said(f"I like {CANARY}.")}
    ok(await client.post("/memories:generate", json=refused))
    await runner.run_pending()
    assert CANARY in str(server.seen)
    timed = REGISTRY.get_sample_value("memory_bank_model_call_seconds_count", {"model": _MODEL})
    assert timed is not None
    assert timed >= len(server.seen)


async def test_an_operation_s_trace_is_linked_to_its_request_and_tells_nothing_said(
    received: list[bytes], client: httpx.AsyncClient, runner: Runner, server: ModelServer
) -> None:
    async with traced():
        await _work(client, runner, server)
    assert CANARY.encode() not in b"".join(received)
    spans = _spans(received)
    (request,) = (span for span in spans if span.trace_id.hex() == _TRACE)
    assert request.parent_span_id.hex() == _SPAN
    assert request.name.startswith("POST /v1beta1/projects/{project}/")
    assert request.name.endswith("/memories:generate")
    done, failed = (span for span in spans if span.name == "operation generate")
    assert [(link.trace_id.hex(), link.span_id) for link in done.links] == [
        (_TRACE, request.span_id)
    ]
    assert done.trace_id != request.trace_id
    children = {span.name for span in spans if span.parent_span_id == done.span_id}
    assert children == {"model", "embed", "write"}
    told = {one.key: one.value.string_value for one in failed.attributes}
    assert told["memory_bank.kind"] == "generation.generate"
    assert told["error.type"] == "MODEL_REFUSED"
    assert not any(span.events for span in spans)


async def test_without_an_address_nothing_is_traced(
    client: httpx.AsyncClient, runner: Runner, server: ModelServer
) -> None:
    with _receiver() as (_, bodies):
        async with traced():
            await _work(client, runner, server)
    assert bodies == []


def test_without_an_address_nothing_of_the_extra_is_imported() -> None:
    code = (
        "import sys, app.process.serving, app.adapters.tracing;"
        "print([name for name in sys.modules if name.startswith('opentelemetry.sdk')"
        " or name.startswith('opentelemetry.exporter')])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
