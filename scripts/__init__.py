"""Commands of those who work on the project."""
