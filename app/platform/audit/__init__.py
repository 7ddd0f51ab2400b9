"""The audit log: the caller, action, time, address and result of each event."""
