"""Demonstrations to graph, head and calibration. Knows nothing of files."""
