"""The lines that a server prints when it is up, with its address."""

from app.adapters.resources import Resources
from app.platform.access.services.access import AccessService
from app.process.listening import url_of
from app.process.reporting import say
from app.process.typed import typed


async def announce(resources: Resources, port: int, *, has_key: bool) -> None:
    """Announce the address and the models; `has_key` means that this start made the first key."""
    settings = resources.settings
    address = url_of(settings.host, port)
    console = "console: /console, " if settings.console else ""
    lines = [
        f"Open Memory Bank serves {address} ({console}documentation: /docs)",
        f"Memories are written by: {resources.models.description}",
        f"Searches understand: {resources.embedder.languages}",
    ]
    if has_key and settings.console:
        lines.append(f"The key opens the console: {address}/console")
    if await _may_be_lost(resources):
        another = typed(settings, "keys", "create", "--name", "admin", "--role", "admin")
        lines.append(f"If the administrator's key is lost, this makes another: {another}")
    say("\n".join(lines))


async def _may_be_lost(resources: Resources) -> bool:
    """Return True if no request has used an administrator's key yet and the settings have none."""
    if resources.settings.admin_key:
        return False
    return not await AccessService(resources.db, resources.clock).is_managed()
