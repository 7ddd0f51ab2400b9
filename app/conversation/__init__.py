"""What a caller gets back of a conversation: strategies, summaries, contexts, recall, costs."""
