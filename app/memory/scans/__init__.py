"""Scans that count or mask sensitive values in stored content."""
