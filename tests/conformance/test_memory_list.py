"""Lists of memories: order, pages, filters.

Source: wire specification, sections 2.6, 5.4 and 14.
"""

from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from tests.support.official import Bank, invalid

ANN = {"user_id": "ann"}
BOB = {"user_id": "bob", "app_name": "x y"}
PREFERENCE = [{"managed_memory_topic": "USER_PREFERENCES"}]
DETAIL = [{"managed_memory_topic": "KEY_CONVERSATION_DETAILS"}]
JARGON = [{"custom_memory_topic_label": "my jargon"}]


def fill(bank: Bank) -> Bank:
    """Create memories of two scopes, oldest first: tea, nuts, trip, untold."""
    bank.create("I like tea.", ANN, topics=PREFERENCE)
    bank.create("I have allergies to nuts.", ANN, topics=DETAIL)
    bank.create("My trip is in May.", BOB, topics=JARGON)
    bank.create('I say "hello".', BOB)
    return bank


@pytest.fixture(scope="module")
def filled(shared_bank: Bank) -> Bank:
    """The bank with these memories, which no test changes."""
    return fill(shared_bank)


TEA, NUTS, TRIP, HELLO = (
    "I like tea.",
    "I have allergies to nuts.",
    "My trip is in May.",
    'I say "hello".',
)


def test_a_list_is_newest_first(filled: Bank) -> None:
    assert filled.listed_facts() == [HELLO, TRIP, NUTS, TEA]


@pytest.mark.parametrize("size", [1, 2, 3, 4, 5])
def test_a_list_is_the_same_in_pages_of_any_size(filled: Bank, size: int) -> None:
    assert filled.listed_facts(page_size=size) == [HELLO, TRIP, NUTS, TEA]


def test_an_empty_list_has_no_memories_and_no_token(bank: Bank, http: httpx.Client) -> None:
    assert bank.listed() == []
    assert not http.get(f"{bank.name}/memories").json().get("nextPageToken")


def test_the_last_page_has_no_token(filled: Bank, http: httpx.Client) -> None:
    path = f"{filled.name}/memories"
    first = http.get(path, params={"pageSize": 2}).json()
    second = http.get(path, params={"pageSize": 2, "pageToken": first["nextPageToken"]}).json()
    assert len(first["memories"]) == len(second["memories"]) == 2
    assert not second.get("nextPageToken")


ORDERS: dict[str, list[str]] = {
    "create_time": [TEA, NUTS, TRIP, HELLO],
    "create_time desc": [HELLO, TRIP, NUTS, TEA],
    "create_time asc": [TEA, NUTS, TRIP, HELLO],
    "update_time": [NUTS, TRIP, HELLO, TEA],
    "update_time desc": [TEA, HELLO, TRIP, NUTS],
}


@pytest.mark.parametrize(("order", "expected"), ORDERS.items(), ids=ORDERS)
def test_a_list_has_the_order_that_is_asked_for(
    bank: Bank, order: str, expected: list[str]
) -> None:
    (tea,) = fill(bank).listed(filter=f'fact="{TEA}"')
    bank.memories._update(name=tea.name, config={"display_name": "touched"})
    assert bank.listed_facts(order_by=order) == expected
    assert bank.listed_facts(order_by=order, page_size=1) == expected


@pytest.mark.parametrize("order", ["fact", "create_time down", "nonsense desc"])
def test_a_bad_order_is_refused(bank: Bank, order: str) -> None:
    with invalid("orderBy"):
        bank.listed(order_by=order)


MANAGED = "topics.managed_memory_topic: USER_PREFERENCES"
CUSTOM = 'topics.custom_memory_topic_label: "my jargon"'
FILTERS: dict[str, list[str]] = {
    r'scope="{\"user_id\": \"ann\"}"': [NUTS, TEA],
    r'scope="{\"app_name\": \"x y\", \"user_id\": \"bob\"}"': [HELLO, TRIP],
    r'scope="{\"user_id\": \"bob\"}"': [],
    r'scope="{\"user_id\": \"Ann\"}"': [],
    'scope.user_id="ann"': [NUTS, TEA],
    MANAGED: [TEA],
    'topics.managed_memory_topic = "USER_PREFERENCES"': [TEA],
    'topics.managed_memory_topic: "KEY_CONVERSATION_DETAILS"': [NUTS],
    CUSTOM: [TRIP],
    f"{MANAGED} OR {CUSTOM}": [TRIP, TEA],
    'fact="I like tea."': [TEA],
    'fact = "i like tea."': [],
    r'fact="I say \"hello\"."': [HELLO],
    'fact=~".*allergies.*"': [NUTS],
    'fact =~ "I .*"': [HELLO, NUTS, TEA],
    'fact=~"allergies"': [],
    'fact!="I like tea."': [HELLO, TRIP, NUTS],
    'create_time>="2020-01-01T00:00:00Z"': [HELLO, TRIP, NUTS, TEA],
    'create_time<"2020-01-01T00:00:00Z"': [],
    'update_time > "2020-01-01T00:00:00+02:00"': [HELLO, TRIP, NUTS, TEA],
    "create_time > 1577836800000000": [HELLO, TRIP, NUTS, TEA],
    "create_time < 1577836800000000": [],
    'scope.user_id="ann" AND fact=~".*tea.*"': [TEA],
    'scope.user_id="ann" AND (fact=~".*tea.*" OR fact=~".*nuts.*")': [NUTS, TEA],
    'NOT scope.user_id="ann"': [HELLO, TRIP],
    '-scope.user_id="ann"': [HELLO, TRIP],
}


