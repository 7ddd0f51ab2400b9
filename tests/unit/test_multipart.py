"""Forms with a file: whatever pieces they arrive in, and however they break off."""

import asyncio
from collections.abc import Sequence

import pytest
from starlette.types import Message

from app.kernel.errors import InvalidArgument
from app.web.multipart import FormFile

_TYPE = "multipart/form-data; boundary=xyz"
_FILE = b"one\r\n--xy\r\n\r\n--xyw\x00two\r\n-"
_HEAD = (
    b'--xyz\r\nContent-Disposition: form-data; name="token"\r\n\r\nt\r\n'
    b'--xyz\r\nContent-Disposition: form-data; name="empty"\r\n\r\n\r\n'
    b'--xyz\r\nContent-Disposition: form-data; name="file"; filename="a.gz"\r\n'
    b"Content-Type: application/gzip\r\n\r\n"
)
_END = b"\r\n--xyz--\r\n"


class _Client:
    """Sends pieces; each arrives after a moment, in which the wait for it can be cancelled."""

    def __init__(self, pieces: Sequence[bytes], *, stays: bool = True) -> None:
        self._pieces = list(pieces)
        self._stays = stays

    async def receive(self) -> Message:
        await asyncio.sleep(0)
        if not self._pieces:
            return {"type": "http.disconnect"}
        piece = self._pieces.pop(0)
        more = bool(self._pieces) or not self._stays
        return {"type": "http.request", "body": piece, "more_body": more}


def _cut(body: bytes, length: int) -> list[bytes]:
    return [body[at : at + length] for at in range(0, len(body), length)]


async def _opened(client: _Client) -> FormFile:
    upload = FormFile(_TYPE, client.receive)
    assert await upload.fields(client.receive, 10) == [("token", "t"), ("empty", "")]
    return upload


async def _read(upload: FormFile) -> tuple[bytes, bool]:
    """Return the file, and whether it is whole."""
    found = b""
    while (message := await upload.receive())["type"] == "http.request":
        found += message["body"]
        if not message["more_body"]:
            return found, True
    return found, False


@pytest.mark.parametrize("length", [1, 2, 3, 7, 50, 1_000])
@pytest.mark.parametrize("file", [b"", b"\r\n", _FILE, bytes(range(256)) * 9])
async def test_the_file_is_the_same_in_any_pieces(file: bytes, length: int) -> None:
    client = _Client(_cut(_HEAD + file + _END, length))
    assert await _read(await _opened(client)) == (file, True)


async def test_a_long_first_piece_may_have_the_beginning_of_the_file() -> None:
    file = bytes(300_000)
    client = _Client([_HEAD + file + _END])
    assert await _read(await _opened(client)) == (file, True)


@pytest.mark.parametrize("stays", [True, False])
async def test_a_file_that_breaks_off_does_not_end(*, stays: bool) -> None:
    client = _Client(_cut(_HEAD + _FILE + b"\r\n--x", 9), stays=stays)
    found, is_whole = await _read(await _opened(client))
    assert _FILE.startswith(found)
    assert not is_whole


async def test_a_cancelled_wait_loses_nothing() -> None:
    upload = await _opened(_Client(_cut(_HEAD + _FILE + _END, 5)))
    found, has_more = b"", True
    while has_more:
        waiting = asyncio.ensure_future(upload.receive())
        await asyncio.sleep(0)
        waiting.cancel()
        await asyncio.wait([waiting])
        message = await upload.receive() if waiting.cancelled() else waiting.result()
        found, has_more = found + message["body"], message["more_body"]
    assert found == _FILE


async def test_what_follows_is_dropped() -> None:
    client = _Client(_cut(_HEAD + _FILE * 100 + _END, 64))
    upload = await _opened(client)
    await upload.drop()
    assert (await client.receive())["type"] == "http.disconnect"


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"token=t",
        _HEAD[:40],
        _HEAD.partition(b'--xyz\r\nContent-Disposition: form-data; name="file"')[0] + b"--xyz--",
        _HEAD[:-60] + b"x" * 300_000 + _END,
        b'--xyz\r\nContent-Disposition: form-data; name="a"\r\n\r\nb\r\n' * 20 + _HEAD + _END,
    ],
)
async def test_a_form_without_a_file_or_of_any_length_is_refused(body: bytes) -> None:
    client = _Client(_cut(body, 60_000))
    with pytest.raises(InvalidArgument, match="has no file"):
        await FormFile(_TYPE, client.receive).fields(client.receive, 10)


@pytest.mark.parametrize(
    "declared",
    [
        "",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "multipart/mixed",
        f"multipart/form-data; boundary={'x' * 300}",
    ],
)
async def test_another_type_is_refused(declared: str) -> None:
    with pytest.raises(InvalidArgument):
        FormFile(declared, _Client([]).receive)
