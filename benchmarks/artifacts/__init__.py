"""Artifacts of task memory: how fast they come and go, and in how little memory."""
