"""Masking of what a model is shown of profiles."""

from app.kernel.wire.privacy_config import Place, PrivacyConfig
from app.memory.generation.logic.masking import Masking
from app.memory.generation.logic.profiles import StoredField
from app.platform.privacy.logic import Guard


def test_a_field_keeps_its_name_where_a_rule_masks_that_too() -> None:
    own = PrivacyConfig.model_validate(
        {"customPatterns": [{"name": "STAFF", "pattern": "employee"}]}
    )
    guard = Guard.of(own, PrivacyConfig(), Place.GENERATION)
    held = {"employee": "Ann", "doubleValue": "my employee"}
    stored = [StoredField("m", 1, "schema", name, value) for name, value in held.items()]
    shown = Masking(guard, guard).shown_fields(stored)
    assert [(field.field, field.value) for field in shown] == [
        ("employee", "Ann"),
        ("doubleValue", "my [STAFF]"),
    ]
