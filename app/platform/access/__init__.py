"""API keys: who may call the service."""
