"""Update masks."""

import pytest

from app.kernel.changes import check, parse_mask
from app.kernel.errors import InvalidArgument

ALLOWED = ("display_name", "fact", "context_spec.memory_bank_config")


@pytest.mark.parametrize("text", [None, "", "  "])
def test_no_mask_is_none(text: str | None) -> None:
    assert parse_mask(text) is None


@pytest.mark.parametrize(
    ("text", "paths"),
    [
        ("fact", ("fact",)),
        ("display_name,fact", ("display_name", "fact")),
        (" displayName , fact,display_name ", ("display_name", "fact")),
        ("contextSpec.memoryBankConfig", ("context_spec.memory_bank_config",)),
        ("*", ("*",)),
    ],
)
def test_both_spellings_are_read(text: str, paths: tuple[str, ...]) -> None:
    assert parse_mask(text) == paths


@pytest.mark.parametrize("text", [",", "fact,", "a" * 5000])
def test_a_malformed_mask_is_refused(text: str) -> None:
    with pytest.raises(InvalidArgument, match="updateMask"):
        parse_mask(text)


def test_a_star_stands_for_all() -> None:
    assert check(["*"], ALLOWED) == frozenset(ALLOWED)
    assert check(["fact", "*"], ALLOWED) == frozenset(ALLOWED)


def test_an_allowed_path_is_kept() -> None:
    assert check(["fact"], ALLOWED) == {"fact"}


@pytest.mark.parametrize("path", ["scope", "context_spec", "DisplayName", "display__name"])
def test_an_unknown_path_is_refused_naming_the_known(path: str) -> None:
    accepted = r"accepts \* or any of: context_spec.memory_bank_config, display_name, fact."
    with pytest.raises(InvalidArgument, match=accepted):
        check(parse_mask(path) or (), ALLOWED)
