"""One set of routes under every spelling of a path. Source: wire specification, 2.5 and 3."""

from typing import Any

import httpx
import pytest
from fastapi import FastAPI

from app.kernel.errors import Reason
from tests.support.asgi import Sent, call
from tests.support.cases import in_one_test
from tests.support.engines import API, FIRST, LOCATION
from tests.support.errors import NO_PATH, NOT_FOUND, refusal
from tests.support.operations import USER

_PREFIXES = [
    f"/{version}/{parent}{collection}/1"
    for version in ("v1", "v1beta1")
    for parent in (f"{LOCATION}/", "projects/-/locations/-/", "")
    for collection in ("reasoningEngines", "memoryBanks")
]
_NAME = f"{LOCATION}/reasoningEngines/1"


@pytest.mark.parametrize("prefix", _PREFIXES)
async def test_every_method_is_served_under_every_prefix(
    client: httpx.AsyncClient, prefix: str
) -> None:
    engine = f"http://test{prefix}"
    memory, revisions = f"{engine}/memories/m", f"{engine}/memories/m/revisions"

    async def ask(method: str, url: str, **options: Any) -> Any:
        answer = await client.request(method, url, **options)
        assert answer.status_code == 200, answer.text
        return answer.json()

    body: dict[str, Any] = {"fact": "I like tea.", "scope": USER}
    created = await ask("POST", f"{engine}/memories", params={"memoryId": "m"}, json=body)
    assert created["response"]["name"] == f"{_NAME}/memories/m"
    assert created["name"].startswith(f"{_NAME}/operations/")
    assert (await ask("GET", engine))["name"] == _NAME
    assert (await ask("PATCH", engine, json={"displayName": "d"}))["done"]
    assert (await ask("GET", memory))["name"] == f"{_NAME}/memories/m"
    assert len((await ask("GET", f"{engine}/memories"))["memories"]) == 1
    assert (await ask("PATCH", memory, json={"fact": "I like milk."}))["done"]
    history = (await ask("GET", revisions))["memoryRevisions"]
    assert len(history) == 2
    revision = history[-1]["name"].rpartition("/")[2]
    assert (await ask("GET", f"{revisions}/{revision}"))["fact"] == "I like tea."
    assert (await ask("GET", f"{engine}/memories/-/revisions"))["memoryRevisions"] == history
    await ask("POST", f"{memory}:rollback", json={"targetRevisionId": revision})
    found = await ask("POST", f"{engine}/memories:retrieve", json={"scope": USER})
    assert found["retrievedMemories"][0]["memory"]["fact"] == "I like tea."
    assert (await ask("POST", f"{engine}/memories:purge", json={"filter": "fact:tea"}))["done"]
    body = {"scope": USER, "directMemoriesSource": {"directMemories": [{"fact": "I like cake."}]}}
    queued = await ask("POST", f"{engine}/memories:generate", json=body)
    waited = f"{engine}/operations/{queued['name'].rpartition('/')[2]}"
    assert await ask("POST", f"{waited}:wait", params={"timeout": "0s"}) == queued
    assert await ask("POST", f"{waited}:cancel") == {}
    assert await ask("DELETE", waited) == {}
    own = f"{memory}/operations/{created['name'].rpartition('/')[2]}"
    assert (await ask("GET", own))["name"] == created["name"]
    assert len((await ask("GET", f"{engine}/operations"))["operations"]) > 3
    assert (await ask("DELETE", memory))["done"]
    assert (await ask("DELETE", engine))["name"].startswith(f"{_NAME}/operations/")


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/sessions/s:compact"),
    ],
)
@pytest.mark.parametrize("engine", [FIRST, "http://test/v1/memoryBanks/1"])
async def test_a_known_method_that_is_not_served_says_so(
    client: httpx.AsyncClient, engine: str, method: str, path: str
) -> None:
    answer = await client.request(method, engine + path)
    assert refusal(answer) == (501, "UNIMPLEMENTED", Reason.METHOD_NOT_SERVED)


