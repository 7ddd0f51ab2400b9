"""Writers of the generated files of the Python client."""
