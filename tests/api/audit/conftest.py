"""An audit log that is empty when a test begins."""

import pytest
from sqlalchemy import delete, text

from app.adapters.db.session import Database
from app.adapters.resources import Resources
from app.platform.audit.store import AuditEventRow, ServiceEventRow


@pytest.fixture
async def resources(resources: Resources, database: Database) -> Resources:
    """The resources, without the event of the key that is made for them."""
    async with database.transaction() as session:
        await session.execute(text("set local memory_bank.audit_retention = 'on'"))
        for table in (AuditEventRow, ServiceEventRow):
            await session.execute(delete(table))
    return resources
