"""The implementation of `memory-bank operations ...`: the API's methods without a server.

The database is chosen as for `memory-bank keys`.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial

from app.adapters.resources import Resources
from app.kernel.audit import Audited
from app.kernel.errors import ServiceError
from app.kernel.names import WILDCARD, EngineName, OperationName, parse_text_id
from app.kernel.paging import MAX_PAGE_SIZE, PageRequest
from app.platform.audit.service import AuditService
from app.platform.operations.schemas import Operation
from app.platform.operations.services import retries
from app.platform.operations.services.operations import OperationService
from app.process.key_admin import CALLER
from app.process.reembed_admin import all_engines


async def show(
    resources: Resources,
    engine_ids: Sequence[int] | None,
    say: Callable[[str], None],
    *,
    failed: bool,
) -> None:
    """Print the operations of some or all engines, newest first, page by page."""
    if engine_ids is None:
        names = await all_engines(resources)
    else:
        names = [EngineName(WILDCARD, WILDCARD, engine_id) for engine_id in engine_ids]
    service = OperationService.of(resources)
    chosen = 'state="FAILED"' if failed else None
    for name in names:
        token: str | None = None
        while True:
            page = await service.list_operations(name, chosen, PageRequest(MAX_PAGE_SIZE, token))
            for operation in page.operations:
                say(_line(operation))
            token = page.next_page_token
            if token is None:
                break


def _line(operation: Operation) -> str:
    time = operation.metadata["genericMetadata"]["createTime"]
    return f"{operation.name}  {time}  {_outcome(operation)}"


def _outcome(operation: Operation) -> str:
    newer = operation.metadata.get("retriedBy")
    if newer is not None:
        return f"retried by {newer}"
    if operation.error is not None:
        return str(operation.error["details"][0]["reason"])
    return "succeeded" if operation.done else "has not ended"


async def retry(resources: Resources, names: Sequence[str], say: Callable[[str], None]) -> bool:
    """Retry and audit operations one by one; return True if all retries were accepted."""
    succeeded = True
    for text in names:
        try:
            engine, _, operation = text.partition("/operations/")
            name = OperationName(EngineName.parse(engine), parse_text_id("operations", operation))
            row = await retries.retry(_audited(resources, name), name, None, lambda _: None)
        except ServiceError as error:
            say(error.message)
            succeeded = False
        else:
            say(row.name)
    return succeeded


def _audited(resources: Resources, name: OperationName) -> Resources:
    audited = Audited(CALLER.key_id, "retryOperation", str(name), engine_id=name.engine.engine)
    record = partial(AuditService.of(resources).record, audited=audited)
    return replace(resources, db=resources.db.for_caller(CALLER, record))
