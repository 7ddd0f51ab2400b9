"""Print what contexts cost: as providers bill them, and by the tables of Prompt Memory Lab."""

import os

from open_memory_bank import Client

CAPS = {30: (16, 10, 5), 100: (51, 21, 11)}
CELLS = {30: 10, 100: 11}
ACCOUNTING = ("per_prompt", "published_tables")

with Client(engine=os.environ.get("RECIPE_ENGINE", "1")) as bank:
    print("Messages  Strategy                      Tokens     Cost  Published")
    for length, caps in CAPS.items():
        policies = [
            {"strategy": "inclusive"},
            *({"strategy": "abstraction_inclusive", "cap": cap} for cap in caps),
            {"strategy": "fully_abstracted", "cap": CELLS[length]},
        ]
        wanted = {
            "messages": [length],
            "strategies": [{**one, "framing": False} for one in policies],
        }
        found = [bank.engines.estimate_costs(**wanted, accounting=name) for name in ACCOUNTING]
        for row, published in zip(*(one["rows"] for one in found), strict=True):
            name = f"{row['strategy']} {row['policy'].get('cap', '')}"
            costs = f"{row['cost']:>8} {published['cost']:>10}"
            print(f"{length:>8}  {name:24} {row['totalTokens']:>11,} {costs}")
