"""Traces by OpenTelemetry, with the extra `otel` and the variable OTEL_EXPORTER_OTLP_ENDPOINT.

The service makes its own spans: library instrumentations would record paths, queries and
statements. Without the variable, OpenTelemetry is not imported.
"""

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import TYPE_CHECKING

import structlog

from app.kernel.errors import ServiceError
from app.settings.environment import environment

if TYPE_CHECKING:
    from opentelemetry.context import Context
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.trace import Link, SpanKind, Tracer

log = structlog.get_logger()

_ENDPOINT = "OTEL_EXPORTER_OTLP_ENDPOINT"
_SERVICE_NAME = "OTEL_SERVICE_NAME"
_NAME = "open-memory-bank"
_PARENT = "traceparent"
_FLUSH_SECONDS = 3.0
"""Longest wait for the last spans at the end; shorter than the watchdog's limit."""

Attributes = Mapping[str, str | int]


class _Tracing:
    """The tracer of this process; None: tracing is off."""

    tracer: "Tracer | None" = None


@asynccontextmanager
async def traced() -> AsyncIterator[None]:
    """Export the spans of this process during the block, if the environment enables it."""
    provider = await asyncio.to_thread(_open) if environment().get(_ENDPOINT) else None
    if provider is None:
        yield
        return
    _Tracing.tracer = provider.get_tracer(_NAME)
    try:
        yield
    finally:
        _Tracing.tracer = None
        await _shut_down(provider)


async def _shut_down(provider: "TracerProvider") -> None:
    loop, done = asyncio.get_running_loop(), asyncio.Event()

    def shut_down() -> None:
        provider.shutdown()
        with suppress(RuntimeError):  # the loop may be closed by now
            loop.call_soon_threadsafe(done.set)

    # Not a thread of the loop's pool: the process would wait for it.
    threading.Thread(target=shut_down, daemon=True).start()
    with suppress(TimeoutError):
        async with asyncio.timeout(_FLUSH_SECONDS):
            await done.wait()


def _open() -> "TracerProvider | None":
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415 - an extra
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415 - as above
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415 - as above
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415 - as above
    except ImportError:
        log.warning("tracing.not_installed", variable=_ENDPOINT, extra="otel")
        return None
    named = {} if environment().get(_SERVICE_NAME) else {"service.name": _NAME}
    provider = TracerProvider(resource=Resource.create(named), shutdown_on_exit=False)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return provider


@contextmanager
def span(name: str, **attributes: str | int) -> Iterator[None]:
    """Trace the block as a child of the current span."""
    if _Tracing.tracer is None:
        yield
        return
    with _begun(_Tracing.tracer, name, attributes):
        yield


@contextmanager
def request_span(parent: str | None) -> Iterator[None]:
    """Trace a request as a child of its sender's span; `name_request` names it later."""
    if _Tracing.tracer is None:
        yield
        return
    from opentelemetry.trace import SpanKind  # noqa: PLC0415 - an extra

    with _begun(_Tracing.tracer, "request", {}, _context(parent), SpanKind.SERVER):
        yield


def name_request(method: str, route: str, status: int) -> None:
    """Name the current span, which traces a request, and record the outcome."""
    if _Tracing.tracer is None:
        return
    from opentelemetry.trace import get_current_span  # noqa: PLC0415 - an extra

    present = get_current_span()
    present.update_name(f"{method} {route}")
    present.set_attributes(
        {"http.request.method": method, "http.route": route, "http.response.status_code": status}
    )


@contextmanager
def operation_span(kind: str, asked: str | None, **attributes: str | int) -> Iterator[None]:
    """Trace an attempt of an operation; `asked` is the `traceparent` of the request for it."""
    if _Tracing.tracer is None:
        yield
        return
    from opentelemetry.context import Context  # noqa: PLC0415 - an extra
    from opentelemetry.trace import Link, SpanKind, get_current_span  # noqa: PLC0415 - an extra

    links = [] if asked is None else [Link(get_current_span(_context(asked)).get_span_context())]
    name = f"operation {kind.rpartition('.')[2]}"
    given = {"memory_bank.kind": kind, **attributes}
    # A separate trace: an operation may run long after its request, and several times.
    with _begun(_Tracing.tracer, name, given, Context(), SpanKind.CONSUMER, links):
        yield


def traceparent() -> str | None:
    """Return the current span as a `traceparent`, for work that continues it; None: no trace."""
    if _Tracing.tracer is None:
        return None
    from opentelemetry.trace.propagation import tracecontext  # noqa: PLC0415 - an extra

    carrier: dict[str, str] = {}
    tracecontext.TraceContextTextMapPropagator().inject(carrier)
    return carrier.get(_PARENT)


def _context(parent: str | None) -> "Context":
    from opentelemetry.context import Context  # noqa: PLC0415 - an extra
    from opentelemetry.trace.propagation import tracecontext  # noqa: PLC0415 - an extra

    carrier = {} if parent is None else {_PARENT: parent}
    return tracecontext.TraceContextTextMapPropagator().extract(carrier, Context())


@contextmanager
def _begun(
    tracer: "Tracer",
    name: str,
    attributes: Attributes,
    context: "Context | None" = None,
    kind: "SpanKind | None" = None,
    links: "list[Link] | None" = None,
) -> Iterator[None]:
    """Trace the block; record only the reason or class of an error, never the message."""
    from opentelemetry.trace import SpanKind, StatusCode  # noqa: PLC0415 - an extra

    with tracer.start_as_current_span(
        name,
        context,
        kind or SpanKind.INTERNAL,
        attributes,
        links or (),
        record_exception=False,
        set_status_on_exception=False,
    ) as begun:
        try:
            yield
        except Exception as error:
            reason = error.reason.value if isinstance(error, ServiceError) else type(error).__name__
            begun.set_attribute("error.type", reason)
            begun.set_status(StatusCode.ERROR)
            raise
