"""Background jobs: functions, the runner, their status."""
