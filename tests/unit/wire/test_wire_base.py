"""The base of wire models: spellings, unknown fields, what callers may send back."""

from typing import ClassVar

import pytest
from pydantic import ValidationError

from app.kernel.wire.base import WireModel, camel_name
from app.kernel.wire.content import Part
from app.kernel.wire.objects import AnyMessage


class Inner(WireModel):
    top_k: int | None = None


class Outer(WireModel):
    ignored: ClassVar[frozenset[str]] = frozenset({"create_time"})

    search_params: Inner | None = None
    all_of: tuple[Inner, ...] = ()
    free_map: dict[str, object] | None = None
    name: str | None = None


class Kept(WireModel):
    message: AnyMessage


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("search_params", "searchParams"),
        ("a_1", "a1"),
        ("searchParams", "searchParams"),
        ("A_b", "A_b"),
        ("a__b", "a__b"),
        ("_a", "_a"),
        ("a b", "a b"),
        ("", ""),
    ],
)
def test_only_snake_case_is_made_camel_case(name: str, expected: str) -> None:
    assert camel_name(name) == expected


def test_a_message_of_another_api_is_kept_but_for_its_names() -> None:
    sent = {"web_queries": ["a_b"], "chunks": [{"start_index": None}], "camelCase": {"x_y": 1}}
    answered = {"webQueries": ["a_b"], "chunks": [{"startIndex": None}], "camelCase": {"xY": 1}}
    assert Kept.model_validate({"message": sent}).wire() == {"message": answered}
    assert Kept.model_validate({"message": answered}).wire() == {"message": answered}


def test_a_new_kind_of_part_comes_out_in_camel_case() -> None:
    part = Part.model_validate({"text": "t", "video_metadata": {"end_offset": "1s"}})
    assert part.wire() == {"text": "t", "videoMetadata": {"end_offset": "1s"}}


@pytest.mark.parametrize("key", ["searchParams", "search_params"])
@pytest.mark.parametrize("inner_key", ["topK", "top_k"])
def test_both_spellings_are_read_at_every_depth(key: str, inner_key: str) -> None:
    read = Outer.model_validate({key: {inner_key: 2}, "allOf": [{inner_key: 3}]})
    assert read == Outer(search_params=Inner(top_k=2), all_of=(Inner(top_k=3),))


def test_output_is_camel_case_without_absent_fields() -> None:
    model = Outer(search_params=Inner(top_k=2), free_map={"a_b": None, "c": {"d": None}})
    assert model.wire() == {
        "searchParams": {"topK": 2},
        "allOf": [],
        "freeMap": {"a_b": None, "c": {"d": None}},
    }


@pytest.mark.parametrize(
    ("body", "location"),
    [
        ({"search_params": {"top_k": "x"}}, ("searchParams", "topK")),
        ({"all_of": [{"topK": "x"}]}, ("allOf", 0, "topK")),
        ({"all_of": [{"other": 1}]}, ("allOf", 0, "other")),
        ({"all_of": [{"topK": 1, "top_k": 1}]}, ("allOf", 0, "top_k")),
        ({"search_params": 1}, ("searchParams",)),
    ],
)
def test_errors_have_the_wire_spelling(
    body: dict[str, object], location: tuple[str | int, ...]
) -> None:
    with pytest.raises(ValidationError) as refused:
        Outer.model_validate(body)
    assert [error["loc"] for error in refused.value.errors()] == [location]


@pytest.mark.parametrize("key", ["createTime", "create_time"])
def test_output_only_fields_are_dropped(key: str) -> None:
    assert Outer.model_validate({key: ["whatever"]}) == Outer()


def test_models_are_immutable() -> None:
    with pytest.raises(ValidationError):
        Outer().name = "x"  # type: ignore[misc]  # what is tested
