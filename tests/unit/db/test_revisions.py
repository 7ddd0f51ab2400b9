"""The revisions read without Alembic are those that it reads."""

from alembic.config import Config
from alembic.script import ScriptDirectory

from app.adapters.db.schema import FOLDER, known_revisions, wanted_revision


def test_the_revisions_are_those_of_the_migrations() -> None:
    config = Config()
    config.set_main_option("script_location", str(FOLDER))
    scripts = ScriptDirectory.from_config(config)

    assert known_revisions() == {script.revision for script in scripts.walk_revisions()}
    assert wanted_revision() == scripts.get_current_head()
