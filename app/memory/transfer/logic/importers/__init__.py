"""Converters for other products' memories, with one module per source (pure)."""
