"""What the tests of the API share: banks that are filled once."""

import pytest

from tests.support.copies import Copies


@pytest.fixture(scope="session")
def copies() -> Copies:
    return Copies()
