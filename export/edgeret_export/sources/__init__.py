"""Model cards, and the files that they name. Knows nothing of what a model does."""
