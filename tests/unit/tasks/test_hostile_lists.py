"""Lists of outputs that are wrong all over, or too long: little is made of them."""

from typing import Any

import pytest
from pydantic import ValidationError

from app.artifacts.tasks.schemas import MAX_ELEMENTS, Output, StoreArtifactsRequest
from app.kernel.wire.base import WireModel

WRONG = {"kind": "text", "text": "x", "data": ""}
RIGHT = {"kind": "text", "text": "x"}


def violations(model: type[WireModel], body: dict[str, Any]) -> list[Any]:
    with pytest.raises(ValidationError) as refused:
        model.model_validate(body)
    return refused.value.errors()


def test_the_first_element_that_is_wrong_is_told_and_no_other_is_looked_at() -> None:
    elements = [RIGHT, *[WRONG] * 1_000]
    (told,) = violations(StoreArtifactsRequest, {"artifacts": elements})
    assert told["loc"][:2] == ("artifacts", 1)
    (told,) = violations(Output, {"kind": "list", "elements": elements})
    assert told["loc"][:2] == ("elements", 1)


def test_a_list_that_no_service_takes_is_not_read() -> None:
    elements = [RIGHT] * (MAX_ELEMENTS + 1)
    for model, body in (
        (StoreArtifactsRequest, {"artifacts": elements}),
        (Output, {"kind": "list", "elements": elements}),
    ):
        (told,) = violations(model, body)
        assert told["type"] == "too_long"
    assert len(StoreArtifactsRequest.model_validate({"artifacts": elements[1:]}).artifacts) == (
        MAX_ELEMENTS
    )
