"""Transcripts of assistants to demonstrations: files, formats, requests, what is kept. Knows nothing of models."""
