"""SQL of export and restore."""
