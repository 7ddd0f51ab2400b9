"""An engine as a whole, in and out: archives, and imports from elsewhere."""
