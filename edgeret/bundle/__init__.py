"""Bytes of a bundle on disk: names, roles, hashes, reading and writing. Knows nothing of what the files mean."""
