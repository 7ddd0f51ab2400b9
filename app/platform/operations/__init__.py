"""Long-running operations: the resource that clients poll and the queue that workers run."""
