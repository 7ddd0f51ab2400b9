"""Settings; only this package reads the environment."""
