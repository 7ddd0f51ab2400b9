"""Names of what is erased, in texts and in JSON; and what is left of conditions without a scope."""

from typing import Any

import pytest

from app.memory.erasures.logic import Erased, Pseudonyms, alias_of, ids_of, mentions, without

ENGINE = "projects/p/locations/l/reasoningEngines/1"
ALIAS = "erased-0123456789ab"
ERASED = Erased(
    {"memories": {"m"}, "operations": {"7"}, "taskMemories": {"t", "u/namespaces/n"}},
    {"user_id": "42"},
    ALIAS,
)


@pytest.mark.parametrize(
    ("name", "renamed"),
    [
        ("memories/m", f"memories/{ALIAS}"),
        ("memories/m/revisions/5", f"memories/{ALIAS}"),
        ("memories/m/operations/7", f"memories/{ALIAS}"),
        ("memories/o/operations/7", f"memories/o/operations/{ALIAS}"),
        ("taskMemories/t/toolPolicies/web", f"taskMemories/{ALIAS}"),
        ("taskMemories/t/namespaces/x/artifacts/a", f"taskMemories/{ALIAS}"),
        ("taskMemories/u/namespaces/n/artifacts/a", f"taskMemories/{ALIAS}"),
        ("taskMemories/u/namespaces/o", "taskMemories/u/namespaces/o"),
        ("memories/mm", "memories/mm"),
        ("sessions/m", "sessions/m"),
        (f"memories/{ALIAS}", f"memories/{ALIAS}"),
    ],
)
def test_a_name_ends_with_the_alias_where_it_names_what_is_erased(name: str, renamed: str) -> None:
    assert ERASED.renamed(f"{ENGINE}/{name}") == f"{ENGINE}/{renamed}"


def test_names_are_found_in_any_text() -> None:
    found = mentions("memories/a, sessions/b; taskMemories/t/namespaces/n")
    assert mentions("Memories/x") == []
    assert ids_of(found) == {
        "memories": {"a"},
        "sessions": {"b"},
        "taskMemories": {"t", "t/namespaces/n"},
    }


@pytest.mark.parametrize(
    ("value", "left"),
    [
        (None, None),
        (
            {"count": 2, "names": ["memories/m", "memories/o"]},
            {"count": 2, "names": ["memories/o"]},
        ),
        ({"done": [{"memory": {"name": "memories/m"}, "n": 1}], "n": 1}, {"done": [], "n": 1}),
        ({"requests": [{"scope": {"user_id": "42", "a": "b"}}]}, {"requests": []}),
        (
            {"requests": [{"scope": {"user_id": "43"}}]},
            {"requests": [{"scope": {"user_id": "43"}}]},
        ),
        ({"by": {"memories/m": 1, "memories/o": 2}}, {}),
    ],
)
def test_json_keeps_what_does_not_concern_what_is_erased(value: Any, left: Any) -> None:
    assert ERASED.pruned(value) == left


@pytest.mark.parametrize(
    ("values", "scope", "left"),
    [
        ({"user_id": ["42"]}, {"user_id": "42"}, None),
        ({"user_id": ["42"], "app": ["x", "y"]}, {"user_id": "42"}, None),
        ({"user_id": ["42", "43"]}, {"user_id": "42"}, {"user_id": ["43"]}),
        (
            {"user_id": ["42"], "app": ["x", "y"]},
            {"user_id": "42", "app": "x"},
            {"user_id": ["42"], "app": ["y"]},
        ),
        (
            {"user_id": ["42", "43"], "app": ["x", "y"]},
            {"user_id": "42", "app": "x"},
            {"user_id": ["42", "43"], "app": ["x", "y"]},
        ),
    ],
)
def test_conditions_lose_a_scope_and_nothing_else(
    values: dict[str, list[str]], scope: dict[str, str], left: dict[str, list[str]] | None
) -> None:
    assert without(values, scope) == left


def test_a_pseudonym_is_of_the_pairs_and_of_the_key() -> None:
    key = Pseudonyms(b"k" * 32)
    pseudonym = key.of({"a": "1", "b": "2"})
    assert pseudonym == key.of({"b": "2", "a": "1"})
    assert len({pseudonym, key.of({"a": "1"}), Pseudonyms(b"x" * 32).of({"a": "1", "b": "2"})}) == 3
    assert alias_of(pseudonym) == f"erased-{pseudonym.removeprefix('hmac-sha256:')[:12]}"
    assert key.key_id not in {pseudonym, key.key.hex()}
