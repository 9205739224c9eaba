"""The frame of an operation: its catalogue entry, execution and tool schemas."""