@in_one_test(
    "url",
    [
        "http://test/v1",
        "http://test/v1/",
        "http://test/v2/reasoningEngines/1",
        "http://test/v1alpha1/reasoningEngines/1",
        "http://test/reasoningEngines/1",
        f"{API}/projects/default/reasoningEngines/1",
        f"{API}/locations/local/reasoningEngines/1",
        f"{API}/{LOCATION}/agents/1",
        f"{FIRST}/memory/x",
        f"{FIRST}/memories/x/revisions/1/2",
        f"{FIRST}//memories",
        "http://test/docs/x",
        "http://test/docs/assets/../../pyproject.toml",
        "http://test/docs/assets/%2e%2e/%2e%2e/__init__.py",
    ],
)
async def test_a_path_that_is_not_there_says_so(client: httpx.AsyncClient, url: str) -> None:
    assert refusal(await client.get(url)) == NO_PATH


async def test_a_slash_at_the_end_of_a_path_has_no_meaning(client: httpx.AsyncClient) -> None:
    """A redirect would lose the body of some clients, and the key of others."""
    body = {"fact": "I like tea.", "scope": USER}
    made = await client.post(f"{FIRST}/memories/", params={"memoryId": "m"}, json=body)
    assert made.json()["response"]["name"] == f"{_NAME}/memories/m"
    for path in (FIRST, f"{FIRST}/memories", f"{FIRST}/memories/m", "http://test/healthz",
                 "http://test/openapi.json", f"{API}/keys"):  # fmt: skip
        with_slash = await client.get(f"{path}/")
        assert (with_slash.status_code, with_slash.json()) == (200, (await client.get(path)).json())
    assert (await client.post(f"{FIRST}/memories:retrieve/", json={"scope": USER})).is_success
    assert refusal(await client.get(f"{FIRST}/memories//")) == NO_PATH
    # One that is written so is part of an id.
    assert refusal(await client.get(f"{FIRST}/memories/m%2F")) == NO_PATH


@in_one_test(
    ("url", "said"),
    [
        ("http://test/v2/x", '"v2" is unknown at the beginning, where the API has docs, healthz,'),
        ("http://test/v1/foo", '"foo" is unknown after v1, where the API has auditEvents, keys, '),
        (f"{API}/projects/p", "something is missing after projects/{project}, where the API has"),
        (f"{API}/projects/p/x/l", '"x" is unknown after projects/{project}, where the API has loc'),
        (f"{FIRST}/memoriez", '"memoriez" is unknown after reasoningEngines/{engine}, where the A'),
        (f"{FIRST}/memoriez/x/y", '"memoriez" is unknown after reasoningEngines/{engine}, '),
        (f"{FIRST}/memories:forget", '":forget" is unknown after {engine}/memories, where the API'),
        (f"{FIRST}//memories", '"" is unknown after reasoningEngines/{engine}, where the API has '),
        (f"{FIRST}/contextCosts", "after {engine}/contextCosts, where the API has :estimate."),
        (f"{FIRST}/toolSpecs/x", '"x" is unknown after {engine}/toolSpecs, where the API has noth'),
        (f"{FIRST}/%C3%A9%22", r'"\u00e9\"" is unknown after'),
        (f"{FIRST}/{'x' * 9_000}", f'"{"x" * 80}" is unknown after'),
        ("http://test/docs/x", '"x" is unknown after docs, where the API has assets.'),
    ],
)
async def test_a_wrong_path_is_told_which_part_of_it_is_unknown(
    client: httpx.AsyncClient, url: str, said: str
) -> None:
    answer = await client.get(url)
    assert refusal(answer) == NO_PATH
    assert said in answer.json()["error"]["message"]
    assert len(answer.content) < 1_000
    # Whether what it names is there makes no difference.
    other = await client.get(url.replace("reasoningEngines/1/", "reasoningEngines/2/"))
    assert other.json() == answer.json()


async def test_a_verb_that_could_be_part_of_an_id_is_told_too(client: httpx.AsyncClient) -> None:
    answer = await client.post(f"{FIRST}/memories/x:rolback", json={})
    assert refusal(answer) == NO_PATH
    said = '":rolback" is unknown after memories/{memory}, where the API has :rollback, :undelete.'
    assert answer.json()["error"]["message"] == f"No such path: {said}"
    assert refusal(await client.get(f"{FIRST}/memories/x:rolback")) == NOT_FOUND


