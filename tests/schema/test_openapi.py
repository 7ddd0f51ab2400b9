"""The committed OpenAPI document is what the code says."""

import json
from pathlib import Path

from app.process.main import create_app
from app.process.serving import offline_resources
from app.settings.settings import Settings

_FILE = Path(__file__).parents[2] / "openapi" / "openapi.json"


def test_the_committed_document_is_current() -> None:
    made = create_app(offline_resources(Settings())).openapi()
    text = json.dumps(made, indent=2, ensure_ascii=False) + "\n"
    assert json.loads(_FILE.read_text(encoding="utf-8")) == made, "run `make openapi`"
    assert _FILE.read_text(encoding="utf-8") == text, "run `make openapi`"
