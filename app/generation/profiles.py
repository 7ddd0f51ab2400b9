"""Fields of structured profiles: their schemas, their values, and what changes (pure)."""
