"""Raw memories, captures and memory spaces."""
