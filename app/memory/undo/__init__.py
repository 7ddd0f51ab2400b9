"""`operations:undo`: reverts an operation's changes of memories."""
