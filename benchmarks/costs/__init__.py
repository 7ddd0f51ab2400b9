"""Costs of contexts as a chart."""
