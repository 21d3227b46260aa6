"""Reads and checks what people give: tools, demonstrations, queries. Knows nothing of bundles and models."""
