"""The use case of scopes: list the scopes in use in an engine."""

from dataclasses import dataclass

from app.adapters.db.filters import read_filter
from app.adapters.db.pages import Slice
from app.adapters.db.transaction_settings import limited
from app.adapters.resources import Resources
from app.kernel.names import EngineName
from app.kernel.paging import PageRequest
from app.memory.memories.schemas.scopes import ListScopesResponse, ScopeInUse
from app.memory.memories.store import repository, scopes
from app.memory.memories.store.scopes import MAX_COUNT, Wanted
from app.platform.engines.store import repository as engines


@dataclass(frozen=True)
class ScopeService:
    """The scopes in use."""

    resources: Resources

    async def list_page(
        self, name: EngineName, filter_text: str | None, page: PageRequest, *, show_deleted: bool
    ) -> ListScopesResponse:
        """Return a page of the scopes of live memories, or also of recoverable ones.

        Raises:
            InvalidArgument: the filter or the token is invalid, or too many scopes must be
                examined.
        """
        resources, now = self.resources, self.resources.clock.now()
        clause = read_filter(filter_text, scopes.FILTER_FIELDS, resources.settings)
        query = {"list": "scopes", "engine": name.engine, "filter": filter_text}
        asked = Slice.of(page, {**query, "deleted": show_deleted}, scopes.KEY)
        visible = repository.is_known(now) if show_deleted else repository.is_live(now)
        wanted = Wanted(name.engine, visible, clause.condition)
        async with resources.db.snapshot() as session:
            await engines.get(session, name)
            # A filter, or the conditions of a key, may skip all scopes of the engine.
            async with limited(session, resources.settings.filter_timeout_seconds):
                rows, token = asked.cut(await scopes.list_page(session, wanted, asked, now))
        return ListScopesResponse(
            scopes=[_in_use(scope, count) for _, scope, count, _ in rows], next_page_token=token
        )


def _in_use(scope: dict[str, str], count: int) -> ScopeInUse:
    return ScopeInUse(
        scope=scope,
        memory_count=min(count, MAX_COUNT),
        is_capped=True if count > MAX_COUNT else None,
    )
