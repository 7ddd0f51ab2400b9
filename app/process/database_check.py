"""The checks of one database, including those registered by features."""

from collections.abc import Callable

from app.adapters.db.engine import open_engine
from app.adapters.db.nodes import working_for
from app.adapters.db.session import Database
from app.platform.checking.logic import CheckReport
from app.platform.checking.service import CheckOptions, CheckService
from app.process.features import FEATURES
from app.settings.settings import Settings


def _nothing(_rows: int) -> None:
    """Ignore the progress."""


async def check_database(
    settings: Settings,
    url: str,
    options: CheckOptions = CheckOptions(),  # noqa: B008 - never changes
    examined: Callable[[int], None] = _nothing,
) -> CheckReport:
    """Check the integrity of the database at an address, even while a service uses it.

    `examined` is called with the number of rows after each batch.

    Raises:
        FailedPrecondition: the restored database is already in use.
        NotFound: the engine of the options does not exist.
        Unavailable: the database cannot be reached.
    """
    db = Database(open_engine(url, settings))
    examinations = [examination for feature in FEATURES for examination in feature.examinations]
    counted = [rows for feature in FEATURES for rows in feature.counted]
    try:
        with working_for(options.engine_id):
            return await CheckService(db, settings, options, examinations, counted, examined).run()
    finally:
        await db.close()
