"""Cuts a conversation into pieces that fit a model's input, losing nothing silently."""
