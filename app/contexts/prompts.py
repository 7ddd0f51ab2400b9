"""The text that summarisers are given (pure)."""
