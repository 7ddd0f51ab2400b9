"""Converters of other products' memories, one module a source (pure)."""
