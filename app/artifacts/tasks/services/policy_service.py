"""Policies for the outputs of tools, used where requests do not decide."""

from dataclasses import dataclass

from app.adapters.db.lists import list_page
from app.adapters.db.session import Session
from app.artifacts.tasks.schemas.tasks import (
    ListToolPoliciesResponse,
    ToolPolicy,
    UpdateToolPolicyRequest,
)
from app.artifacts.tasks.services.tasks import TaskService
from app.artifacts.tasks.services.views import policy_of
from app.artifacts.tasks.store import policies, repository
from app.kernel.changes import IdempotencyKey, check_etag
from app.kernel.errors import NotFound
from app.kernel.names import TaskMemoryName, ToolPolicyName
from app.kernel.paging import PageRequest
from app.platform.engines.store import repository as engines
from app.platform.engines.store.tables import name_of
from app.platform.operations.services.mutation import write


@dataclass(frozen=True)
class PolicyService:
    """Reads and writes of tool policies."""

    tasks: TaskService

    async def list_policies(
        self, name: TaskMemoryName, page: PageRequest
    ) -> ListToolPoliciesResponse:
        """Return a page of a memory's policies, ordered by tool name."""
        asked = policies.POLICIES.page(page, memory=f"{name.engine.engine}/{name.memory}")
        async with self.tasks.db.snapshot() as session:
            engine = name_of(await engines.get(session, name.engine))
            if not await self._is_seen(session, name):
                return ListToolPoliciesResponse(tool_policies=[])
            rows, token = await list_page(session, policies.select_policies(name), asked)
        memory = TaskMemoryName(engine, name.memory)
        return ListToolPoliciesResponse(
            tool_policies=[policy_of(memory, row) for row in rows], next_page_token=token
        )

    async def get(self, name: ToolPolicyName) -> ToolPolicy:
        """Return the policy of a tool.

        Raises:
            NotFound: the tool has no policy.
        """
        async with self.tasks.db.snapshot() as session:
            engine = name_of(await engines.get(session, name.memory.engine))
            row = await policies.find(session, name)
            if row is None or not await self._is_seen(session, name.memory):
                raise NotFound.of(name)
        return policy_of(TaskMemoryName(engine, name.memory.memory), row)

    async def _is_seen(self, session: Session, name: TaskMemoryName) -> bool:
        """Return True if the caller may see a memory; a bound caller needs a namespace in it."""
        tasks = self.tasks
        return tasks.db.sees_all or await repository.has_any(session, name, tasks.clock.now())

    async def put(
        self,
        name: ToolPolicyName,
        request: UpdateToolPolicyRequest,
        etag: str | None,
        once: IdempotencyKey | None,
    ) -> ToolPolicy:
        """Replace the policy of a tool.

        Raises:
            Aborted: the etag is stale.
        """
        now = self.tasks.clock.now()
        async with write(self.tasks, engines.locked(name.memory.engine), once, now=now) as change:
            session, engine = change.session, change.engine
            row = await policies.find(session, name, for_update=True)
            if change.replayed is None or row is None:
                check_etag(0 if row is None else row.version, etag)
                values = {
                    "off_prompt": request.off_prompt,
                    "max_inline_tokens": request.max_inline_tokens,
                    "sensitive": request.sensitive,
                    "ttl": request.ttl,
                    "create_time": now,
                    "update_time": now,
                }
                row = await policies.put(session, name, values)
            return policy_of(TaskMemoryName(name_of(engine), name.memory.memory), row)

    async def delete(
        self, name: ToolPolicyName, etag: str | None, once: IdempotencyKey | None
    ) -> None:
        """Delete the policy of a tool.

        Raises:
            Aborted: the etag is stale.
            NotFound: the tool has no policy.
        """
        async with write(self.tasks, engines.locked(name.memory.engine), once) as change:
            if change.replayed is not None:
                return
            row = await policies.find(change.session, name, for_update=True)
            if row is None:
                raise NotFound.of(name)
            check_etag(row.version, etag)
            await policies.remove(change.session, name)
