"""Benchmarks of edgeret: accuracy, retrieval and latency, as commands that print what they measured."""
