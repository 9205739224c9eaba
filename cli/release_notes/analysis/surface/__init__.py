"""What users of a project touch, compared between two commits: interfaces, settings, dependencies, files."""
