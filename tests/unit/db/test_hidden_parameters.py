"""What is bound to statements is text of memories: no error may quote it."""

import pytest
from sqlalchemy import text
from sqlalchemy.exc import DBAPIError

from app.adapters.db.session import Database


async def test_an_error_of_the_database_quotes_no_parameter(database: Database) -> None:
    statement = text("select length(:fact) / 0")
    with pytest.raises(DBAPIError) as caught:
        async with database.transaction() as session:
            await session.execute(statement, {"fact": "I like tea."})
    assert "tea" not in str(caught.value)
