"""Selection and rendering of session events for prompts (pure)."""
