"""How fast memories are created many at a time."""
