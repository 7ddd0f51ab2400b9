"""Everything outside the process: database, models, documents, logs."""
