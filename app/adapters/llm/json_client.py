"""A client that posts JSON to one address, on aiohttp, which is much faster than httpx2."""

from collections.abc import Mapping
from urllib.request import getproxies

import aiohttp
import httpx2
from yarl import URL

from app.adapters.llm.http import (
    CONNECT_SECONDS,
    bounded,
    certificates,
    open_client,
    retry_after_seconds,
    secrets_of,
)
from app.adapters.llm.provider import RequestFailed, without_reply

_IDLE_SECONDS = 5.0
"""Servers often close an idle connection after a little more: one that is older may be gone."""


class JsonClient:
    """Posts to one address over connections that it keeps; reads replies of bounded length.

    Where the environment names proxies, httpx2 posts: only it knows all forms of their variables.
    """

    def __init__(
        self,
        url: httpx2.URL,
        headers: Mapping[str, str],
        timeout_seconds: float,
        max_reply_bytes: int,
    ) -> None:
        self._headers = {
            "Accept-Encoding": "identity",
            "Content-Type": "application/json",
            **headers,
        }
        if url.userinfo:
            # As httpx2 does; aiohttp would refuse both at once.
            self._headers["Authorization"] = aiohttp.encode_basic_auth(url.username, url.password)
            url = url.copy_with(userinfo=b"")
        self._url = url
        self._address = URL(str(url), encoded=True)
        self._secrets = secrets_of(httpx2.Request("POST", url, headers=self._headers))
        self._timeout_seconds = timeout_seconds
        self._max_reply_bytes = max_reply_bytes
        self._session: aiohttp.ClientSession | None = None
        # Here, since reading the certificates takes long, and a wrong setting must stop the start.
        self._certificates = certificates(is_direct=False) if url.scheme == "https" else True
        is_proxied = not {"http", "https", "all"}.isdisjoint(getproxies())
        self._client = open_client(timeout_seconds, max_reply_bytes) if is_proxied else None

    async def post(self, body: bytes) -> bytes:
        """Return the body of a reply; raise `RequestFailed` or `BadGateway` if there is none."""
        try:
            if self._client is None:
                return await self._posted(body)
            response = await self._client.post(self._url, content=body, headers=self._headers)
            return _content(response.status_code, response.headers, response.content)
        except httpx2.TransportError as error:
            raise without_reply(error) from None
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError):
            raise RequestFailed(is_unreachable=True) from None
        except (aiohttp.ClientError, OSError):
            raise RequestFailed from None

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
        if self._session is not None:
            await self._session.close()

    async def _posted(self, body: bytes) -> bytes:
        if self._session is None:
            # Only here, since it needs a running event loop.
            self._session = self._opened()
        async with self._session.post(self._address, data=body, allow_redirects=False) as response:
            chunks = bounded(
                response.content.iter_any(),
                response.headers.get("content-encoding"),
                self._max_reply_bytes,
                is_cut=not _is_success(response.status),
                secrets=self._secrets,
            )
            content = b"".join([chunk async for chunk in chunks])
            return _content(response.status, response.headers, content)

    def _opened(self) -> aiohttp.ClientSession:
        connector = aiohttp.TCPConnector(
            ssl=self._certificates,
            keepalive_timeout=_IDLE_SECONDS,
            limit=0,
        )
        seconds = self._timeout_seconds
        return aiohttp.ClientSession(
            connector=connector,
            headers=self._headers,
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
            timeout=aiohttp.ClientTimeout(
                sock_connect=min(CONNECT_SECONDS, seconds), sock_read=seconds
            ),
        )


def _content(status: int, headers: Mapping[str, str], content: bytes) -> bytes:
    if _is_success(status):
        return content
    raise RequestFailed(status, retry_after_seconds(headers))


def _is_success(status: int) -> bool:
    return 200 <= status < 300
