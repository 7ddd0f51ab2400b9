"""Task memory: tool outputs that prompts must not or cannot show, kept by reference."""
