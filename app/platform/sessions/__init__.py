"""Sessions and their events: conversations as they were sent."""
