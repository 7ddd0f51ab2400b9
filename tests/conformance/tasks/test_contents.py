"""T7, T17, T18, T20: bytes, their limits and their end. Source: design of task memory, 1.4."""

import base64
import hashlib
import os
import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from app.kernel.errors import Reason
from tests.support.bank import ok
from tests.support.errors import NOT_FOUND, refusal
from tests.support.live import KEY
from tests.support.task_desk import AGENT, Desk, Models, shown, until
from tests.support.tasks import NOTHING

MIB = 1024**2
PNG_BYTES = 5_242_880
LONGEST_BYTES = 64 * MIB
_PIECE = os.urandom(MIB)
_SOON_SECONDS = 60
_HAS_PROC = Path("/proc/self/status").exists()


def _png(size: int) -> bytes:
    """Return a picture's head, and noise: as many bytes in all."""
    head = base64.b64decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJ")
    return head + os.urandom(size - len(head))


def _artifact(desk: Desk, name: str = "a") -> str:
    return f"{desk.namespace('n')}/artifacts/{name}"


def _put(desk: Desk, content: bytes | Iterator[bytes], **headers: str) -> httpx.Response:
    sent = {"Content-Type": "application/octet-stream", **headers}
    return desk.http.put(_artifact(desk), content=content, headers=sent, timeout=120)


def test_t7_a_picture_is_kept_as_it_is_and_read_by_no_model(desk: Desk, models: Models) -> None:
    picture = _png(PNG_BYTES)
    uploaded = ok(_put(desk, picture, **{"Content-Type": "image/png"}))
    assert (uploaded["mediaType"], uploaded["sizeBytes"]) == ("image/png", "5242880")
    place = desk.namespace("n")
    reference = ok(desk.http.get(place))["reference"]
    (artifact,) = reference["artifacts"]
    assert (artifact["mediaType"], artifact["sizeBytes"]) == ("image/png", str(PNG_BYTES))
    assert reference["readableWith"] == ["export"]
    for method, body in (("query", {"query": "What is in it?"}), ("summarize", {})):
        answer = desk.http.post(f"{place}:{method}", json=body)
        assert refusal(answer) == (400, "INVALID_ARGUMENT", Reason.NO_READABLE_ARTIFACTS)
    assert models.readings == 0
    whole = desk.http.get(f"{_artifact(desk)}/content")
    assert (whole.status_code, whole.headers["content-type"]) == (200, "image/png")
    assert whole.content == picture
    part = desk.http.get(f"{_artifact(desk)}/content", headers={"Range": "bytes=10-19"})
    assert (part.status_code, part.content) == (206, picture[10:20])
    assert part.headers["content-range"] == f"bytes 10-19/{PNG_BYTES}"
    across = {"Range": "bytes=262100-262200"}
    assert (
        desk.http.get(f"{_artifact(desk)}/content", headers=across).content
        == (picture[262_100:262_201])
    )


def test_t7_what_it_looks_like_is_noted_and_what_it_is_declared_as_holds(desk: Desk) -> None:
    uploaded = ok(_put(desk, _png(1_000), **{"Content-Type": "text/plain"}))
    assert (uploaded["mediaType"], uploaded["sniffedType"]) == ("text/plain", "image/png")
    assert uploaded["readableWith"] == ["export"]


