"""Retrieval by similarity, in pages, and plainly.

Source: wire specification, section 7.
"""

from typing import Any

import httpx
import pytest

from tests.support.official import USER, Bank, invalid, missing

TEA, TRAIN, NUTS = (
    "I like green tea in the morning.",
    "I travel to work by train.",
    "I am allergic to peanuts.",
)


def fill(bank: Bank) -> Bank:
    """Create three memories of one scope, oldest first: tea, train, nuts; and one of another."""
    for fact in (TEA, TRAIN, NUTS):
        bank.create(fact)
    bank.create("I like black tea.", {"user_id": "other"})
    return bank


@pytest.fixture(scope="module")
def filled(shared_bank: Bank) -> Bank:
    """The bank with these memories, which no test changes."""
    return fill(shared_bank)


def _search(text: str, top_k: int | None = None) -> dict[str, Any]:
    return {"search_query": text} | ({} if top_k is None else {"top_k": top_k})


QUERIES = {
    "Which hot drinks does the user enjoy?": TEA,
    "How does the user commute?": TRAIN,
    "What food must be avoided?": NUTS,
}


@pytest.mark.parametrize(("query", "nearest"), QUERIES.items())
def test_the_nearest_in_meaning_comes_first(filled: Bank, query: str, nearest: str) -> None:
    assert filled.retrieved_facts(similarity_search_params=_search(query))[0] == nearest


def test_distances_ascend_from_almost_zero(filled: Bank) -> None:
    found = filled.retrieve(similarity_search_params=_search(TEA))
    distances = [one.distance for one in found]
    assert distances == sorted(distances)
    assert distances[0] < 0.01
    assert all(0 <= distance <= 2 for distance in distances)
    assert distances[1] > 0.3


def test_a_search_finds_three_unless_told_otherwise(bank: Bank) -> None:
    fill(bank).create("I own a red bicycle.")
    assert len(bank.retrieve(similarity_search_params=_search("tea"))) == 3
    assert len(bank.retrieve(similarity_search_params=_search("tea", 1))) == 1
    assert len(bank.retrieve(similarity_search_params=_search("tea", 4))) == 4


def test_a_large_top_k_is_coerced(filled: Bank) -> None:
    assert len(filled.retrieve(similarity_search_params=_search("tea", 10_000))) == 3


@pytest.mark.parametrize("top_k", [-1, -100])
def test_a_negative_top_k_is_refused(filled: Bank, top_k: int) -> None:
    with invalid("similaritySearchParams.topK"):
        filled.retrieve(similarity_search_params=_search("tea", top_k))


def test_a_search_never_has_a_token(filled: Bank, http: httpx.Client) -> None:
    body = {"scope": USER, "similaritySearchParams": {"searchQuery": "tea", "topK": 1}}
    answer = http.post(f"{filled.name}/memories:retrieve", json=body).json()
    assert answer.keys() == {"retrievedMemories"}


def test_a_search_needs_a_query(filled: Bank) -> None:
    with invalid("similaritySearchParams.searchQuery"):
        filled.retrieve(similarity_search_params={"top_k": 3})
    with invalid("similaritySearchParams.searchQuery"):
        filled.retrieve(similarity_search_params={"search_query": ""})


def test_without_parameters_the_whole_scope_is_found_newest_first(filled: Bank) -> None:
    assert filled.retrieved_facts() == [NUTS, TRAIN, TEA]
    assert [one.distance for one in filled.retrieve()] == [None] * 3


def test_without_parameters_more_than_three_are_found_without_a_token(
    bank: Bank, http: httpx.Client
) -> None:
    for number in range(5):
        bank.create(f"Fact {number}.")
    assert len(bank.retrieve()) == 5
    answer = http.post(f"{bank.name}/memories:retrieve", json={"scope": USER}).json()
    assert answer.keys() == {"retrievedMemories"}


def test_an_empty_scope_of_memories_is_an_empty_answer(bank: Bank) -> None:
    assert bank.retrieve() == []
    assert bank.retrieve(similarity_search_params=_search("tea")) == []


def _pager(bank: Bank, size: int | None = None, token: str | None = None) -> Any:
    given = {"page_size": size, "page_token": token}
    params = {key: value for key, value in given.items() if value is not None}
    return bank.memories.retrieve(name=bank.name, scope=USER, simple_retrieval_params=params)


