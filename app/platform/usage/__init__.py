"""What the models of an engine cost, by day, and the budget that bounds it."""
