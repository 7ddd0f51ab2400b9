"""The query parameters of every list."""

from typing import Annotated

from fastapi import Query

PageSize = Annotated[
    int | None,
    Query(alias="pageSize", description="Rows of a page; 0 means the default, larger is coerced."),
]
PageToken = Annotated[
    str | None, Query(alias="pageToken", description="`nextPageToken` of the page before.")
]
Filter = Annotated[str | None, Query(description="An AIP-160 filter.")]
OrderBy = Annotated[
    str | None, Query(alias="orderBy", description="A field, ascending unless followed by ` desc`.")
]
UpdateMask = Annotated[
    str | None,
    Query(alias="updateMask", description="Fields to change, separated by commas; `*` is all."),
]
