"""Spares a provider that keeps failing."""

from app.core.errors import Reason, Unavailable


class Breaker:
    """Lets requests through until so many in a row have failed; then one alone after a while.

    Times are seconds of the event loop's clock. Every admitted request ends with exactly one of
    `succeeded`, `failed` and `ended`.
    """

    def __init__(self, failures: int, seconds: float) -> None:
        self._failures = failures
        self._seconds = seconds
        self._failed = 0
        self._spared_until = 0.0
        self._trying = False

    def admit(self, now: float) -> None:
        """Let a request through.

        Raises:
            Unavailable: the provider is spared, or another request is trying whether it is back.
        """
        if self._failed < self._failures:
            return
        if now < self._spared_until or self._trying:
            raise Unavailable(
                "The model's provider has kept failing and is spared for a while.",
                Reason.MODEL_UNAVAILABLE,
                retry_after_seconds=max(round(self._spared_until - now, 1), 1),
            )
        self._trying = True

    def succeeded(self) -> None:
        """Count an answer of the provider, of whatever kind."""
        self._failed = 0
        self._trying = False

    def failed(self, now: float) -> None:
        """Count a failure of the provider."""
        self._failed += 1
        self._trying = False
        if self._failed >= self._failures:
            self._spared_until = now + self._seconds

    def ended(self) -> None:
        """Count nothing: the request says nothing about the provider's health."""
        self._trying = False
