"""The console as a browser without scripts uses it: pages, their forms and links."""

import re
from html.parser import HTMLParser
from urllib.parse import urljoin

import httpx
from fastapi import FastAPI
from typing_extensions import override

ADDRESS = "http://127.0.0.1:8000"
MEMORIES = "/console/e/1/memories"
_VOID = {"input", "meta", "link", "br", "hr"}


class Page(HTMLParser):
    """A page of the console, read.

    Attributes:
        text: what is to be read, with white space as one blank.
        links: the addresses of its links.
        next: the address of the next page of its list; empty: there is none.
        forms: the fields of each form, by the path of its action.
    """

    def __init__(self, answer: httpx.Response) -> None:
        super().__init__()
        self.links: list[str] = []
        self.next = ""
        self.forms: dict[str, dict[str, str]] = {}
        self._form: dict[str, str] = {}
        self._texts: list[str] = []
        self._area: str | None = None
        self.feed(answer.text)
        self.close()
        self.text = re.sub(r"\s+", " ", "".join(self._texts)).strip()

    @override
    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        found = {name: value or "" for name, value in attrs}
        if tag == "a" and "href" in found:
            self.links.append(found["href"])
            if found.get("rel") == "next":
                self.next = found["href"]
        elif tag == "form" and "action" in found:
            self._form = self.forms.setdefault(found["action"].partition("?")[0], {})
        elif tag == "input" and found.get("name") and self._is_sent(found):
            self._form[found["name"]] = found.get("value", "")
        elif tag == "textarea":
            self._area = found["name"]
            self._form[self._area] = ""

    @staticmethod
    def _is_sent(found: dict[str, str]) -> bool:
        return found.get("type") not in {"radio", "checkbox"} or "checked" in found

    @override
    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._area = None

    @override
    def handle_data(self, data: str) -> None:
        if self._area is not None:
            # As browsers do: the first line break belongs to the tag.
            self._form[self._area] += data.removeprefix("\n")
        else:
            self._texts.append(data)


def browser(
    app: FastAPI,
    address: str = ADDRESS,
    client: tuple[str, int] = ("127.0.0.1", 50_000),
    **headers: str,
) -> httpx.AsyncClient:
    """Return a client that keeps cookies and asks for pages."""
    transport = httpx.ASGITransport(app=app, client=client)
    return httpx.AsyncClient(
        transport=transport, base_url=address, headers={"accept": "text/html", **headers}
    )


async def sign_in(client: httpx.AsyncClient, secret: str) -> None:
    """Sign a browser in with a key or a token."""
    answer = await client.post("/console/sign-in", data={"key": secret})
    assert (answer.status_code, answer.headers["location"]) == (303, "/console"), answer.text


async def page(client: httpx.AsyncClient, url: str, status: int = 200) -> Page:
    """Return a page, which must have a status."""
    answer = await client.get(url)
    assert answer.status_code == status, (url, answer.status_code, answer.text)
    return Page(answer)


async def submit(client: httpx.AsyncClient, url: str, action: str, **fields: str) -> httpx.Response:
    """Fill in the form of a page that has an action, and send it."""
    form = (await page(client, url)).forms[action]
    assert fields.keys() <= form.keys(), form.keys()
    return await client.post(urljoin(ADDRESS, action), data={**form, **fields})
