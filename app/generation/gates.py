"""What can be told without a model: which candidates stand alone, and which say what is known."""
