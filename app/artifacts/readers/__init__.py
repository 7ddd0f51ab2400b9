"""Questions and summaries over content that task memory keeps off prompts."""
