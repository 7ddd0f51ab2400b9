"""Rules about sensitive values, applied to data that enters an engine."""
