"""Limits: rates, concurrency and quotas of keys and engines."""
