"""Compare `MemoryBankStore` with LangGraph's own `InMemoryStore`: same operations, same answers.

Usage, in the environment of the recipe: `python tests/recipes/beside_in_memory.py [SEED]`, with
`MEMORY_BANK_CLIENT_URL`, `_KEY` and `RECIPE_ENGINE`.
"""

import os
import random
import sys
from typing import Any

from langgraph.store.base import BaseStore, MatchCondition, PutOp
from langgraph.store.memory import InMemoryStore

from open_memory_bank import Client
from open_memory_bank.langgraph import MemoryBankStore

_NAMESPACES = [("memories", "42"), ("memories", "43"), ("memories", "42", "deep"), ("notes+", "4")]
_KEYS = ["a", "b", "seat / 12", "é\n"]
_TEXTS = ["I like tea.", "I own a hat.", "x" * 9000, "", "12"]
_STEPS = 150


def main(seed: int) -> None:
    """Do random operations on both and compare after each; print how many."""
    chosen = random.Random(seed)
    with Client(engine=os.environ.get("RECIPE_ENGINE", "1")) as client:
        ours, theirs = MemoryBankStore(client), InMemoryStore()
        for step in range(_STEPS):
            name = chosen.choice(["put", "put", "put", "delete", "get", "search", "filter", "list"])
            arguments = _arguments(chosen, name)
            answers = [_answer(store, name, arguments) for store in (ours, theirs)]
            assert answers[0] == answers[1], (seed, step, name, arguments, *answers)
        _of_a_batch(ours, theirs)
        _by_meaning(ours)
    print(f"{_STEPS} operations, the same answers")


def _arguments(chosen: random.Random, name: str) -> Any:
    namespace, key = chosen.choice(_NAMESPACES), chosen.choice(_KEYS)
    if name == "put":
        value = {
            "content": chosen.choice(_TEXTS),
            "n": chosen.choice([1, 2.5, 3]),
            "is_old": chosen.random() < 0.5,
            "inner": {"list": [1, None, "x"]},
        }
        return namespace, key, value
    if name == "search":
        return namespace[: chosen.randint(0, len(namespace))]
    if name == "filter":
        wanted = [
            {"n": 1},
            {"n": {"$gt": 1}},
            {"n": {"$gte": 2.5, "$lt": 3}},
            {"content": "I like tea.", "is_old": True},
            {"content": {"$ne": "I like tea."}},
        ]
        return namespace[:1], chosen.choice(wanted)
    if name == "list":
        return chosen.choice(
            [
                {},
                {"max_depth": 1},
                {"prefix": ("memories", "*")},
                {"suffix": ("42",)},
                {"limit": 2, "offset": 1},
            ]
        )
    return namespace, key


def _answer(store: BaseStore, name: str, arguments: Any) -> Any:
    if name == "put":
        return store.put(*arguments)
    if name == "delete":
        return store.delete(*arguments)
    if name == "get":
        return _plain(store.get(*arguments))
    if name == "list":
        spaces = store.list_namespaces(**arguments)
        # The other store goes on naming namespaces that are empty by now.
        return [space for space in spaces if store.search(space, limit=1)] if not arguments else 0
    prefix, wanted = (arguments, None) if name == "search" else arguments
    found = store.search(prefix, filter=wanted, limit=100)
    return sorted(map(_plain, found), key=str)


def _plain(item: Any) -> Any:
    return None if item is None else (item.namespace, item.key, item.value)


def _of_a_batch(*stores: BaseStore) -> None:
    """Have the last of several puts to one key count."""
    for store in stores:
        store.batch([PutOp(("batch",), "k", {"n": number}) for number in range(3)])
        store.batch([PutOp(("batch",), "k", {"n": 3}), PutOp(("batch",), "l", None)])
        (found,) = store.search(("batch",))
        assert found.value == {"n": 3}
        condition = MatchCondition("prefix", ("batch",))
        assert store.list_namespaces(prefix=condition.path) == [("batch",)]


def _by_meaning(store: MemoryBankStore) -> None:
    space = ("meaning", "1")
    store.put(space, "seat", {"content": "I prefer a window seat."})
    store.put(space, "tea", {"content": "I like green tea."}, ttl=60)
    store.put(space, "hidden", {"content": "I sit at the window."}, index=False)
    found = store.search(space, query="Where to sit on the plane?")
    assert [item.key for item in found] == ["seat", "tea"], found
    scores = [item.score for item in found]
    assert all(score is not None and -1 <= score <= 1 for score in scores)
    assert scores == sorted(scores, key=lambda score: -(score or 0))
    hidden = store.get(space, "hidden")
    assert hidden is not None
    assert hidden.value == {"content": "I sit at the window."}
    store.put(space, "tea", {"content": "I like black tea."})
    again = store.get(space, "tea")
    assert again is not None
    assert again.value == {"content": "I like black tea."}


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
