"""Print the OpenAPI document."""

import json
import sys

from app.adapters.terminal import read_settings
from app.process.main import create_app
from app.process.start import offline_resources


def run() -> None:
    document = create_app(offline_resources(read_settings())).openapi()
    json.dump(document, sys.stdout, indent=2, ensure_ascii=False)
    sys.stdout.write("\n")
