"""The same work by this service and by what users would pick instead."""
