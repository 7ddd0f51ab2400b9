"""Reads what task memory keeps off prompts: questions and summaries, by models or without one."""
