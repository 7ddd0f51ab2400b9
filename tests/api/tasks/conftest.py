"""The sweep of task memory."""

import pytest

from app.adapters.resources import Resources
from app.platform.upkeep.service import UpkeepService
from tests.support.tasks import Sweep


@pytest.fixture
def sweep(resources: Resources) -> Sweep:
    """Frees what nothing can read any more."""
    return UpkeepService(resources).sweep
