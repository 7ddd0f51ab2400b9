"""The router of every feature: absent fields are left out, errors are documented."""

from typing import Any

from fastapi import APIRouter, Depends
from typing_extensions import override

from app.web.errors import ERROR_RESPONSES
from app.web.query import refuse_unknown


class Router(APIRouter):
    """An `APIRouter` with what all routes of the API have in common."""

    def __init__(self, *tags: str) -> None:
        super().__init__(
            tags=list(tags), responses=ERROR_RESPONSES, dependencies=[Depends(refuse_unknown)]
        )

    @override
    def add_api_route(self, path: str, endpoint: Any, **options: Any) -> None:
        super().add_api_route(path, endpoint, **{**options, "response_model_exclude_none": True})
