"""Wire types of task memory."""
