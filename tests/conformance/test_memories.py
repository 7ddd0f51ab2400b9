"""Memories: create and get."""

from tests.support.official import Bank


def test_x(bank: Bank) -> None:
    m = bank.create("I like tea.")
    print(m)
    print(bank.revisions(m.name))
    print(bank.remember("I like tea.", "I live in Rome."))
    print(bank.hear("I like cake."))
    print(bank.retrieve(similarity_search_params={"search_query": "I like tea."}))
    raise AssertionError
