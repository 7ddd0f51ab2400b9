"""What calls of models cost (pure)."""
