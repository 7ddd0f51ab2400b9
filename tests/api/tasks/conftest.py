"""The sweep of task memory."""

import pytest

from app.resources import Resources
from app.retention.service import RetentionService
from tests.support.tasks import Sweep


@pytest.fixture
def sweep(resources: Resources) -> Sweep:
    """Frees what nothing can read any more."""
    return RetentionService.of(resources).sweep