def _resident_bytes(pid: int) -> int:
    found = re.search(r"^VmRSS:\s+(\d+) kB$", Path(f"/proc/{pid}/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


@contextmanager
def _growth_of(pid: int) -> Iterator[Callable[[], int]]:
    """Yield what tells by how much a process has been larger than it was, at most."""
    began = largest = _resident_bytes(pid)
    done = threading.Event()

    def watch() -> None:
        nonlocal largest
        while not done.wait(0.005):
            largest = max(largest, _resident_bytes(pid))

    thread = threading.Thread(target=watch)
    thread.start()
    try:
        yield lambda: largest - began
    finally:
        done.set()
        thread.join()


def _sha256(desk: Desk) -> tuple[str, int]:
    """Return the digest and the length of what is downloaded."""
    digest, size = hashlib.sha256(), 0
    with desk.http.stream("GET", f"{_artifact(desk)}/content", timeout=120) as answer:
        assert answer.status_code == 200
        for piece in answer.iter_raw():
            digest.update(piece)
            size += len(piece)
    return digest.hexdigest(), size


@pytest.mark.skipif(not _HAS_PROC, reason="reads the memory of a process in /proc")
def test_t17_memory_stays_flat_while_64_mib_come_and_go(desk: Desk) -> None:
    ok(_put(desk, _PIECE))
    ok(desk.http.delete(_artifact(desk)))
    digest = hashlib.sha256(_PIECE * 64)
    with _growth_of(desk.service.live.process.pid) as growth:
        uploaded = ok(_put(desk, (_PIECE for _ in range(64))))
        assert uploaded["sizeBytes"] == str(LONGEST_BYTES)
        assert uploaded["sha256"] == digest.hexdigest()
        assert _sha256(desk) == (digest.hexdigest(), LONGEST_BYTES)
        assert growth() < 32 * MIB
    ok(desk.http.delete(_artifact(desk)))


def test_t17_one_byte_more_than_64_mib_is_refused_where_it_comes(desk: Desk) -> None:
    def pieces() -> Iterator[bytes]:
        yield from (_PIECE for _ in range(64))
        yield b"x"

    answer = _put(desk, pieces())
    assert refusal(answer) == (413, "RESOURCE_EXHAUSTED", Reason.ARTIFACT_TOO_LARGE)
    assert desk.http.get(_artifact(desk)).status_code == 404
    assert desk.rows() == NOTHING


def test_t17_and_at_once_where_its_length_is_told(desk: Desk) -> None:
    headers = f"PUT /v1beta1/{_artifact(desk)} HTTP/1.1\r\nHost: a\r\n"
    headers += f"Authorization: Bearer {KEY}\r\nContent-Type: image/png\r\n"
    headers += f"Content-Length: {LONGEST_BYTES + 1}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", desk.service.live.port)) as connection:
        connection.settimeout(_SOON_SECONDS)
        connection.sendall(headers.encode() + b"x")
        assert connection.recv(1024).startswith(b"HTTP/1.1 413 ")
    assert desk.rows() == NOTHING


def test_t17_what_is_not_as_its_digest_says_is_not_kept(desk: Desk) -> None:
    content = b"tea" * 100_000
    good = base64.b64encode(hashlib.sha256(content).digest()).decode()
    other = base64.b64encode(hashlib.sha256(b"coffee").digest()).decode()
    answer = _put(desk, content, **{"Content-Digest": f"sha-256=:{other}:"})
    assert refusal(answer) == (400, "INVALID_ARGUMENT", Reason.DIGEST_MISMATCH)
    assert desk.http.get(_artifact(desk)).status_code == 404
    assert desk.rows() == NOTHING
    ok(_put(desk, content, **{"Content-Digest": f"sha-256=:{good}:"}))


def test_t17_of_a_cut_connection_nothing_can_be_read(desk: Desk, canary: str) -> None:
    mark = canary.encode()
    headers = f"PUT /v1beta1/{_artifact(desk)} HTTP/1.1\r\nHost: a\r\n"
    headers += f"Authorization: Bearer {KEY}\r\nContent-Type: text/plain\r\n"
    headers += "Content-Length: 2000000\r\n\r\n"
    with socket.create_connection(("127.0.0.1", desk.service.live.port)) as connection:
        connection.sendall(headers.encode() + (mark * 100_000)[:1_000_000])
        until(lambda: desk.rows()["task_pages"] > 2)
        for path in ("", "/artifacts", "/artifacts/a", "/artifacts/a/content"):
            assert desk.http.get(desk.namespace("n") + path).status_code == 404
        question = {"query": "What is in it?"}
        answer = desk.http.post(f"{desk.namespace('n')}:query", json=question)
        assert refusal(answer) == NOT_FOUND
    until(lambda: desk.rows() == NOTHING)
    assert canary not in desk.service.lines


