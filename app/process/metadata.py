"""The whole schema for migrations and the drift test; this module imports all tables."""

from importlib import import_module
from pathlib import Path

from app.adapters.db.base import Base

_APP = Path(__file__).parents[1]

for _path in sorted((*_APP.glob("*/*/store.py"), *_APP.glob("*/*/store/tables.py"))):
    import_module(".".join(["app", *_path.relative_to(_APP).with_suffix("").parts]))

metadata = Base.metadata
