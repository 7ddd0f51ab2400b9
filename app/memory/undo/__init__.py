"""`operations:undo`: takes back what an operation did to memories."""
