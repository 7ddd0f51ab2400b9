"""Values read from an engine's row."""

from sqlalchemy import inspect

from app.kernel.names import EngineName
from app.kernel.wire.privacy_config import PrivacyConfig
from app.platform.engines.logic.config import STORED, MemoryBankConfig
from app.platform.engines.store.tables import EngineRow


def name_of(row: EngineRow) -> EngineName:
    """Return the full name under which the engine is stored."""
    return EngineName(row.project, row.location, row.engine_id)


def config_of(row: EngineRow) -> MemoryBankConfig:
    """Return the bank's configuration; defaults if the engine has none."""
    return MemoryBankConfig.model_validate(row.bank_config or {}, context=STORED)


def privacy_of(row: EngineRow) -> PrivacyConfig | None:
    """Return the engine's own rules about sensitive values, without reading the rest."""
    stored = (row.bank_config or {}).get("privacyConfig")
    return None if stored is None else PrivacyConfig.model_validate(stored, context=STORED)


def is_detached(row: EngineRow) -> bool:
    """Return True if no transaction holds the row, or could still expire its values."""
    return inspect(row).session is None