def test_pages_are_asked_for_with_a_size_and_a_token(filled: Bank, http: httpx.Client) -> None:
    path = f"{filled.name}/memories:retrieve"
    seen, token = [], ""
    for _ in range(3):
        params = {"page_size": 1, "page_token": token}
        body = {"scope": USER, "simpleRetrievalParams": params}
        answer = http.post(path, json=body).json()
        seen += [one["memory"]["fact"] for one in answer["retrievedMemories"]]
        token = answer.get("nextPageToken", "")
    assert seen == [NUTS, TRAIN, TEA]
    assert token == ""


def test_the_clients_pager_shows_a_page(filled: Bank) -> None:
    page = _pager(filled, 2).page
    assert [one.memory.fact for one in page] == [NUTS, TRAIN]
    assert [one.distance for one in page] == [None, None]


def test_the_clients_pager_ends_without_an_error_where_there_is_more(filled: Bank) -> None:
    assert [one.memory.fact for one in _pager(filled, 1)] == [NUTS]


def test_an_empty_token_is_none(filled: Bank) -> None:
    assert len(_pager(filled, 3, "").page) == 3


def test_simple_retrieval_finds_three_unless_told_otherwise(bank: Bank) -> None:
    fill(bank).create("I own a red bicycle.")
    found = bank.memories.retrieve(
        name=bank.name, scope=USER, simple_retrieval_params={"page_token": ""}
    )
    assert len(found.page) == 3


def test_a_large_page_is_coerced(filled: Bank) -> None:
    assert len(_pager(filled, 10_000).page) == 3


def test_a_foreign_token_is_refused(filled: Bank) -> None:
    with invalid("pageToken"):
        _pager(filled, 1, "nonsense")


def test_a_scope_is_matched_exactly(bank: Bank) -> None:
    bank.create("wide", {"user_id": "1"})
    bank.create("narrow", {"user_id": "1", "app": "x"})
    assert bank.retrieved_facts({"user_id": "1"}) == ["wide"]
    assert bank.retrieved_facts({"app": "x", "user_id": "1"}) == ["narrow"]
    assert bank.retrieved_facts({"user_id": "2"}) == []


def test_a_scope_heeds_case(bank: Bank) -> None:
    bank.create("small", {"user_id": "ann"})
    assert bank.retrieved_facts({"user_id": "Ann"}) == []
    assert bank.retrieved_facts({"User_id": "ann"}) == []


def test_a_search_stays_inside_the_scope(filled: Bank) -> None:
    found = filled.retrieved_facts(similarity_search_params=_search("I like black tea."))
    assert "I like black tea." not in found


@pytest.mark.parametrize("scope", [{"user_id": "*"}, {str(n): "v" for n in range(6)}])
def test_a_bad_scope_is_refused(bank: Bank, scope: dict[str, str]) -> None:
    with invalid("scope"):
        bank.retrieve(scope)


def test_a_scope_is_required(bank: Bank) -> None:
    with invalid("scope"):
        bank.memories.retrieve(name=bank.name, scope={})


def test_both_kinds_of_retrieval_at_once_are_refused(bank: Bank) -> None:
    with invalid("similaritySearchParams"):
        bank.retrieve(
            similarity_search_params=_search("tea"), simple_retrieval_params={"page_size": 1}
        )


def test_retrieval_from_an_unknown_engine_is_missing(bank: Bank) -> None:
    with missing():
        bank.memories.retrieve(name="reasoningEngines/404", scope=USER)


def test_a_retrieved_memory_is_whole(bank: Bank) -> None:
    made = bank.create(
        TEA,
        display_name="dn",
        ttl="3600s",
        topics=[{"custom_memory_topic_label": "drinks"}],
        metadata={"src": {"string_value": "a"}},
    )
    assert [one.memory for one in bank.retrieve()] == [made]
    found = bank.retrieve(similarity_search_params=_search("tea"))
    assert [one.memory for one in found] == [made]


def test_only_memories_in_words_are_found_unless_types_are_named(
    bank: Bank, http: httpx.Client
) -> None:
    bank.create(TEA)
    body = {
        "scope": USER,
        "memoryType": "STRUCTURED_PROFILE",
        "structuredContent": {"data": {"first_name": "Ann"}, "schemaId": "profile"},
    }
    assert http.post(f"{bank.name}/memories", json=body).status_code == 200
    assert bank.retrieved_facts() == [TEA]
    (profile,) = bank.retrieve(config={"memory_types": ["STRUCTURED_PROFILE"]})
    assert profile.memory.structured_content.data == {"first_name": "Ann"}
    assert profile.memory.structured_content.schema_id == "profile"
    both = ["STRUCTURED_PROFILE", "NATURAL_LANGUAGE_COLLECTION"]
    assert len(bank.retrieve(config={"memory_types": both})) == 2
