"""The built-in engine that needs no model: extraction and consolidation, as pure functions."""
