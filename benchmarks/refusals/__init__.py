"""What it costs others that a body is refused."""
