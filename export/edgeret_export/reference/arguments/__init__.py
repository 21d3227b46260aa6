"""A call's arguments: whose value which words of a request are, and how surely (docs/FORMAT.md, 8.4). Knows nothing of
who decides on the tool."""
