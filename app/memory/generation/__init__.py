"""`memories:generate`: memories out of conversations and given facts."""
