"""Estimates of what contexts cost under each strategy, in tokens and money."""
