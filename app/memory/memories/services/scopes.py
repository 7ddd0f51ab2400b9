"""The use case of scopes: list the scopes in use in an engine."""

from app.adapters.db.transaction_settings import limited
from app.adapters.resources import Resources
from app.kernel.names import EngineName
from app.kernel.paging import PageRequest
from app.memory.memories.schemas.scopes import ListScopesResponse, ScopeInUse
from app.memory.memories.store import repository, scopes
from app.memory.memories.store.scopes import MAX_COUNT
from app.platform.engines.store import repository as engines


async def list_scopes(
    resources: Resources,
    name: EngineName,
    filter_text: str | None,
    page: PageRequest,
    *,
    show_deleted: bool,
) -> ListScopesResponse:
    """Return a page of the scopes of live memories, or also of recoverable ones.

    Raises:
        InvalidArgument: the filter or the token is invalid, or too many scopes must be examined.
    """
    settings, now = resources.settings, resources.clock.now()
    asked = scopes.SCOPES.filtered_page(
        page, settings, filter_text, engine=name.engine, deleted=show_deleted
    )
    visible = repository.is_known(now) if show_deleted else repository.is_live(now)
    async with resources.db.snapshot() as session:
        await engines.get(session, name)
        # A filter, or the conditions of a key, may skip all scopes of the engine.
        async with limited(session, settings.filter_timeout_seconds):
            found = await scopes.read_scopes(session, name.engine, visible, asked, now)
    rows, token = asked.cut(found)
    return ListScopesResponse(
        scopes=[_in_use(scope, count) for _, scope, count, _ in rows], next_page_token=token
    )


def _in_use(scope: dict[str, str], count: int) -> ScopeInUse:
    return ScopeInUse(
        scope=scope,
        memory_count=min(count, MAX_COUNT),
        is_capped=True if count > MAX_COUNT else None,
    )
