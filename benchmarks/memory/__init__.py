"""Memory of a process, part by part."""
