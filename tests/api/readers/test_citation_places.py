"""Citations count characters of the text as readers are given it."""

import httpx
import pytest

from app.artifacts.readers.schemas import Citation
from tests.support.bank import ok
from tests.support.readers import FACT, query
from tests.support.tasks import upload

_BEFORE = "Tea \N{TEAPOT}\N{VARIATION SELECTOR-16} \N{GRINNING FACE}."


@pytest.mark.parametrize(
    ("media_type", "content", "read"),
    [
        ("text/plain", f"{_BEFORE}\n\n{FACT}\n", f"{_BEFORE}\n\n{FACT}\n"),
        ("text/plain", f"\ufeff{_BEFORE}\r\n\r{FACT}\r\n", f"{_BEFORE}\n\n{FACT}\n"),
        ("text/html", f"<p>{_BEFORE}</p><p>{FACT}</p>", f"{_BEFORE}\n\n{FACT}"),
    ],
    ids=["as it is", "mark and line ends", "html"],
)
async def test_offsets_are_of_characters_of_the_text_that_was_read(
    client: httpx.AsyncClient, media_type: str, content: str, read: str
) -> None:
    ok(await upload(client, content.encode(), media_type=media_type))
    found = ok(await query(client, model="builtin"))
    assert found["answer"] == FACT
    (cited,) = found["citations"]
    assert FACT in read[cited["start"] : cited["end"]]
    assert 0 <= cited["start"] <= cited["end"] <= len(read)
    assert read[cited["start"] :].startswith((FACT, _BEFORE))


def test_what_they_count_is_described() -> None:
    for field in ("start", "end"):
        assert "first character" in str(Citation.model_fields[field].description)
    told = str(Citation.model_fields["start"].description)
    for word in ("code points", "byte order mark", "LF", "JSON", "CSV", "HTML"):
        assert word in told
