"""SQL of retention."""
