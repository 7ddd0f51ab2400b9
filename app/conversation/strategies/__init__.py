"""Which events of a session a prompt shows, and how: the pure part of contexts and summaries."""
