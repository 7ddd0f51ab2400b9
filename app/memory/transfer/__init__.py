"""Export of an engine as an archive, and its restore."""