@in_one_test(
    ("method", "url", "allowed"),
    [
        ("PUT", FIRST, "DELETE, GET, PATCH"),
        ("HEAD", FIRST, "DELETE, GET, PATCH"),
        ("OPTIONS", FIRST, "DELETE, GET, PATCH"),
        ("BREW", FIRST, "DELETE, GET, PATCH"),
        ("DELETE", f"{FIRST}/memories", "GET, POST"),
        ("POST", f"{FIRST}/memories/x", "DELETE, GET, PATCH"),
        ("GET", f"{FIRST}/memories:purge", "POST"),
        ("GET", f"{FIRST}/memories:retrieve", "POST"),
        ("PATCH", "http://test/v1/memoryBanks", "GET, POST"),
        ("POST", f"{FIRST}/memories/x/revisions", "GET"),
        ("DELETE", f"{FIRST}/memories/x/operations", None),
        ("POST", "http://test/healthz", "GET, HEAD"),
        ("POST", "http://test/metrics", "GET"),
        ("POST", "http://test/docs", "GET"),
        ("POST", "http://test/openapi.json", "GET"),
        ("POST", "http://test/docs/assets/swagger-ui.css", "GET, HEAD"),
    ],
)
async def test_a_wrong_method_is_told_the_right_ones(
    client: httpx.AsyncClient, method: str, url: str, allowed: str | None
) -> None:
    answer = await client.request(method, url)
    if allowed is None:
        assert refusal(answer) == NO_PATH
        return
    assert answer.status_code == 405
    if method != "HEAD":
        assert refusal(answer) == (405, "INVALID_ARGUMENT", Reason.METHOD_NOT_ALLOWED)
        assert allowed in answer.json()["error"]["message"]
    assert ", ".join(sorted(answer.headers["allow"].split(", "))) == allowed


@pytest.mark.parametrize("identity", ["%6D", "m"])
async def test_percent_signs_in_an_id_are_read(client: httpx.AsyncClient, identity: str) -> None:
    body = {"fact": "I like tea.", "scope": USER}
    await client.post("/memories", params={"memoryId": "m"}, json=body)
    answer = await client.get(f"{FIRST}/memories/{identity}")
    assert answer.json()["name"] == f"{_NAME}/memories/m"


@in_one_test(
    "identity",
    ["M", "m%0A", "%0Am", "m%20", "%C3%A9", "%F0%9F%98%80", "%FF", "a" * 64, "a" * 20_000, "..%2e",
     "m%3F", "-m", "m-", "m%25", "*", "m:x", "'", "%22"],
)  # fmt: skip
async def test_an_id_that_no_memory_can_have_is_not_found(
    client: httpx.AsyncClient, identity: str
) -> None:
    answer = await client.get(f"{FIRST}/memories/{identity}")
    assert refusal(answer) == NOT_FOUND
    assert len(answer.content) < 1_000
    assert answer.json()["error"]["message"].isascii()


@in_one_test("path", [b"/%00", b"/v1/reasoningEngines/1/memories/a%00b", b"/\xff", b""])
async def test_a_path_of_any_bytes_is_answered(app: FastAPI, path: bytes) -> None:
    answer = await call(app, Sent("GET", path))
    assert (answer.status, answer.reason) == (404, Reason.PATH_NOT_FOUND)


@pytest.mark.parametrize(
    ("parent", "is_found"),
    [
        ("projects/-/locations/-", True),
        ("projects/default/locations/-", True),
        ("projects/-/locations/local", True),
        ("projects/-/locations/other", False),
        ("projects/other/locations/-", False),
    ],
)
async def test_each_part_of_a_parent_may_be_left_open_by_itself(
    client: httpx.AsyncClient, parent: str, *, is_found: bool
) -> None:
    memory = {"fact": "I like tea.", "scope": USER}
    made = await client.post("/memories", params={"memoryId": "m"}, json=memory)
    operation = made.json()["name"].rpartition("/")[2]
    engine = f"{API}/{parent}/reasoningEngines/1"
    for path in ("", "/memories/m", "/memories", "/operations", f"/operations/{operation}"):
        answer = await client.get(engine + path)
        if is_found:
            assert answer.status_code == 200, path
        else:
            assert refusal(answer) == NOT_FOUND, path
