"""Sessions and their events: what was said, as it was said."""
