"""What strategies cost in tokens and money, sound and as once published (pure)."""
