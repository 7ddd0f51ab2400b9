"""Processes: the heartbeat of each, by which the others see that it lives."""
