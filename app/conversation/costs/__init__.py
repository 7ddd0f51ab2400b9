"""What contexts cost under each strategy, in tokens and money: estimates before the fact."""
