"""Iteration over lists that come in pages."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Generic, TypeVar

from open_memory_bank._page import AsyncFetch, Page

Item = TypeVar("Item")


class AsyncItems(Generic[Item]):
    """The items of a list, page by page; nothing is asked before the first is wanted.

    Each iteration begins anew.
    """

    def __init__(self, fetch: AsyncFetch[Item], page_token: str | None = None) -> None:
        self._fetch = fetch
        self._page_token = page_token

    async def __aiter__(self) -> AsyncIterator[Item]:
        async for page in self.pages():
            for item in page.items:
                yield item

    async def pages(self) -> AsyncIterator[Page[Item]]:
        """Yield the pages, each with the token of the next."""
        token = self._page_token
        while True:
            page = await self._fetch(token)
            yield page
            if page.next_page_token is None:
                return
            token = page.next_page_token
