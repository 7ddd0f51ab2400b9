"""Methods around memories: operations, engines, keys, audit, costs, and the service."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from open_memory_bank import _calls, types
from open_memory_bank._async.group import AsyncGroup
from open_memory_bank._async.operations import AsyncOperation
from open_memory_bank._async.paging import AsyncItems

if TYPE_CHECKING:
    from typing_extensions import Unpack


class AsyncOperations(AsyncGroup):
    """Operations of an engine."""

    async def get(self, operation: str) -> AsyncOperation[Any]:
        """Return an operation."""
        return await self._start(_calls.GET_OPERATION, {"operation": operation})

    def list(self, **options: Unpack[_calls.ListOperations]) -> AsyncItems[types.Operation]:
        """List operations."""
        return self._items(_calls.LIST_OPERATIONS, "operations", options)

    async def usage(self, **options: Unpack[_calls.GetOperationsUsage]) -> types.OperationsUsage:
        """Return the tokens and costs of all operations that a filter matches."""
        return await self._ask(_calls.GET_OPERATIONS_USAGE, {}, options)

    async def wait(self, operation: str, seconds: float = 60) -> Any:  # noqa: ANN401 - of any kind
        """Return the response of an operation once it is done."""
        return await (await self.get(operation)).wait(seconds)

    async def cancel(self, operation: str, **options: Unpack[_calls.CancelOperation]) -> None:
        """Ask that an operation ends early."""
        await self._ask(_calls.CANCEL_OPERATION, {"operation": operation}, options)

    async def delete(self, operation: str, **options: Unpack[_calls.DeleteOperation]) -> None:
        """Delete the record of an operation."""
        await self._ask(_calls.DELETE_OPERATION, {"operation": operation}, options)

    async def retry(
        self, operation: str, **options: Unpack[_calls.RetryOperation]
    ) -> AsyncOperation[Any]:
        """Run a failed operation again."""
        return await self._start(_calls.RETRY_OPERATION, {"operation": operation}, options)

    async def group_failures(
        self, **options: Unpack[_calls.GroupFailures]
    ) -> types.GroupFailuresResponse:
        """Count failed operations by reason, model and hour."""
        found: types.GroupFailuresResponse = await self._ask(_calls.GROUP_FAILURES, {}, options)
        return found

    async def start_batch_retry(
        self, **options: Unpack[_calls.BatchRetryOperations]
    ) -> AsyncOperation[types.BatchRetryOperationsResponse]:
        """Begin to run the failed operations that match a filter again."""
        return await self._start(_calls.BATCH_RETRY_OPERATIONS, {}, options)

    async def batch_retry(
        self, *, wait_seconds: float = 60, **options: Unpack[_calls.BatchRetryOperations]
    ) -> types.BatchRetryOperationsResponse:
        """Run failed operations again; with `validate_only` count them."""
        return await (await self.start_batch_retry(**options)).wait(wait_seconds)

    async def start_undo(
        self, operation: str, **options: Unpack[_calls.UndoOperation]
    ) -> AsyncOperation[types.UndoOperationResponse]:
        """Begin to undo what an operation did to memories."""
        return await self._start(_calls.UNDO_OPERATION, {"operation": operation}, options)

    async def undo(
        self, operation: str, *, wait_seconds: float = 60, **options: Unpack[_calls.UndoOperation]
    ) -> types.UndoOperationResponse:
        """Undo what an operation did to memories; with `validate_only` say what that changes."""
        return await (await self.start_undo(operation, **options)).wait(wait_seconds)


class AsyncEngines(AsyncGroup):
    """Engines: memory banks with their configuration."""

    async def create(
        self, *, wait_seconds: float = 60, **options: Unpack[_calls.CreateReasoningEngine]
    ) -> types.AnsweredEngine:
        """Create an engine, and return it."""
        found: types.AnsweredEngine = await self._done(
            _calls.CREATE_REASONING_ENGINE, {}, options, wait_seconds
        )
        return found

    async def get(self) -> types.ReasoningEngine:
        """Return the engine of this client."""
        return await self._ask(_calls.GET_REASONING_ENGINE)

    def list(
        self, **options: Unpack[_calls.ListReasoningEngines]
    ) -> AsyncItems[types.ReasoningEngine]:
        """List the engines of the same place."""
        return self._items(_calls.LIST_REASONING_ENGINES, "reasoningEngines", options)

    async def update(
        self, *, wait_seconds: float = 60, **options: Unpack[_calls.UpdateReasoningEngine]
    ) -> types.AnsweredEngine:
        """Change the fields of this engine that are given, or those of `update_mask`."""
        found: types.AnsweredEngine = await self._done(
            _calls.UPDATE_REASONING_ENGINE, {}, options, wait_seconds
        )
        return found

    async def validate(self, **options: Unpack[_calls.ValidateReasoningEngine]) -> None:
        """Check an update of this engine without a change.

        Raises:
            ApiError: the error that the update would have.
        """
        await self._ask(_calls.VALIDATE_REASONING_ENGINE, {}, options)

    async def delete(
        self, *, wait_seconds: float = 60, **options: Unpack[_calls.DeleteReasoningEngine]
    ) -> None:
        """Delete this engine; with `force` also all that it holds."""
        await self._done(_calls.DELETE_REASONING_ENGINE, {}, options, wait_seconds)

    async def reembed(
        self, **options: Unpack[_calls.ReembedReasoningEngine]
    ) -> AsyncOperation[types.ReembedReasoningEngineResponse]:
        """Begin to compute the vectors of all memories anew."""
        return await self._start(_calls.REEMBED_REASONING_ENGINE, {}, options)

    async def erase_scope(
        self, **options: Unpack[_calls.EraseScope]
    ) -> AsyncOperation[types.EraseScopeResponse]:
        """Begin to erase a scope from every table; the response is the certificate."""
        return await self._start(_calls.ERASE_SCOPE, {}, options)

    async def scan_privacy(
        self, **options: Unpack[_calls.ScanPrivacy]
    ) -> AsyncOperation[types.ScanPrivacyResponse]:
        """Begin to look through the engine for sensitive values."""
        return await self._start(_calls.SCAN_PRIVACY, {}, options)

    async def find(self, **options: Unpack[_calls.FindResources]) -> types.FindResourcesResponse:
        """Return the resources and scopes that a text names."""
        return await self._ask(_calls.FIND_RESOURCES, {}, options)

    async def usage(self, **options: Unpack[_calls.GetUsage]) -> types.EngineUsage:
        """Return what the engine's models took, and what the engine holds."""
        return await self._ask(_calls.GET_USAGE, {}, options)

    async def estimate_costs(
        self, **options: Unpack[_calls.EstimateContextCosts]
    ) -> types.EstimateContextCostsResponse:
        """Estimate the costs of contexts under several policies."""
        return await self._ask(_calls.ESTIMATE_CONTEXT_COSTS, {}, options)


