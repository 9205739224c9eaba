"""Tasks, epics and project metrics."""
