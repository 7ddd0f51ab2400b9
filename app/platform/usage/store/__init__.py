"""SQL of usage."""
