"""Arrays to probabilities, with the papers' symbols. Knows nothing of text and of language models."""
