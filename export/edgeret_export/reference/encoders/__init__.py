"""Texts to vectors in numpy and by the reference's own kernel, for builds and tests. Knows nothing of tools."""
