"""Media types, text extraction and chunking of files (pure)."""
