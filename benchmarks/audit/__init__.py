"""What the audit log costs a change."""
