"""Conversations as returned to callers: strategies, summaries, contexts, recall and costs."""
