"""The model usage of an engine by day, and the budget that bounds it."""
