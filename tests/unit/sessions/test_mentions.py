"""What prompts show of a reference to task memory."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.kernel.names import MAX_INT64, is_task_id
from app.kernel.wire.content import MAX_LISTED, ArtifactRef
from app.platform.sessions.logic.event_text import MAX_CHARS, mention_of

NAMES = st.text("abcXYZ019._-", min_size=1, max_size=128).filter(is_task_id)
TYPES = st.sampled_from(
    ["text/plain", "image/png", "text/csv; charset=latin-1", "x" * 63 + "/" + "y" * 63]
    + [f"application/x-{n:03}" for n in range(100)]
)


def shown(**fields: Any) -> str:
    """Return what is shown of a reference as it is stored."""
    return mention_of(
        ArtifactRef.model_validate({"memory": "m", "namespace": "n", **fields}).wire()
    )


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({}, ""),
        ({"artifacts": []}, ""),
        ({"count": 0, "artifacts": []}, ", 0 artifacts"),
        ({"artifacts": [{"name": "a"}]}, " artifact=a, 1 artifact"),
        ({"artifacts": [{"name": "a"}, {"name": "b"}]}, ", 2 artifacts"),
        ({"artifacts": [{"name": "a"}], "count": 1}, " artifact=a, 1 artifact"),
        ({"totalBytes": "9"}, ", 9 bytes"),
        ({"count": 3, "totalBytes": 9}, ", 3 artifacts, 9 bytes"),
        ({"readableWith": []}, ", readers: none"),
        ({"readableWith": ["query", "export", "query"]}, ", readers: query, export"),
        (
            {
                "artifacts": [
                    {"name": "a", "mediaType": "text/plain; charset=utf-8", "sizeBytes": 5},
                    {"name": "b", "mediaType": "Image/PNG", "tokenEstimate": 1},
                    {"name": "c", "mediaType": "text/plain"},
                ],
                "count": 200,
                "totalBytes": "123",
                "createdTime": "2026-01-15T12:00:00Z",
                "expireTime": "2026-01-16T12:00:00Z",
                "readableWith": ["query", "summarize"],
                "derivedFrom": [{"namespace": "o", "name": "x"}],
            },
            ", 200 artifacts (text/plain, image/png), 123 bytes, readers: query, summarize",
        ),
    ],
)
def test_it_names_what_the_reference_names_in_one_form(fields: dict[str, Any], told: str) -> None:
    assert shown(**fields) == f"[kept off prompt: memory=m namespace=n{told}]"


@given(NAMES, NAMES, st.lists(st.tuples(NAMES, TYPES), max_size=MAX_LISTED), st.data())
def test_it_is_one_line_that_is_never_long(
    memory: str, namespace: str, listed: list[tuple[str, str]], data: st.DataObject
) -> None:
    figures = {
        "count": data.draw(st.none() | st.integers(0, 2**31 - 1)),
        "totalBytes": data.draw(st.none() | st.integers(0, MAX_INT64)),
    }
    told = shown(
        memory=memory,
        namespace=namespace,
        artifacts=[{"name": name, "mediaType": kind} for name, kind in listed],
        readableWith=["query", "summarize", "extract", "export"],
        **figures,
    )
    assert len(told) <= MAX_CHARS
    assert told.splitlines() == [told]
    # What readers are called with is whole, and so is what is told of it.
    assert told.startswith(f"[kept off prompt: memory={memory} namespace={namespace}")
    assert told.endswith("readers: query, summarize, extract, export]")
    assert told.count("[") == told.count("]") == 1
    assert all(f"{value} " in told for value in figures.values() if value is not None)


def test_a_long_reference_keeps_its_figures_and_as_many_types_as_there_is_room_for() -> None:
    types = [f"application/x-{n:03}" for n in range(100)]
    listed = [{"name": f"a{n}", "mediaType": one} for n, one in enumerate(types)]
    told = shown(artifacts=listed, totalBytes=9)
    assert ", 100 artifacts (application/x-000, application/x-001" in told
    assert told.endswith(", \u2026), 9 bytes]")
    assert MAX_CHARS - len("application/x-000, ") < len(told) <= MAX_CHARS


def test_a_name_is_never_cut() -> None:
    long = {"memory": "m" * 128, "namespace": "n" * 128}
    most = MAX_CHARS - len(shown(**long, artifacts=[{"name": "a"}])) + 1
    assert f" artifact={'a' * most}," in shown(**long, artifacts=[{"name": "a" * most}])
    assert " artifact=" not in shown(**long, artifacts=[{"name": "a" * (most + 1)}])
