"""LongMemEval and LoCoMo from end to end, with whatever model is configured."""
