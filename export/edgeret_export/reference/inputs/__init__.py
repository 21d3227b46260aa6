"""What words may be a value, what they say, and what they ask for. Knows nothing of scores and heads."""
