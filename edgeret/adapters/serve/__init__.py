"""Decisions for programs in other languages: over HTTP on this machine, or one JSON object a line. Knows HTTP and JSON,
and asks the facade alone."""
