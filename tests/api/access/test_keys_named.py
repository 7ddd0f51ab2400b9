"""The commands on keys take every name that their list shows."""

import httpx
import pytest

from app.adapters.resources import Resources
from app.kernel.errors import InvalidArgument, NotFound
from app.platform.access.services.access import KeyService
from app.process.commands.keys import find_id
from tests.support.bank import id_of, ok
from tests.support.cases import in_one_test

_KEYS = "http://test/v1/keys"


@pytest.fixture
def keys(resources: Resources) -> KeyService:
    return KeyService.of(resources)


async def _create(client: httpx.AsyncClient, name: str) -> str:
    return id_of(ok(await client.post(_KEYS, json={"displayName": name, "roles": ["user"]})))


async def test_a_key_is_named_by_its_id_or_by_what_it_is_for(
    client: httpx.AsyncClient, keys: KeyService
) -> None:
    made = await _create(client, "agent of 42")
    for text in (made, f"keys/{made}", "agent of 42"):
        assert await find_id(keys, text) == made


async def test_a_name_that_several_keys_have_is_refused_with_their_ids(
    client: httpx.AsyncClient, keys: KeyService
) -> None:
    one, other = [await _create(client, "twin") for _ in range(2)]
    named = ", ".join(sorted([f"keys/{one}", f"keys/{other}"]))
    with pytest.raises(InvalidArgument) as refused:
        await find_id(keys, "twin")
    assert refused.value.message == f"Several keys have this name; give one of: {named}."
    ok(await client.post(f"{_KEYS}/{one}:revoke"))
    assert await find_id(keys, "twin") == other
    ok(await client.post(f"{_KEYS}/{other}:revoke"))
    with pytest.raises(InvalidArgument):
        await find_id(keys, "twin")


async def test_a_name_that_is_the_id_of_another_key_is_refused(
    client: httpx.AsyncClient, keys: KeyService
) -> None:
    one = await _create(client, "one")
    await _create(client, one)
    with pytest.raises(InvalidArgument):
        await find_id(keys, one)
    assert await find_id(keys, f"keys/{one}") == one


@in_one_test("text", ["", "absent", "engines/7", "../7", "7 ", "keys/", "keys/a b"])
async def test_a_name_that_no_key_has_is_told(keys: KeyService, text: str) -> None:
    with pytest.raises(NotFound):
        await find_id(keys, text)
