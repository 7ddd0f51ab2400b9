"""The page of permissions, from the roles and from what each method demands."""

from collections.abc import Mapping

from app.kernel.permissions import OF_ROLE, WHOLE_ENGINE, WHOLE_SERVICE, Permission, Role
from app.process.features import demands
from app.web.demands import Demand
from scripts.reference.markdown import code, codes, page, table

_INTRODUCTION = """\
A key has roles, single permissions, or both. It may also be bound to projects, to engines, and to
values of the keys of scopes; resources outside these bounds do not exist for it. See
[Security](../operations/security.md).
"""
_COSTS = """\
- *Cost* is in units, taken from the rates of the key and of the engine.
- *Audited* methods change something: the audit log has each call, and each refusal of a known
  caller.
- *Concurrent* methods hold one of the key's places for costly requests while they run.
- `retryOperation` and `batchRetryOperations` also demand the permission of the method that they
  repeat, such as `memories.generate`.
- A method that *adds* something is refused with `QUOTA_EXHAUSTED` if that quota, or the engine's
  bytes, are used up.
"""


def permissions_page() -> str:
    """Return the page of permissions."""
    return page(
        "Permissions",
        _INTRODUCTION,
        "## Roles\n",
        roles_table(),
        "## Permissions that a bound key cannot use\n",
        "Keys bound to values of scopes cannot use permissions that concern a whole engine: "
        f"{codes(_in_order(WHOLE_ENGINE))}.\n",
        "Keys with any bound cannot use permissions that concern the whole service: "
        f"{codes(_in_order(WHOLE_SERVICE))}. A key bound only to projects may use"
        " `engines.create` in these projects.\n",
        "## Methods\n",
        _COSTS,
        methods_table(demands()),
    )


def _in_order(permissions: frozenset[Permission]) -> list[str]:
    return [permission.value for permission in Permission if permission in permissions]


def roles_table() -> str:
    """Return the table of roles, each with what it adds to the one before it."""
    below: frozenset[Permission] = frozenset()
    rows = []
    for role in Role:
        added = codes(one.value for one in Permission if one in OF_ROLE[role] - below)
        start = "All of the role above, and " if below else ""
        rows.append((code(role.value), start + added))
        below = OF_ROLE[role]
    return table(("Role", "Permissions"), rows)


def methods_table(demands: Mapping[str, Demand]) -> str:
    """Return the table of what each method demands."""
    return table(
        ("Method", "Permission", "Cost", "Audited", "Concurrent", "Adds"),
        (
            (
                code(operation),
                code(demand.permission.value) if demand.permission else "any key",
                str(demand.cost),
                "yes" if demand.is_change else "",
                "yes" if demand.is_costly else "",
                codes(added.value for added in demand.adds),
            )
            for operation, demand in demands.items()
        ),
    )