@pytest.mark.parametrize(("text", "expected"), FILTERS.items(), ids=FILTERS)
def test_a_filter_keeps_what_matches(filled: Bank, text: str, expected: list[str]) -> None:
    assert filled.listed_facts(filter=text) == expected


def test_a_filter_by_metadata_is_passed_through(bank: Bank) -> None:
    price = {"price": {"double_value": 2}, "k.x": {"string_value": "v"}}
    bank.create(TEA, ANN, metadata=price)
    bank.create(NUTS, ANN, metadata={"price": {"double_value": 9.5}})
    assert bank.listed_facts(filter='metadata."k.x"="v"') == [TEA]
    assert bank.listed_facts(filter="metadata.price>2") == [NUTS]
    assert bank.listed_facts(filter="metadata.price!=2", page_size=1) == [NUTS]


def test_a_filter_holds_over_pages(filled: Bank) -> None:
    text = r'scope="{\"user_id\": \"ann\"}"'
    found = filled.listed_facts(filter=text, order_by="create_time", page_size=1)
    assert found == [TEA, NUTS]


def _between(memories: list[Any], index: int) -> datetime:
    """Return a moment between the creation of two neighbours of a list."""
    newer, older = memories[index].create_time, memories[index + 1].create_time
    moment: datetime = older + (newer - older) / 2
    return moment


def test_times_are_compared_as_texts_and_as_microseconds(filled: Bank) -> None:
    moment = _between(filled.listed(), 1)
    micros = round((moment - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds() * 1_000_000)
    assert filled.listed_facts(filter=f'create_time>"{moment.isoformat()}"') == [HELLO, TRIP]
    assert filled.listed_facts(filter=f"create_time<{micros}") == [NUTS, TEA]
    assert filled.listed_facts(filter=f'create_time<"{micros}"') == [NUTS, TEA]


def test_a_memory_is_found_by_its_exact_time(filled: Bank) -> None:
    newest = filled.listed()[0]
    found = filled.listed(filter=f'create_time="{newest.create_time.isoformat()}"')
    assert found == [newest]


BAD_FILTERS = [
    "fact=",
    '(fact="x"',
    'fact="x',
    'nonsense="x"',
    'fact>"x"',
    'scope="not json"',
    'create_time>"yesterday"',
    'topics.managed_memory_topic: "NO_SUCH_TOPIC"',
    'fact=~"("',
    "AND",
]


@pytest.mark.parametrize("text", BAD_FILTERS)
def test_a_bad_filter_is_refused(bank: Bank, text: str) -> None:
    with invalid("filter"):
        bank.listed(filter=text)


def test_a_token_belongs_to_its_question(filled: Bank, http: httpx.Client) -> None:
    path = f"{filled.name}/memories"
    token = http.get(path, params={"pageSize": 1}).json()["nextPageToken"]
    with invalid("pageToken"):
        filled.listed(page_token=token, filter='fact="x"')
    with invalid("pageToken"):
        filled.listed(page_token="nonsense")


def test_a_negative_page_is_refused(bank: Bank) -> None:
    with invalid("pageSize"):
        bank.listed(page_size=-1)


def test_a_large_page_is_coerced(filled: Bank) -> None:
    assert len(filled.listed(page_size=1_000_000)) == 4


def test_a_list_of_long_memories_goes_on_where_its_page_ended(bank: Bank) -> None:
    """A page ends at 8 MiB, whatever size was asked for."""
    metadata = {f"key{n}": {"string_value": "\u20ac" * 4096} for n in range(50)}
    facts = [f"Fact {number}." for number in range(20)]
    for fact in facts:
        bank.create(fact, ANN, metadata=metadata)
    assert bank.listed_facts(page_size=100) == facts[::-1]
