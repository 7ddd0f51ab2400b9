"""`memories:ingestEvents`: buffers events until their stream is ripe, then generates."""
