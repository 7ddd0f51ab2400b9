"""Optimistic concurrency by etag."""

from app.kernel.errors import Aborted, Reason


def check_etag(version: int, etag: str | None) -> None:
    """Refuse a change if the caller has read another version; `*` matches any.

    Raises:
        Aborted: the etag is stale.
    """
    if etag is not None and etag not in {str(version), "*"}:
        raise Aborted("etag: the resource was changed since; read it again.", Reason.ETAG_STALE)
