"""Uploads and downloads of artifacts: any media type, any length, and nothing by halves."""

import base64
import hashlib
import os
from collections.abc import AsyncIterator

import httpx
import pytest

from app.adapters.db.session import Database
from app.artifacts.tasks.store.contents import PAGE_BYTES
from app.settings.settings import Settings
from tests.support.bank import BAD, GONE, STALE, field_of, ok, refusal
from tests.support.tasks import ARTIFACT, NAMESPACE, NOTHING, hexadecimal, stored, upload

PNG = b"\x89PNG\r\n\x1a\n" + os.urandom(3 * PAGE_BYTES + 1_234)


def _digest(content: bytes) -> str:
    return f"sha-256=:{base64.b64encode(hashlib.sha256(content).digest()).decode()}:"


async def test_what_is_uploaded_is_described_and_comes_back_byte_by_byte(
    client: httpx.AsyncClient, database: Database
) -> None:
    digest = {"Content-Digest": _digest(PNG)}
    sent = await upload(client, PNG, media_type="image/png", headers=digest)
    artifact = ok(sent)
    assert artifact["mediaType"] == artifact["sniffedType"] == "image/png"
    assert artifact["sizeBytes"] == str(len(PNG))
    assert artifact["sha256"] == hexadecimal(PNG)
    assert artifact["state"] == "ready"
    assert artifact["readableWith"] == []
    reference = ok(await client.get(NAMESPACE))["reference"]
    assert reference["totalBytes"] == str(len(PNG))
    content = await client.get(f"{ARTIFACT}/content")
    assert content.content == PNG
    assert content.headers["content-type"] == "image/png"
    assert content.headers["content-length"] == str(len(PNG))
    assert content.headers["etag"] == f'"{artifact["etag"]}"' == sent.headers["etag"]
    assert content.headers["content-digest"] == _digest(PNG)
    assert (await stored(database))["task_pages"] == 4


@pytest.mark.parametrize(
    ("asked", "start", "end"),
    [
        ("bytes=10-19", 10, 20),
        ("bytes=0-0", 0, 1),
        (f"bytes={PAGE_BYTES - 3}-{PAGE_BYTES + 3}", PAGE_BYTES - 3, PAGE_BYTES + 4),
        ("bytes=-5", len(PNG) - 5, len(PNG)),
        (f"bytes={len(PNG) - 1}-", len(PNG) - 1, len(PNG)),
        ("bytes=5-999999999", 5, len(PNG)),
    ],
)
async def test_a_part_is_206(client: httpx.AsyncClient, asked: str, start: int, end: int) -> None:
    ok(await upload(client, PNG))
    answer = await client.get(f"{ARTIFACT}/content", headers={"Range": asked})
    assert answer.status_code == 206
    assert answer.content == PNG[start:end]
    assert answer.headers["content-range"] == f"bytes {start}-{end - 1}/{len(PNG)}"
    assert answer.headers["repr-digest"] == _digest(PNG)
    assert "content-digest" not in answer.headers


async def test_a_part_that_is_not_there_is_416(client: httpx.AsyncClient) -> None:
    ok(await upload(client, b"0123456789"))
    answer = await client.get(f"{ARTIFACT}/content", headers={"Range": "bytes=10-"})
    assert answer.status_code == 416
    assert answer.headers["content-range"] == "bytes */10"
    assert answer.json()["error"]["details"][0]["reason"] == "RANGE_NOT_SATISFIABLE"
    for whole in ("bytes=0-1,4-5", "lines=1-2", "bytes=5-2"):
        answer = await client.get(f"{ARTIFACT}/content", headers={"Range": whole})
        assert (answer.status_code, answer.content) == (200, b"0123456789")
    stale = {"Range": "bytes=1-2", "If-Range": '"1"'}
    assert (await client.get(f"{ARTIFACT}/content", headers=stale)).status_code == 200


async def test_without_bytes_it_is_an_artifact_too(client: httpx.AsyncClient) -> None:
    assert ok(await upload(client, b""))["sizeBytes"] == "0"
    answer = await client.get(f"{ARTIFACT}/content")
    assert (answer.status_code, answer.content) == (200, b"")


