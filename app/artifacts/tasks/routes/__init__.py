"""Routes of task memory."""
