"""Export of an engine to an archive, and restore from one."""
