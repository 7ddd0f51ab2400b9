"""A server of its own, whose summariser is a stub that speaks a provider's protocol."""

import json
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest

from tests.support.bank import Json
from tests.support.dialogues import Dialogue, Stub
from tests.support.live import KEY, LiveServer
from tests.support.model_server import ModelServer, model_server
from tests.support.official import PARENT, Client, at, vertex_client
from tests.support.serving import serving

Begin = Callable[..., Dialogue]


@pytest.fixture(scope="package")
def provider() -> Iterator[ModelServer]:
    with model_server() as found:
        yield found


@pytest.fixture(scope="package")
def server(pytestconfig: pytest.Config, provider: ModelServer) -> Iterator[LiveServer]:
    folder = Path(tempfile.mkdtemp(prefix="omb-"))
    folder.chmod(0o755)
    settings = {
        "MODEL": "openai:scripted",
        "MODEL_BASE_URL": provider.url,
        "MODEL_ALIASES": json.dumps({"small": "openai:small"}),
        "MODEL_PRICES": json.dumps({"openai:small": {"input": 1, "output": 2}}),
        "MODEL_MAX_ATTEMPTS": "1",
        "MODEL_BREAKER_FAILURES": "1000",
        "EMBEDDER": "hash",
        "WORKER_POLL_SECONDS": "0.02",
        "WORKER_RETRY_BASE_SECONDS": "0.2",
    }
    variables = {f"MEMORY_BANK_{name}": value for name, value in settings.items()}
    with serving(pytestconfig, folder, **variables) as found:
        yield found
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="package")
def http(server: LiveServer) -> Iterator[httpx.Client]:
    with httpx.Client(
        base_url=f"{server.url}/v1beta1/",
        headers={"Authorization": f"Bearer {KEY}"},
        timeout=60,
    ) as found:
        yield found


@pytest.fixture(scope="package")
def vertex(server: LiveServer) -> Client:
    return vertex_client(**at(server.url))


@pytest.fixture(scope="package")
def engine(http: httpx.Client) -> str:
    answer = http.post(f"{PARENT}/reasoningEngines", json={})
    name: str = answer.json()["response"]["name"]
    return name


@pytest.fixture
def stub(provider: ModelServer) -> Stub:
    """The summariser, which has not been asked anything yet."""
    return Stub(provider)


@pytest.fixture
def begin(vertex: Client, http: httpx.Client, engine: str, stub: Stub) -> Begin:
    """Begins a session, with the policy that is given."""
    del stub  # whoever began before is forgotten

    def new(**policy: Json) -> Dialogue:
        return Dialogue.begin(vertex, http, engine, policy or None)

    return new
