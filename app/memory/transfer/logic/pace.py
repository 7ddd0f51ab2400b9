"""The number of rows that are fetched at a time."""

_FIRST_ROWS = 8
_MOST_ROWS = 500
_BYTES = 1024**2


class Pace:
    """Rows per fetch: at most 500, and as many as make about a mebibyte if all are like the last.

    The number at most doubles with each row: after a large one, few are fetched at once.
    """

    def __init__(self) -> None:
        self.rows = _FIRST_ROWS

    def note(self, size: int) -> None:
        """Note the size of a row, in bytes."""
        self.rows = max(1, min(_MOST_ROWS, 2 * self.rows, _BYTES // max(size, 1)))
