"""Prometheus metrics of the process. Labels name routes and kinds, never resources."""

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, Histogram, generate_latest

from app.web.errors import ERROR_RESPONSES

router = APIRouter()

REQUEST_SECONDS = Histogram(
    "memory_bank_request_seconds",
    "Duration of HTTP requests.",
    ["method", "route", "status"],
)


@router.get(
    "/metrics",
    summary="Prometheus metrics",
    operation_id="getMetrics",
    tags=["service"],
    response_class=Response,
    responses={
        200: {"content": {"text/plain": {"schema": {"type": "string"}}}},
        401: ERROR_RESPONSES[401],
    },
)
async def get_metrics() -> Response:
    """Return the metrics of this process in the Prometheus text format."""
    return Response(generate_latest(), media_type=CONTENT_TYPE_LATEST)