def test_t18_content_is_for_who_may_see_it(desk: Desk, canary: str) -> None:
    ok(_put(desk, canary.encode(), **{"Content-Type": "text/plain"}))
    path = f"{_artifact(desk)}/content"
    digest = hashlib.sha256(canary.encode())
    marks = [canary, digest.hexdigest(), base64.b64encode(digest.digest()).decode()]
    with desk.holding(*AGENT) as agent:
        own = agent.put(_artifact(desk, "own"), content=canary.encode())
        assert "sha256" not in ok(own)
        refused = [agent.get(path), agent.get(path, headers={"Range": "bytes=0-1"})]
        for answer in refused:
            assert refusal(answer) == (403, "PERMISSION_DENIED", Reason.PERMISSION_MISSING)
        seen = [
            own,
            *refused,
            agent.get(_artifact(desk)),
            agent.get(f"{desk.namespace('n')}/artifacts"),
        ]
        assert not [mark for mark in marks for one in seen if mark in shown(one)]
    with desk.holding("artifacts.content") as human:
        answer = human.get(path)
    assert (answer.status_code, answer.text) == (200, canary)


def test_t18_nor_is_what_is_sensitive_told_to_who_tries_bytes(desk: Desk) -> None:
    code = {"kind": "text", "text": "7419", "name": "a"}
    for name, is_sensitive in (("n", True), ("open", False)):
        body = {"artifacts": [code], "sensitive": is_sensitive}
        ok(desk.http.post(f"{desk.namespace(name)}:store", json=body))
    headers = {"Content-Type": "text/plain"}
    with desk.holding(*AGENT) as agent:
        tried = [
            agent.put(_artifact(desk), content=guess, headers=headers)
            for guess in (b"7418", b"7419")
        ]
        path = f"{desk.namespace('open')}/artifacts/a"
        assert agent.put(path, content=b"7419", headers=headers).status_code == 200
    assert [refusal(one) for one in tried] == [(409, "ABORTED", Reason.ETAG_STALE)] * 2
    assert tried[0].json() == tried[1].json()
    ok(_put(desk, b"7419", **headers))


def test_t20_what_has_expired_is_gone_and_its_bytes_with_it(desk: Desk, models: Models) -> None:
    answer = ok(desk.process({"kind": "text", "text": "tea " * 900}, offPrompt=True, ttl="1s"))
    place = desk.namespace(answer["reference"]["namespace"])
    name = answer["reference"]["artifacts"][0]["name"]
    assert desk.http.get(f"{place}/artifacts/{name}/content").status_code == 200
    assert desk.rows()["task_chunks"] > 1
    until(lambda: desk.rows() == NOTHING)
    for path in ("", "/artifacts", f"/artifacts/{name}", f"/artifacts/{name}/content"):
        assert refusal(desk.http.get(place + path)) == NOT_FOUND
    for method, body in (("query", {"query": "What?"}), ("summarize", {}), ("export", {})):
        sink = {"sink": "files"} if method == "export" else {}
        assert refusal(desk.http.post(f"{place}:{method}", json=body | sink)) == NOT_FOUND
    assert models.readings == 0


def test_what_is_under_a_name_is_replaced_by_who_has_read_it_alone(desk: Desk) -> None:
    first = ok(_put(desk, b"tea"))
    assert ok(_put(desk, b"tea"))["etag"] == first["etag"]
    assert refusal(_put(desk, b"coffee")) == (409, "ABORTED", Reason.ETAG_STALE)
    stale = _put(desk, b"coffee", **{"If-Match": '"another"'})
    assert refusal(stale) == (409, "ABORTED", Reason.ETAG_STALE)
    ok(_put(desk, b"coffee", **{"If-Match": f'"{first["etag"]}"'}))
    assert desk.http.get(f"{_artifact(desk)}/content").content == b"coffee"


def test_a_text_that_is_being_cut_is_not_read_yet_unless_one_waits(
    desk: Desk, models: Models
) -> None:
    models.reader.always({"answer": "Tea.", "citations": []})
    ok(_put(desk, b"Tea is warm. " * 200_000, **{"Content-Type": "text/plain"}))
    place, question = desk.namespace("n"), {"query": "What is warm?"}
    at_once = desk.http.post(f"{place}:query", json=question)
    if at_once.status_code != 200:
        assert refusal(at_once) == (409, "ABORTED", Reason.NOT_READY)
    assert ok(desk.http.post(f"{place}:query", json={**question, "wait": True}))["answer"] == "Tea."
    (artifact,) = ok(desk.http.get(f"{place}/artifacts"))["artifacts"]
    assert artifact["state"] == "ready"
