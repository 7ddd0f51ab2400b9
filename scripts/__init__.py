"""Commands of the Makefile, and the measures of the house."""
