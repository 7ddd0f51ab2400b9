"""Long pages: what their readers cost others, and what they leave behind."""
