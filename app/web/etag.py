"""The `If-Match` header, with the etag of the version that the caller has read."""

from typing import Annotated

from fastapi import Depends, Header

from app.kernel.errors import InvalidArgument


async def _if_match(
    if_match: Annotated[
        str | None, Header(description="The etag that was read; a stale one is 409 ABORTED.")
    ] = None,
) -> str | None:
    if if_match is None:
        return None
    etag = if_match.strip().removeprefix("W/").strip('"')
    if not etag or "," in etag:
        raise InvalidArgument.of_field("If-Match", "must be a single etag of the resource.")
    return etag


IfMatch = Annotated[str | None, Depends(_if_match)]


def etag_of(if_match: str | None, in_body: str | None) -> str | None:
    """Return the etag of an update, from the header or from the body.

    Raises:
        InvalidArgument: both are given and differ.
    """
    if if_match and in_body and if_match != in_body:
        raise InvalidArgument.of_field("etag", "differs from If-Match; send one of them.")
    return if_match or in_body
