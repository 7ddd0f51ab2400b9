"""A conversation as its caller gets it back: strategies, summaries, contexts, recall, costs."""
