"""The query parameters of every list."""

from typing import Annotated

from fastapi import Depends, Query

from app.core.paging import PageRequest


async def _page(
    page_size: Annotated[
        int | None,
        Query(
            alias="pageSize", description="Rows of a page; 0 means the default, larger is coerced."
        ),
    ] = None,
    page_token: Annotated[
        str | None, Query(alias="pageToken", description="`nextPageToken` of the page before.")
    ] = None,
) -> PageRequest:
    return PageRequest(page_size, page_token)


Page = Annotated[PageRequest, Depends(_page)]
Filter = Annotated[str | None, Query(description="An AIP-160 filter.")]
OrderBy = Annotated[
    str | None, Query(alias="orderBy", description="A field, ascending unless followed by ` desc`.")
]
UpdateMask = Annotated[
    str | None,
    Query(alias="updateMask", description="Fields to change, separated by commas; `*` is all."),
]
