"""Sensitive values in texts, found by their forms: credentials, cards, addresses, numbers."""
