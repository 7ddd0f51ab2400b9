"""What counting costs a change."""
