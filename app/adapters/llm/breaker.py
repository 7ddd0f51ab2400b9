"""The circuit breaker of a provider."""

import asyncio


class Admission:
    """An admitted request. `over` is set once a trial request has ended."""

    def __init__(self) -> None:
        self.over = asyncio.Event()


class Spared(Exception):
    """The breaker is open: until a time, or while one trial request runs.

    `cause` is the first of the failures in a row.
    """

    def __init__(self, until: float, trial: Admission | None, cause: str) -> None:
        super().__init__(until)
        self.until = until
        self.trial = trial
        self.cause = cause


class Breaker:
    """A circuit breaker that opens after a number of failures in a row, and later admits a trial.

    Times are seconds of the event loop's clock. Every admission ends with exactly one of
    `succeeded`, `failed` and `ended`. While the breaker is open only the trial counts: earlier
    requests tell only about the past.
    """

    def __init__(self, failures: int, seconds: float) -> None:
        self._failures = failures
        self._seconds = seconds
        self._failed = 0
        self._cause = ""
        self._spared_until = 0.0
        self._trial: Admission | None = None

    def admit(self, now: float) -> Admission:
        """Admit a request.

        Raises:
            Spared: the breaker is open, or another trial request is running.
        """
        admission = Admission()
        if self._is_open:
            if now < self._spared_until or self._trial is not None:
                raise Spared(self._spared_until, self._trial, self._cause)
            self._trial = admission
        return admission

    def succeeded(self, admission: Admission) -> None:
        """Count an answer of the provider, of any kind."""
        if self._counts(admission):
            self._failed = 0
        self.ended(admission)

    def failed(self, admission: Admission, now: float, cause: str) -> None:
        """Count a failure of the provider."""
        if self._counts(admission):
            self._cause = self._cause if self._failed else cause
            self._failed += 1
            if self._is_open:
                self._spared_until = now + self._seconds
        self.ended(admission)

    def ended(self, admission: Admission) -> None:
        """Count nothing: the request says nothing about the provider's health."""
        if admission is self._trial:
            self._trial = None
            admission.over.set()

    @property
    def _is_open(self) -> bool:
        return self._failed >= self._failures

    def _counts(self, admission: Admission) -> bool:
        return not self._is_open or admission is self._trial