async def test_the_same_bytes_again_change_nothing_and_others_are_aborted(
    client: httpx.AsyncClient, database: Database
) -> None:
    first = ok(await upload(client, b"one"))
    before = await stored(database)
    assert ok(await upload(client, b"one")) == first
    other = await upload(client, b"two")
    assert refusal(other) == STALE
    assert other.json()["error"]["details"][0]["reason"] == "ETAG_STALE"
    assert "artifacts/a exists" in other.json()["error"]["message"]
    assert await stored(database) == before
    assert (await client.get(f"{ARTIFACT}/content")).content == b"one"


async def test_with_the_etag_other_bytes_take_their_place(
    client: httpx.AsyncClient, database: Database
) -> None:
    first = ok(await upload(client, b"one"))
    changed = {"If-Match": f'"{first["etag"]}"'}
    second = ok(await upload(client, b"two", headers=changed))
    assert second["etag"] != first["etag"]
    assert (await client.get(f"{ARTIFACT}/content")).content == b"two"
    assert refusal(await upload(client, b"three", headers=changed)) == STALE
    ok(await upload(client, b"four", headers={"If-Match": "*"}))
    assert (await stored(database))["task_pages"] == 1
    reference = ok(await client.get(NAMESPACE))["reference"]
    assert (reference["count"], reference["totalBytes"]) == (1, "4")
    missing = await upload(client, b"x", f"{NAMESPACE}/artifacts/b", headers={"If-Match": "*"})
    assert refusal(missing) == STALE


async def test_another_digest_is_refused_and_nothing_is_kept(
    client: httpx.AsyncClient, database: Database
) -> None:
    answer = await upload(client, PNG, headers={"Content-Digest": _digest(b"other")})
    assert refusal(answer) == BAD
    assert answer.json()["error"]["details"][0]["reason"] == "DIGEST_MISMATCH"
    assert await stored(database) == NOTHING
    unknown = await upload(client, PNG, headers={"Content-Digest": "sha-512=:AAAA:"})
    assert field_of(unknown) == "Content-Digest"
    malformed = await upload(client, PNG, headers={"Content-Digest": "sha-256=abc"})
    assert refusal(malformed) == BAD


class TestTooLong:
    """A service that takes artifacts of a million bytes."""

    @pytest.fixture
    def settings(self, settings: Settings) -> Settings:
        return settings.model_copy(update={"task_max_artifact_bytes": 1_000_000})

    async def test_it_is_refused_when_it_says_so(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        answer = await upload(client, b"x" * 1_000_001)
        assert answer.status_code == 413
        assert answer.json()["error"]["details"][0]["reason"] == "ARTIFACT_TOO_LARGE"
        assert await stored(database) == NOTHING

    async def test_it_is_refused_at_the_first_byte_too_many(
        self, client: httpx.AsyncClient, database: Database
    ) -> None:
        taken = 0

        async def endless() -> AsyncIterator[bytes]:
            nonlocal taken
            while True:
                taken += 50_000
                yield b"x" * 50_000

        answer = await client.put(ARTIFACT, content=endless())
        assert answer.status_code == 413
        assert taken <= 1_200_000
        assert await stored(database) == NOTHING
        ok(await upload(client, b"x" * 1_000_000))


async def test_what_is_not_there_is_404(client: httpx.AsyncClient) -> None:
    ok(await upload(client, b"one"))
    for path in ("/artifacts/b", "/artifacts/b/content", "/artifacts/a%20b"):
        assert refusal(await client.get(f"{NAMESPACE}{path}")) == GONE


async def test_a_namespace_of_another_memory_is_another(client: httpx.AsyncClient) -> None:
    ok(await upload(client, b"one"))
    ok(await upload(client, b"two", ARTIFACT.replace("tools", "others")))
    assert (await client.get(f"{ARTIFACT}/content")).content == b"one"
    listed = ok(await client.get("/taskMemories"))["taskMemories"]
    assert [one["name"].rpartition("/")[2] for one in listed] == ["others", "tools"]
    assert {one["totalBytes"] for one in listed} == {"3"}
