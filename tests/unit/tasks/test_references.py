"""What prompts are told of what is kept off them."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.artifacts.tasks.logic import Kind, Reader, Warned
from app.artifacts.tasks.schemas import ArtifactReference, Reference
from app.artifacts.tasks.services.views import (
    MAX_PROMPT_CHARS,
    prompt_text,
    readable_with,
    warned,
)
from app.kernel.names import is_task_id

NAMES = st.text("abcXYZ019._-", min_size=1, max_size=128).filter(is_task_id)
TYPES = st.sampled_from(["text/plain", "image/png", "x" * 63 + "/" + "y" * 63])


def reference(
    memory: str = "TaskMemory",
    namespace: str = "ns-1",
    types: list[str] | None = None,
    count: int = 1,
    size: int = 295_496,
    readers: list[Reader] | None = None,
) -> Reference:
    moment = datetime(2026, 11, 24, tzinfo=UTC)
    listed = [
        ArtifactReference(
            name=f"a{n}", kind=Kind.TEXT, media_type=one, size_bytes=size, token_estimate=1
        )
        for n, one in enumerate(types if types is not None else ["text/plain"])
    ]
    return Reference(
        memory=memory,
        namespace=namespace,
        artifacts=listed,
        count=count,
        total_bytes=size,
        created_time=moment,
        expire_time=moment,
        readable_with=list(Reader) if readers is None else readers,
    )


def test_it_names_all_that_a_prompt_may_know() -> None:
    assert prompt_text(reference(), "web", "fetch") == (
        "web.fetch: stored off prompt as memory=TaskMemory namespace=ns-1; 1 artifact (text/plain),"
        " 295496 bytes; readers: query, summarize, extract, export"
    )


def test_without_any_reader_it_says_so() -> None:
    told = prompt_text(reference(readers=[]), "web", "fetch")
    assert told.endswith("295496 bytes; readers: none")


def test_several_artifacts_are_counted_and_their_types_named_once() -> None:
    found = reference(types=["text/plain", "image/png", "text/plain"], count=3, readers=[])
    told = prompt_text(found, "web", "fetch")
    assert "3 artifacts (text/plain, image/png)" in told
    assert told.endswith("readers: none")


@given(NAMES, NAMES, NAMES, NAMES, st.lists(TYPES, max_size=100), st.integers(0, 10_000))
def test_it_is_never_longer_than_it_may_be(
    tool: str, activity: str, memory: str, namespace: str, types: list[str], count: int
) -> None:
    found = reference(memory, namespace, types, count, 512 * 1024**2)
    told = prompt_text(found, tool, activity)
    assert len(told) <= MAX_PROMPT_CHARS
    # What a tool is called with has to be whole.
    assert f"memory={memory} namespace={namespace};" in told
    assert f" {count} artifact" in told
    assert "536870912 bytes" in told
    assert "readers: query, summarize, extract, export" in told
    assert told[0] == tool[0]


def test_long_names_are_cut_and_short_ones_beside_them_are_not() -> None:
    told = prompt_text(reference("m" * 128, "n" * 128, ["image/png"]), "t" * 128, "fetch")
    assert told.startswith("tt")
    assert "\u2026.fetch: " in told
    assert "(image/png)" in told
    assert len(told) <= MAX_PROMPT_CHARS


def test_a_reference_has_these_fields_and_no_others() -> None:
    assert set(Reference.model_fields) == {
        "memory",
        "namespace",
        "artifacts",
        "count",
        "total_bytes",
        "created_time",
        "expire_time",
        "readable_with",
        "derived_from",
    }
    assert set(ArtifactReference.model_fields) == {
        "name",
        "kind",
        "media_type",
        "size_bytes",
        "token_estimate",
    }


@pytest.mark.parametrize("has_text", [True, False])
@pytest.mark.parametrize("has_reader", [True, False])
@pytest.mark.parametrize("has_rows", [True, False])
@pytest.mark.parametrize("has_sinks", [True, False])
def test_readers_are_those_that_can_read_it(
    *, has_text: bool, has_reader: bool, has_rows: bool, has_sinks: bool
) -> None:
    found = readable_with(
        has_text=has_text, has_reader=has_reader, has_rows=has_rows, has_sinks=has_sinks
    )
    reading = ["query", "summarize"] if has_text and has_reader else []
    reading += ["extract"] if reading and has_rows else []
    assert found == [*reading, *(["export"] if has_sinks else [])]


def test_a_developer_is_warned_of_what_nobody_can_read() -> None:
    assert warned(reference()) == []
    assert warned(reference(readers=[Reader.SUMMARIZE])) == []
    assert warned(reference(readers=[])) == [Warned.NO_READER]
    assert warned(reference(readers=[Reader.EXPORT])) == [Warned.NO_READER]
