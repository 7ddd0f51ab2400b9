"""Choice of the number of rows per fetch."""

_FIRST_ROWS = 8
_MOST_ROWS = 500
_BYTES = 1024**2


class Pace:
    """Rows per fetch: at most 500, and about 1 MiB in total if all are as large as the last row.

    The number at most doubles with each row and shrinks at once after a large row.
    """

    def __init__(self) -> None:
        self.rows = _FIRST_ROWS

    def note(self, size: int) -> None:
        """Adapt the number to the size of a row, in bytes."""
        self.rows = max(1, min(_MOST_ROWS, 2 * self.rows, _BYTES // max(size, 1)))
