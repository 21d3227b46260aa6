"""Whether a tokenizer.json is one that a library may parse. Knows nothing of vectors."""
