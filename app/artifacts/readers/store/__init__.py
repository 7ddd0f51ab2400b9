"""SQL of readers."""
