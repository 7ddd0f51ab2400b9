"""`encryptionSpec` is refused, since nothing is encrypted by it; engines that have one keep it."""

from typing import Any

import httpx
import pytest
from sqlalchemy import update
from structlog.testing import capture_logs

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.platform.engines.services.engines import EngineService
from app.platform.engines.store.tables import EngineRow
from tests.support.archives import export, of_kind
from tests.support.bank import ENGINE, ENGINE_URL, ok
from tests.support.cases import in_one_test
from tests.support.engines import API, COLLECTION, create_engine, get_engine, update_engine
from tests.support.errors import BAD_FIELD, refusal, violations
from tests.support.restores import GZIP

KEY: dict[str, Any] = {"kmsKeyName": "projects/p/locations/l/keyRings/r/cryptoKeys/k"}
_IGNORED = "engine.encryption_spec_ignored"


async def _have_one(database: Database, *engines: str) -> None:
    """Give engines the settings that an earlier release took."""
    ids = [int(engine.rpartition("/")[2]) for engine in engines]
    of_them = update(EngineRow).where(EngineRow.engine_id.in_(ids))
    async with database.transaction() as session:
        await session.execute(of_them.values(encryption_spec=KEY))


def _is_refused(answer: httpx.Response, field: str) -> None:
    assert refusal(answer) == BAD_FIELD
    ((named, told),) = violations(answer).items()
    assert named == field
    assert "encrypt the disk or the database" in told
    assert "docs/operations/encryption.md" in told
    assert KEY["kmsKeyName"] not in answer.text


@in_one_test("fields", [{"encryptionSpec": KEY}, {"encryption_spec": KEY}, {"encryptionSpec": {}}])
async def test_an_encryption_spec_is_refused_by_name(
    client: httpx.AsyncClient, fields: dict[str, Any]
) -> None:
    _is_refused(await client.post(COLLECTION, json=fields), "encryptionSpec")
    for params in ({}, {"updateMask": "display_name"}, {"updateMask": "*"}):
        _is_refused(await client.patch(ENGINE_URL, json=fields, params=params), "encryptionSpec")


@in_one_test("mask", ["encryptionSpec", "encryption_spec", "labels,encryption_spec.kms_key_name"])
async def test_a_mask_that_leads_to_one_is_refused(client: httpx.AsyncClient, mask: str) -> None:
    answer = await client.patch(ENGINE_URL, params={"updateMask": mask}, json={})
    _is_refused(answer, "updateMask")


async def test_none_is_no_encryption_spec(client: httpx.AsyncClient) -> None:
    engine = await create_engine(client, displayName="d", encryptionSpec=None)
    assert "encryptionSpec" not in await get_engine(client, engine["name"])
    await update_engine(client, engine["name"], encryptionSpec=None, labels={"a": "b"})


@pytest.mark.parametrize("mask", [None, "*", "display_name"])
async def test_an_engine_that_has_one_keeps_it(
    client: httpx.AsyncClient, database: Database, mask: str | None
) -> None:
    await _have_one(database, ENGINE)
    updated = await update_engine(client, ENGINE, mask, displayName="after")
    assert (updated["displayName"], updated["encryptionSpec"]) == ("after", KEY)
    assert await get_engine(client, ENGINE) == updated


async def test_the_log_of_a_start_says_that_they_are_ignored(
    client: httpx.AsyncClient, database: Database, resources: Resources
) -> None:
    service = EngineService.of(resources)
    with capture_logs() as lines:
        await service.warn_of_encryption()
    assert lines == []
    some = [(await create_engine(client))["name"] for _ in range(21)]
    await _have_one(database, *some)
    ok(await client.delete(f"{API}/{some[0]}"))
    with capture_logs() as lines:
        await service.warn_of_encryption()
    (line,) = lines
    assert (line["event"], line["log_level"]) == (_IGNORED, "warning")
    assert line["engines"] == [one.rpartition("/")[2] for one in some[1:]]
    assert line["has_more"] is False
    assert KEY["kmsKeyName"] not in str(line)
    await _have_one(database, ENGINE)
    with capture_logs() as lines:
        await service.warn_of_encryption()
    assert (len(lines[0]["engines"]), lines[0]["has_more"]) == (20, True)


async def test_an_archive_with_one_restores_and_the_log_says_that_it_is_ignored(
    client: httpx.AsyncClient, database: Database
) -> None:
    source = (await create_engine(client))["name"]
    await _have_one(database, source)
    archive = await export(client, f"{API}/{source}")
    assert of_kind(archive, "engine")[0]["encryptionSpec"] == KEY
    with capture_logs() as lines:
        ok(await client.post(f"{ENGINE_URL}:restore", content=archive, headers=GZIP))
    assert [line["engines"] for line in lines if line["event"] == _IGNORED] == [["1"]]
    assert (await get_engine(client, ENGINE))["encryptionSpec"] == KEY
