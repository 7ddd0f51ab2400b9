"""The README's table of roles, from the permissions themselves.

`python -m tests.support.roles_table` prints it.
"""

from app.kernel.permissions import OF_ROLE, Permission, Role

_HEAD = "| Role | May |\n| --- | --- |\n"


def roles_table() -> str:
    below: frozenset[Permission] = frozenset()
    rows = []
    for role in Role:
        added = [f"`{one}`" for one in Permission if one in OF_ROLE[role] - below]
        start = "what the role above may, and " if below else ""
        rows.append(f"| `{role}` | {start}{', '.join(added)} |")
        below = OF_ROLE[role]
    return _HEAD + "\n".join(rows) + "\n"


if __name__ == "__main__":
    print(roles_table())
