"""Texts to vectors in numpy and by the library, for builds and tests. Knows nothing of tools."""
