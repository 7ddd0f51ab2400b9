"""Insertion of rows under drawn ids, which another process may have drawn as well.

Rows that refer to a drawn id are written after it. Each transaction inserts ids in the order in
which it draws them: an operation, memories, their revisions. Two transactions that drew the same
ids therefore cannot deadlock.
"""

from collections.abc import Collection, Mapping, Sequence
from operator import itemgetter
from typing import Any, TypeVar

from sqlalchemy.dialects.postgresql import insert

from app.adapters.db.base import Base
from app.adapters.db.bulk import insert_free
from app.adapters.db.session import Session
from app.kernel.errors import Aborted, Reason
from app.kernel.ids import draw_again

_DRAWS = 10

Row = TypeVar("Row", bound=Base)


async def insert_drawn_rows(
    row: type[Base],
    session: Session,
    values: Sequence[dict[str, Any]],
    name: str,
    *,
    chosen: Collection[str] = (),
    as_sent: bool = False,
) -> set[Any]:
    """Insert rows under ids of the column `name`; return the ids inserted.

    An id that is taken is replaced in `values`, unless a client chose it: then its row is left out.
    `as_sent` is explained at `insert_rows`.

    Raises:
        Aborted: ten draws of an id were taken.
    """
    inserted: set[Any] = set()
    missing = sorted(values, key=itemgetter(name))
    draws = 0
    while missing:
        if draws == _DRAWS:
            raise _all_taken()
        inserted |= await insert_free(row, session, missing, name, as_sent=as_sent)
        missing = [one for one in missing if one[name] not in inserted and one[name] not in chosen]
        for one in missing:
            one[name] = draw_again(one[name], draws)
        draws += 1
    return inserted


async def insert_drawn_row(
    row: type[Row], session: Session, values: Mapping[str, Any], name: str
) -> Row:
    """Insert a row under an id drawn for the column `name`, or under another; return the row.

    Raises:
        Aborted: ten draws of the id were taken.
    """
    values = dict(values)
    for draws in range(_DRAWS):
        statement = insert(row).values(values).on_conflict_do_nothing().returning(row)
        inserted = (await session.execute(statement)).scalar_one_or_none()
        if inserted is not None:
            return inserted
        values[name] = draw_again(values[name], draws)
    raise _all_taken()


def _all_taken() -> Aborted:
    return Aborted("A concurrent change won; retry.", Reason.CONCURRENT_CHANGE)
