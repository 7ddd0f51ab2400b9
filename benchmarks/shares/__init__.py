"""What a tenant who sends much costs the others, in the queue of operations."""
