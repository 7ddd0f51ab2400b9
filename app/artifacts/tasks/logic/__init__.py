"""Pure decisions of tasks."""
