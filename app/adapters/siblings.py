"""The name of this process among those that one command runs: a number, or `worker`."""


class _Own:
    name: str | None = None


def become(name: str) -> None:
    """Take a name, in a process that was just forked."""
    _Own.name = name


def own_name() -> str | None:
    """Return the name of this process; None: it is alone, or the one that forks the others."""
    return _Own.name
