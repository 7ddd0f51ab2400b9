"""Rules about sensitive values, applied to what comes into an engine."""
