"""What it costs to know the caller by a token."""
