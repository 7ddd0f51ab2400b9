"""Whether searches and writes stay as quick in a bank of a million memories."""
