"""What is in a file: its media type, its text, and the pieces that the text is cut into (pure)."""
