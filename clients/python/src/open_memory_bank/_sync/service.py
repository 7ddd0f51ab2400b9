# Written by `make client` from the file of the same name in _async.
"""Methods around memories: operations, engines, keys, audit, costs, and the service."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from open_memory_bank import _calls, types
from open_memory_bank._sync.group import Group
from open_memory_bank._sync.operations import Operation
from open_memory_bank._sync.paging import Items

if TYPE_CHECKING:
    from typing_extensions import Unpack


class Operations(Group):
    """Operations of an engine."""

    def get(self, operation: str) -> Operation[Any]:
        """Return an operation."""
        return self._start(_calls.GET_OPERATION, {"operation": operation})

    def list(self, **options: Unpack[_calls.ListOperations]) -> Items[types.Operation]:
        """List operations."""
        return self._items(_calls.LIST_OPERATIONS, "operations", options)

    def usage(self, **options: Unpack[_calls.GetOperationsUsage]) -> types.OperationsUsage:
        """Return the tokens and costs of all operations that a filter matches."""
        return self._ask(_calls.GET_OPERATIONS_USAGE, {}, options)

    def wait(self, operation: str, seconds: float = 60) -> Any:  # noqa: ANN401 - of any kind
        """Return the response of an operation once it is done."""
        return (self.get(operation)).wait(seconds)

    def cancel(self, operation: str, **options: Unpack[_calls.CancelOperation]) -> None:
        """Ask that an operation ends early."""
        self._ask(_calls.CANCEL_OPERATION, {"operation": operation}, options)

    def delete(self, operation: str, **options: Unpack[_calls.DeleteOperation]) -> None:
        """Delete the record of an operation."""
        self._ask(_calls.DELETE_OPERATION, {"operation": operation}, options)

    def retry(self, operation: str, **options: Unpack[_calls.RetryOperation]) -> Operation[Any]:
        """Run a failed operation again."""
        return self._start(_calls.RETRY_OPERATION, {"operation": operation}, options)

    def group_failures(
        self, **options: Unpack[_calls.GroupFailures]
    ) -> types.GroupFailuresResponse:
        """Count failed operations by reason, model and hour."""
        found: types.GroupFailuresResponse = self._ask(_calls.GROUP_FAILURES, {}, options)
        return found

    def start_batch_retry(
        self, **options: Unpack[_calls.BatchRetryOperations]
    ) -> Operation[types.BatchRetryOperationsResponse]:
        """Begin to run the failed operations that match a filter again."""
        return self._start(_calls.BATCH_RETRY_OPERATIONS, {}, options)

    def batch_retry(
        self, *, wait_seconds: float = 60, **options: Unpack[_calls.BatchRetryOperations]
    ) -> types.BatchRetryOperationsResponse:
        """Run failed operations again; with `validate_only` count them."""
        return (self.start_batch_retry(**options)).wait(wait_seconds)

    def start_undo(
        self, operation: str, **options: Unpack[_calls.UndoOperation]
    ) -> Operation[types.UndoOperationResponse]:
        """Begin to undo what an operation did to memories."""
        return self._start(_calls.UNDO_OPERATION, {"operation": operation}, options)

    def undo(
        self, operation: str, *, wait_seconds: float = 60, **options: Unpack[_calls.UndoOperation]
    ) -> types.UndoOperationResponse:
        """Undo what an operation did to memories; with `validate_only` say what that changes."""
        return (self.start_undo(operation, **options)).wait(wait_seconds)


class Engines(Group):
    """Engines: memory banks with their configuration."""

    def create(
        self, *, wait_seconds: float = 60, **options: Unpack[_calls.CreateReasoningEngine]
    ) -> types.AnsweredEngine:
        """Create an engine, and return it."""
        found: types.AnsweredEngine = self._done(
            _calls.CREATE_REASONING_ENGINE, {}, options, wait_seconds
        )
        return found

    def get(self) -> types.ReasoningEngine:
        """Return the engine of this client."""
        return self._ask(_calls.GET_REASONING_ENGINE)

    def list(self, **options: Unpack[_calls.ListReasoningEngines]) -> Items[types.ReasoningEngine]:
        """List the engines of the same place."""
        return self._items(_calls.LIST_REASONING_ENGINES, "reasoningEngines", options)

    def update(
        self, *, wait_seconds: float = 60, **options: Unpack[_calls.UpdateReasoningEngine]
    ) -> types.AnsweredEngine:
        """Change the fields of this engine that are given, or those of `update_mask`."""
        found: types.AnsweredEngine = self._done(
            _calls.UPDATE_REASONING_ENGINE, {}, options, wait_seconds
        )
        return found

    def validate(self, **options: Unpack[_calls.ValidateReasoningEngine]) -> None:
        """Check an update of this engine without a change.

        Raises:
            ApiError: the error that the update would have.
        """
        self._ask(_calls.VALIDATE_REASONING_ENGINE, {}, options)

    def delete(
        self, *, wait_seconds: float = 60, **options: Unpack[_calls.DeleteReasoningEngine]
    ) -> None:
        """Delete this engine; with `force` also all that it holds."""
        self._done(_calls.DELETE_REASONING_ENGINE, {}, options, wait_seconds)

    def reembed(
        self, **options: Unpack[_calls.ReembedReasoningEngine]
    ) -> Operation[types.ReembedReasoningEngineResponse]:
        """Begin to compute the vectors of all memories anew."""
        return self._start(_calls.REEMBED_REASONING_ENGINE, {}, options)

    def erase_scope(
        self, **options: Unpack[_calls.EraseScope]
    ) -> Operation[types.EraseScopeResponse]:
        """Begin to erase a scope from every table; the response is the certificate."""
        return self._start(_calls.ERASE_SCOPE, {}, options)

    def scan_privacy(
        self, **options: Unpack[_calls.ScanPrivacy]
    ) -> Operation[types.ScanPrivacyResponse]:
        """Begin to look through the engine for sensitive values."""
        return self._start(_calls.SCAN_PRIVACY, {}, options)

    def find(self, **options: Unpack[_calls.FindResources]) -> types.FindResourcesResponse:
        """Return the resources and scopes that a text names."""
        return self._ask(_calls.FIND_RESOURCES, {}, options)

    def usage(self, **options: Unpack[_calls.GetUsage]) -> types.EngineUsage:
        """Return what the engine's models took, and what the engine holds."""
        return self._ask(_calls.GET_USAGE, {}, options)

    def estimate_costs(
        self, **options: Unpack[_calls.EstimateContextCosts]
    ) -> types.EstimateContextCostsResponse:
        """Estimate the costs of contexts under several policies."""
        return self._ask(_calls.ESTIMATE_CONTEXT_COSTS, {}, options)


