"""Task memory: what tools return and prompts must not, or cannot, show; kept by reference."""
