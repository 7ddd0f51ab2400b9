"""SQL of reembedding."""
