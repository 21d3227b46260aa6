"""Query to a ranking of tools. Knows nothing of tasks and files."""
