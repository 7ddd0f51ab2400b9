"""Model ports and their providers."""
