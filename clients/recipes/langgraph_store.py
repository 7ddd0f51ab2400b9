"""Keep the memories of LangMem's tools here: create, update, delete, and find by meaning."""

import os

from langmem import create_manage_memory_tool, create_search_memory_tool

from open_memory_bank import Client
from open_memory_bank.langgraph import MemoryBankStore

NAMESPACE = ("memories", "42")

with Client(engine=os.environ.get("RECIPE_ENGINE", "1")) as bank:
    # With levels each label is a pair of the scope, so that a key bound to a user can use it.
    store = MemoryBankStore(bank, levels=("kind", "user_id"))
    manage = create_manage_memory_tool(NAMESPACE, store=store)
    search = create_search_memory_tool(NAMESPACE, store=store)

    # One conversation.
    seat = manage.invoke({"content": "I prefer aisle seats."}).rpartition(" ")[2]
    tea = manage.invoke({"content": "I drink green tea."}).rpartition(" ")[2]
    manage.invoke({"action": "update", "id": seat, "content": "I prefer window seats."})
    print(manage.invoke({"action": "delete", "id": tea}))
    print(manage.invoke({"action": "update", "id": tea, "content": "I drink black tea."}))

    # The next one.
    print(search.invoke({"query": "Where should we sit on the plane?", "limit": 1})[:80])
    found = store.search(NAMESPACE, query="Where should we sit on the plane?", limit=1)
    print(found[0].value["content"])

# prints: I prefer window seats.
