"""The text of the prompts; a change of it is a new `VERSION`."""
