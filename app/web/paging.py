"""Query parameters of all lists."""

from typing import Annotated

from fastapi import Depends, Query

from app.kernel.paging import PageRequest, clamp_page_size
from app.web.context import ProcessResources


async def _page(
    resources: ProcessResources,
    page_size: Annotated[
        int | None,
        Query(
            alias="pageSize",
            description="Rows of a page; 0 means the default, and too large a value the maximum.",
            json_schema_extra={"minimum": 0},
        ),
    ] = None,
    page_token: Annotated[
        str | None, Query(alias="pageToken", description="`nextPageToken` of the previous page.")
    ] = None,
) -> PageRequest:
    size = clamp_page_size(page_size, maximum=resources.settings.tuning.max_page_size)
    return PageRequest(size, page_token, resources.settings.tuning.max_page_bytes)


Page = Annotated[PageRequest, Depends(_page)]
Filter = Annotated[
    str | None,
    Query(description="An AIP-160 filter.", examples=['create_time>"2026-01-01T00:00:00Z"']),
]
OrderBy = Annotated[
    str | None,
    Query(
        alias="orderBy",
        description="A field, ascending unless followed by ` desc`.",
        examples=["update_time desc"],
    ),
]
UpdateMask = Annotated[
    str | None,
    Query(
        alias="updateMask",
        description="Fields to change, separated by commas; `*` means all.",
        examples=["fact,display_name"],
    ),
]
