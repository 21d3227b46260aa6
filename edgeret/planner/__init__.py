"""Text to likelihoods, structured answers and arguments, by a language model. Knows nothing of vectors and bundles."""
