"""Scans of what is stored for sensitive values, which they count or mask."""
