"""The strict shape of a model's replies."""
