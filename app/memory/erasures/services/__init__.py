"""Services of erasures."""
