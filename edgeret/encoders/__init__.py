"""Text to vectors. Knows nothing of tools and decisions."""
