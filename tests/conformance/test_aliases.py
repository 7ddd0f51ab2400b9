"""The deprecated methods of `agent_engines`, which warn and then make the same calls.

Source: wire specification, section 3.1.
"""

import pytest

from tests.support.official import USER, Bank, Client, actions, facts, generated, missing


def test_create_memory(bank: Bank) -> None:
    with pytest.deprecated_call():
        made = bank.client.agent_engines.create_memory(
            name=bank.name, fact="I like tea.", scope=USER, config={"display_name": "dn"}
        )
    assert made.response.display_name == "dn"
    assert bank.listed() == [made.response]


def test_get_memory(bank: Bank) -> None:
    made = bank.create("I like tea.")
    with pytest.deprecated_call():
        assert bank.client.agent_engines.get_memory(name=made.name) == made


def test_list_memories(bank: Bank) -> None:
    made = [bank.create(fact) for fact in "abc"]
    with pytest.deprecated_call():
        found = bank.client.agent_engines.list_memories(name=bank.name, config={"page_size": 2})
    assert [*found] == [*reversed(made)]


def test_generate_memories(bank: Bank) -> None:
    with pytest.deprecated_call():
        operation = bank.client.agent_engines.generate_memories(
            name=bank.name, direct_memories_source=facts("I like tea."), scope=USER
        )
    assert actions(generated(operation)) == ["CREATED"]


def test_retrieve_memories(bank: Bank) -> None:
    made = bank.create("I like tea.")
    with pytest.deprecated_call():
        found = bank.client.agent_engines.retrieve_memories(
            name=bank.name, scope=USER, similarity_search_params={"search_query": "tea"}
        )
    assert [one.memory for one in found] == [made]


def test_delete_memory(bank: Bank) -> None:
    made = bank.create("I like tea.")
    with pytest.deprecated_call():
        operation = bank.client.agent_engines.delete_memory(name=made.name)
    assert operation.done is True
    with missing():
        bank.get(made.name)


async def test_asynchronous_get_and_delete_memory(aio: Client, bank: Bank) -> None:
    made = bank.create("I like tea.")
    with pytest.deprecated_call():
        assert await aio.agent_engines.get_memory(name=made.name) == made
    with pytest.deprecated_call():
        await aio.agent_engines.delete_memory(name=made.name)
    with missing():
        bank.get(made.name)
