"""Pure parts of checking."""