class AsyncKeys(AsyncGroup):
    """API keys. Their creation and rotation take no id of the request, and so are not repeated."""

    async def create(self, **options: Unpack[_calls.CreateKey]) -> types.ApiKey:
        """Create a key; only this answer has its `secret`."""
        return await self._ask(_calls.CREATE_KEY, {}, options)

    async def get(self, key: str) -> types.ApiKey:
        """Return a key without its secret."""
        return await self._ask(_calls.GET_KEY, {"key": _key(key)})

    def list(self, **options: Unpack[_calls.ListKeys]) -> AsyncItems[types.ApiKey]:
        """List keys."""
        return self._items(_calls.LIST_KEYS, "keys", options)

    async def rotate(self, key: str, **options: Unpack[_calls.RotateKey]) -> types.ApiKey:
        """Create a successor of a key; only this answer has its `secret`."""
        return await self._ask(_calls.ROTATE_KEY, {"key": _key(key)}, options)

    async def revoke(self, key: str) -> types.ApiKey:
        """End a key."""
        return await self._ask(_calls.REVOKE_KEY, {"key": _key(key)})


class AsyncAudit(AsyncGroup):
    """The audit log: of this engine, or of the whole service."""

    def list(self, **options: Unpack[_calls.ListAuditEvents]) -> AsyncItems[types.AuditEvent]:
        """List what was done with this engine, the newest first."""
        return self._items(_calls.LIST_AUDIT_EVENTS, "auditEvents", options)

    def list_all(
        self, **options: Unpack[_calls.ListAllAuditEvents]
    ) -> AsyncItems[types.AuditEvent]:
        """List what was done with the service, the newest first."""
        return self._items(_calls.LIST_ALL_AUDIT_EVENTS, "auditEvents", options)

    def export(
        self, **options: Unpack[_calls.ExportAuditEvents]
    ) -> AsyncIterator[types.AuditEvent]:
        """Yield what was done with this engine as it comes, however much."""
        return self._transport.rows(_calls.EXPORT_AUDIT_EVENTS, options)

    def export_all(
        self, **options: Unpack[_calls.ExportAllAuditEvents]
    ) -> AsyncIterator[types.AuditEvent]:
        """Yield what was done with the service as it comes, however much."""
        return self._transport.rows(_calls.EXPORT_ALL_AUDIT_EVENTS, options)


class AsyncService(AsyncGroup):
    """The service itself."""

    async def self_(self) -> types.CallerInfo:
        """Return who asks, and what they may do."""
        return await self._ask(_calls.GET_SELF)

    async def server(self) -> types.ServerInfo:
        """Return how the service is set up and how it does."""
        return await self._ask(_calls.GET_SERVER)

    async def usage(self, **options: Unpack[_calls.GetServerUsage]) -> types.UsageOfDays:
        """Return what the models of all engines took."""
        return await self._ask(_calls.GET_SERVER_USAGE, {}, options)

    async def health(self) -> types.Health:
        """Return whether the process lives."""
        return await self._ask(_calls.GET_HEALTH)

    async def readiness(self) -> types.Health:
        """Return whether the service can answer requests.

        Raises:
            Unavailable: it cannot.
        """
        return await self._ask(_calls.GET_READINESS)

    async def metrics(self) -> str:
        """Return the metrics, as Prometheus reads them."""
        return (await self._transport.content(_calls.GET_METRICS, {})).decode()


def _key(name: str) -> str:
    return name.removeprefix("keys/")
