"""Search in sessions and memories for passages, or for an answer made from them."""
