"""`memories:ingestEvents`: buffers events until their stream is ripe for generation."""
