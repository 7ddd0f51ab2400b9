"""The embedder's HTTP client: connections, proxies, certificates, and addresses with a password."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from ipaddress import ip_address
from pathlib import Path

import httpx2
import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from app.adapters.llm.http import certificates
from app.adapters.llm.json_client import JsonClient
from app.adapters.llm.provider import RequestFailed
from app.kernel.errors import BadGateway
from tests.support.model_server import Behaviour, ModelServer, model_server

BODY = b'{"input": ["text"], "model": "any"}'


@asynccontextmanager
async def client_of(url: str, **headers: str) -> AsyncIterator[JsonClient]:
    client = JsonClient(httpx2.URL(url), headers, 10, 100_000)
    yield client
    await client.close()


@pytest.fixture(autouse=True)
def unproxied(monkeypatch: pytest.MonkeyPatch) -> None:
    for scheme in ("no", "all", "http", "https"):
        monkeypatch.delenv(f"{scheme}_proxy", raising=False)
        monkeypatch.delenv(f"{scheme.upper()}_PROXY", raising=False)


async def test_a_connection_is_kept(server: ModelServer) -> None:
    async with client_of(f"{server.url}/embeddings") as client:
        for _ in range(3):
            await client.post(BODY)

    assert len({seen.port for seen in server.seen}) == 1
    assert {seen.headers["content-type"] for seen in server.seen} == {"application/json"}


@pytest.mark.parametrize(("exempt", "proxied"), [("", 1), ("127.0.0.1", 0), ("elsewhere", 1)])
async def test_a_proxy_of_the_environment_is_used(
    monkeypatch: pytest.MonkeyPatch, server: ModelServer, exempt: str, proxied: int
) -> None:
    with model_server() as proxy:
        monkeypatch.setenv("ALL_PROXY", proxy.url.removesuffix("/v1"))
        monkeypatch.setenv("NO_PROXY", exempt)
        async with client_of(f"{server.url}/embeddings", Authorization="Bearer key") as client:
            await client.post(BODY)

        assert (len(proxy.seen), len(server.seen)) == (proxied, 1 - proxied)
        [seen] = [*proxy.seen, *server.seen]
        assert seen.headers["authorization"] == "Bearer key"


async def test_a_name_and_a_password_in_an_address_are_sent_as_such(server: ModelServer) -> None:
    address = server.url.replace("://", "://me:pass%20word@")
    async with client_of(f"{address}/embeddings?a=b%2Fc", Authorization="Bearer key") as client:
        await client.post(BODY)

    [seen] = server.seen
    assert seen.headers["authorization"] == "Basic bWU6cGFzcyB3b3Jk"
    assert seen.query == {"a": "b/c"}


async def test_a_redirection_is_not_followed(server: ModelServer) -> None:
    server.always(Behaviour(status=307, headers={"Location": f"{server.url}/elsewhere"}))
    async with client_of(f"{server.url}/embeddings") as client:
        with pytest.raises(RequestFailed) as failed:
            await client.post(BODY)

    assert (failed.value.status, len(server.seen)) == (307, 1)


async def test_a_compressed_reply_is_not_read(server: ModelServer) -> None:
    server.always(Behaviour(headers={"Content-Encoding": "gzip"}))
    async with client_of(f"{server.url}/embeddings") as client:
        with pytest.raises(BadGateway, match="compressed"):
            await client.post(BODY)


@pytest.fixture
def certificate(tmp_path: Path) -> Iterator[Path]:
    """A file with a key, and a certificate of 127.0.0.1 that it has signed itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    name, today = x509.Name([]), datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(today - timedelta(days=1))
        .not_valid_after(today + timedelta(days=1))
        .add_extension(
            x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=True
        )
        .sign(key, hashes.SHA256())
    )
    file = tmp_path / "server.pem"
    secret = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    file.write_bytes(secret + signed.public_bytes(Encoding.PEM))
    certificates.cache_clear()
    yield file
    certificates.cache_clear()


async def _answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"\r\n\r\n")
    await reader.readexactly(len(BODY))
    writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")
    await writer.drain()
    writer.close()


@pytest.mark.parametrize("is_known", [True, False])
async def test_a_certificate_is_checked_against_those_of_the_environment(
    monkeypatch: pytest.MonkeyPatch, certificate: Path, *, is_known: bool
) -> None:
    if is_known:
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    served = await asyncio.start_server(_answer, "127.0.0.1", ssl=context)
    port = served.sockets[0].getsockname()[1]
    async with served, client_of(f"https://127.0.0.1:{port}/v1") as client:
        if is_known:
            assert await client.post(BODY) == b"{}"
        else:
            with pytest.raises(RequestFailed) as failed:
                await client.post(BODY)
            assert failed.value.is_unreachable


def test_certificates_that_cannot_be_read_are_found_at_the_start(
    monkeypatch: pytest.MonkeyPatch, certificate: Path
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate.with_name("missing.pem")))
    with pytest.raises(FileNotFoundError):
        JsonClient(httpx2.URL("https://127.0.0.1/v1"), {}, 10, 100_000)
