"""Estimates of the cost of contexts under each strategy, in tokens and money."""
