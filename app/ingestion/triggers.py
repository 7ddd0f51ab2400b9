"""When a stream is ripe (pure)."""
