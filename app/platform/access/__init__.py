"""Access: API keys and tokens, and the callers they stand for."""
