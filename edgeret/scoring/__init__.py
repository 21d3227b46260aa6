"""Arrays to probabilities. Knows nothing of text, of language models, and of files beyond their own role."""
