"""What a context looks like to a model: messages, the shapes of providers, or one text (pure)."""
