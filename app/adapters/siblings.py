"""The name of this process among the processes of one command: a number, or `worker`."""


class _Own:
    name: str | None = None


def set_process_name(name: str) -> None:
    """Set the name of this process, just after the fork."""
    _Own.name = name


def get_process_name() -> str | None:
    """Return the name of this process; None: it is the only process, or the parent."""
    return _Own.name