class Keys(Group):
    """API keys. Their creation and rotation take no id of the request, and so are not repeated."""

    def create(self, **options: Unpack[_calls.CreateKey]) -> types.ApiKey:
        """Create a key; only this answer has its `secret`."""
        return self._ask(_calls.CREATE_KEY, {}, options)

    def get(self, key: str) -> types.ApiKey:
        """Return a key without its secret."""
        return self._ask(_calls.GET_KEY, {"key": _key(key)})

    def list(self, **options: Unpack[_calls.ListKeys]) -> Items[types.ApiKey]:
        """List keys."""
        return self._items(_calls.LIST_KEYS, "keys", options)

    def rotate(self, key: str, **options: Unpack[_calls.RotateKey]) -> types.ApiKey:
        """Create a successor of a key; only this answer has its `secret`."""
        return self._ask(_calls.ROTATE_KEY, {"key": _key(key)}, options)

    def revoke(self, key: str) -> types.ApiKey:
        """End a key."""
        return self._ask(_calls.REVOKE_KEY, {"key": _key(key)})


class Audit(Group):
    """The audit log: of this engine, or of the whole service."""

    def list(self, **options: Unpack[_calls.ListAuditEvents]) -> Items[types.AuditEvent]:
        """List what was done with this engine, the newest first."""
        return self._items(_calls.LIST_AUDIT_EVENTS, "auditEvents", options)

    def list_all(self, **options: Unpack[_calls.ListAllAuditEvents]) -> Items[types.AuditEvent]:
        """List what was done with the service, the newest first."""
        return self._items(_calls.LIST_ALL_AUDIT_EVENTS, "auditEvents", options)

    def export(self, **options: Unpack[_calls.ExportAuditEvents]) -> Iterator[types.AuditEvent]:
        """Yield what was done with this engine as it comes, however much."""
        return self._transport.rows(_calls.EXPORT_AUDIT_EVENTS, options)

    def export_all(
        self, **options: Unpack[_calls.ExportAllAuditEvents]
    ) -> Iterator[types.AuditEvent]:
        """Yield what was done with the service as it comes, however much."""
        return self._transport.rows(_calls.EXPORT_ALL_AUDIT_EVENTS, options)


class Service(Group):
    """The service itself."""

    def self_(self) -> types.CallerInfo:
        """Return who asks, and what they may do."""
        return self._ask(_calls.GET_SELF)

    def server(self) -> types.ServerInfo:
        """Return how the service is set up and how it does."""
        return self._ask(_calls.GET_SERVER)

    def usage(self, **options: Unpack[_calls.GetServerUsage]) -> types.UsageOfDays:
        """Return what the models of all engines took."""
        return self._ask(_calls.GET_SERVER_USAGE, {}, options)

    def health(self) -> types.Health:
        """Return whether the process lives."""
        return self._ask(_calls.GET_HEALTH)

    def readiness(self) -> types.Health:
        """Return whether the service can answer requests.

        Raises:
            Unavailable: it cannot.
        """
        return self._ask(_calls.GET_READINESS)

    def metrics(self) -> str:
        """Return the metrics, as Prometheus reads them."""
        return (self._transport.content(_calls.GET_METRICS, {})).decode()


def _key(name: str) -> str:
    return name.removeprefix("keys/")
