"""A server of its own, whose rows can be counted, and models that note what they are asked."""

import secrets
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from tests.support.model_server import model_server
from tests.support.task_desk import Desk, Models, Service, serving, tokens_in
from tests.support.task_texts import TOKENS, long_text


@pytest.fixture(scope="package")
def folder() -> Iterator[Path]:
    # Short, since a Unix socket's path may have about 100 characters.
    found = Path(tempfile.mkdtemp(prefix="omb-"))
    found.chmod(0o755)
    yield found
    shutil.rmtree(found, ignore_errors=True)


@pytest.fixture(scope="package")
def all_models() -> Iterator[Models]:
    with ExitStack() as stack:
        # As long as the vectors of the service's first model.
        yield Models(*(stack.enter_context(model_server(384)) for _ in range(4)))


@pytest.fixture(scope="package")
def service(folder: Path, all_models: Models) -> Iterator[Service]:
    with serving(folder / "a", **all_models.settings()) as found:
        yield found


@pytest.fixture
def models(all_models: Models) -> Models:
    """The models, which have not been asked anything yet."""
    all_models.reset()
    return all_models


@pytest.fixture(scope="package")
def admin(service: Service) -> Iterator[httpx.Client]:
    with service.admin as found:
        yield found


@pytest.fixture
def desk(service: Service, admin: httpx.Client, models: Models) -> Desk:
    """An engine without anything, while no model has been asked anything."""
    del models
    return Desk.of(service, admin)


@pytest.fixture
def canary() -> str:
    return f"canary-{secrets.token_hex(12)}"


@pytest.fixture
def fact(canary: str) -> str:
    """What answers the question."""
    return f"The greenhouse opens with the code {canary}."


@pytest.fixture
def page(fact: str) -> str:
    """A page that is nine times as long as a reader's window; the fact stands at 90 %."""
    found = long_text(TOKENS, fact)
    assert tokens_in(len(found)) == TOKENS == 73_874
    assert found.index(fact) / len(found) == pytest.approx(0.9, abs=0.01)
    return found
