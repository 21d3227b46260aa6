"""A proxy between one MCP client and many MCP servers, which shows the tools that a request needs and hides the others.
Knows nothing of command lines."""
