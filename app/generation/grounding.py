"""From a model's reply to candidates: each must rest on words that a user said."""
