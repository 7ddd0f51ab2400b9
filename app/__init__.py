"""Open Memory Bank: a self-hosted memory service for AI agents."""
